package registry

import (
	"bytes"
	"errors"
	"fmt"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/santhosh-tekuri/jsonschema/v6"
	"golang.org/x/text/language"
	"golang.org/x/text/message"

	"ostiary/tool"
)

// contract is a compiled input schema and the roles that it gives to arguments. The zero contract admits everything.
type contract struct {
	schema *jsonschema.Schema
	roles  map[string]tool.Role // by the place of the property, array items written as "*"
}

// maxFaults bounds how many faults are told of one call.
const maxFaults = 20

// contract compiles a schema once; an absent one admits everything.
func (r *Registry) contract(schema jsontext.Value) (*contract, error) {
	if len(schema) == 0 || schema.Kind() == 'n' {
		return &contract{}, nil
	}
	if hit, ok := r.schemas.Load(string(schema)); ok {
		return hit.(*contract), nil //nolint:forcetypeassert // only contracts go in
	}
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(schema))
	if err != nil {
		return nil, fmt.Errorf("registry: schema: %w", err)
	}
	c := jsonschema.NewCompiler()
	c.UseLoader(nothing{})
	const url = "ostiary:///schema"
	if err := c.AddResource(url, doc); err != nil {
		return nil, fmt.Errorf("registry: schema: %w", err)
	}
	compiled, err := c.Compile(url)
	if err != nil {
		return nil, fmt.Errorf("registry: schema: %w", err)
	}
	out := &contract{schema: compiled, roles: map[string]tool.Role{}}
	collectRoles(schema, "", out.roles, 0)
	r.schemas.Store(string(schema), out)
	return out, nil
}

// nothing refuses to load a schema from elsewhere: a declaration must not make us read files or the network.
type nothing struct{}

func (nothing) Load(url string) (any, error) {
	return nil, errors.New("a schema may not refer to another document: " + url)
}

// Faults implements enforce.Registry.
func (r *Registry) Faults(t tool.Resolved, input jsontext.Value) ([]tool.Fault, error) {
	c, err := r.contract(t.InputSchema)
	if err != nil || c.schema == nil {
		return nil, err
	}
	value, err := jsonschema.UnmarshalJSON(bytes.NewReader(input))
	if err != nil {
		return nil, fmt.Errorf("registry: arguments: %w", err)
	}
	var invalid *jsonschema.ValidationError
	switch err := c.schema.Validate(value); {
	case err == nil:
		return nil, nil
	case errors.As(err, &invalid):
		return leaves(invalid, nil), nil
	default:
		return nil, fmt.Errorf("registry: arguments: %w", err)
	}
}

// leaves lists the innermost faults: they name the member that is wrong.
func leaves(e *jsonschema.ValidationError, out []tool.Fault) []tool.Fault {
	for _, cause := range e.Causes {
		out = leaves(cause, out)
	}
	if len(e.Causes) == 0 && len(out) < maxFaults {
		out = append(out, tool.Fault{
			Pointer: pointer(e.InstanceLocation),
			Message: e.ErrorKind.LocalizedString(message.NewPrinter(language.English)),
		})
	}
	return out
}

func pointer(segments []string) string {
	var b strings.Builder
	for _, s := range segments {
		b.WriteString("/" + strings.NewReplacer("~", "~0", "/", "~1").Replace(s))
	}
	return b.String()
}

// maxRoleDepth bounds how deep a schema is searched for roles.
const maxRoleDepth = 16

// formatRoles are the roles that a schema's format tells.
var formatRoles = map[string]tool.Role{"uri": tool.RoleURL, "url": tool.RoleURL, "email": tool.RoleRecipient, "uuid": tool.RoleIdentifier, "password": tool.RoleSecret}

func collectRoles(schema jsontext.Value, place string, roles map[string]tool.Role, depth int) {
	var s struct {
		Role       tool.Role                 `json:"x-ostiary-role"`
		Format     string                    `json:"format"`
		Properties map[string]jsontext.Value `json:"properties"`
		Items      jsontext.Value            `json:"items"`
	}
	if depth > maxRoleDepth || schema.Kind() != '{' || json.Unmarshal(schema, &s) != nil {
		return // the compiler has judged the schema; here only hints are read
	}
	if s.Role == "" {
		s.Role = formatRoles[s.Format]
	}
	if s.Role != "" {
		roles[place] = s.Role
	}
	for name, p := range s.Properties {
		collectRoles(p, place+pointer([]string{name}), roles, depth+1)
	}
	if len(s.Items) > 0 {
		collectRoles(s.Items, place+"/*", roles, depth+1)
	}
}

// Role implements enforce.Registry: what the schema says, and otherwise what the argument's name tells.
func (r *Registry) Role(t tool.Resolved, place string) tool.Role {
	if c, err := r.contract(t.InputSchema); err == nil && len(c.roles) > 0 {
		segments := strings.Split(place, "/")
		for i, s := range segments {
			if s != "" && strings.Trim(s, "0123456789") == "" {
				segments[i] = "*"
			}
		}
		if role, ok := c.roles[strings.Join(segments, "/")]; ok {
			return role
		}
	}
	return tool.RoleOf(place)
}
