package tool

import (
	"fmt"
	"regexp"

	"github.com/go-json-experiment/json/jsontext"
)

// Name identifies a tool: the server or product it belongs to, and its name there.
type Name struct {
	Namespace string `json:"namespace"`
	Name      string `json:"name"`
}

// String writes the name as people read it: namespace.name, or the bare name.
func (n Name) String() string {
	if n.Namespace == "" {
		return n.Name
	}
	return n.Namespace + "." + n.Name
}

// MaxNameLen bounds a namespace and a name, in bytes.
const MaxNameLen = 128

// Names come from many systems (MCP allows dots and slashes), so only what could confuse a reader or a path is refused.
var namePattern = regexp.MustCompile(`^[A-Za-z0-9_][A-Za-z0-9_./:@+-]*$`)

// Check reports why the name cannot be used.
func (n Name) Check() error {
	if n.Name == "" {
		return fmt.Errorf("the tool has no name")
	}
	for _, part := range []string{n.Namespace, n.Name} {
		if len(part) > MaxNameLen {
			return fmt.Errorf("a tool name is longer than %d bytes", MaxNameLen)
		}
		if part != "" && !namePattern.MatchString(part) {
			return fmt.Errorf("a tool name holds characters other than A–Z a–z 0–9 _ . / : @ + -")
		}
	}
	return nil
}

// Trust says what a tool's output is worth as a source of instructions and values.
type Trust string

// Trust values of a declaration; the empty one means "not declared".
const (
	Untrusted Trust = "untrusted"
	Trusted   Trust = "trusted"
)

// Source says who declared a tool; only an operator's word can allow a call (policy.md §1).
type Source string

// Sources, from the strongest.
const (
	FromOperator Source = "operator" // a file under --tools, or PUT with the admin or author role
	FromShipped  Source = "shipped"  // our declarations of a client's built-in tools
	FromServer   Source = "server"   // an MCP server's own words: hints
	Undeclared   Source = "none"
)

// Declaration is what is known of a tool. Members that we do not name are kept and covered by the pin (B1, B22).
type Declaration struct {
	SchemaVersion string         `json:"schema_version,omitempty"`
	Namespace     string         `json:"namespace"`
	Name          string         `json:"name"`
	Title         string         `json:"title,omitempty"`
	Description   string         `json:"description,omitempty"`
	InputSchema   jsontext.Value `json:"input_schema,omitempty"`
	OutputSchema  jsontext.Value `json:"output_schema,omitempty"`
	Annotations   Annotations    `json:"annotations"`
	OutputTrust   Trust          `json:"output_trust,omitempty"`
	// ReportsConfidence: callers of this tool say how sure they are, so a call without a confidence asks.
	ReportsConfidence bool           `json:"reports_confidence,omitzero"`
	Unknown           jsontext.Value `json:",embed"`
}

// ID returns the declaration's name.
func (d Declaration) ID() Name { return Name{d.Namespace, d.Name} }

// Resolved is a declaration as the pipeline uses it.
type Resolved struct {
	Declaration
	Source Source
	// Digest pins the whole definition; empty for an undeclared tool.
	Digest string
	Risk   Risk
}

// NewResolved resolves a declaration from a source; digest is its pin.
func NewResolved(d Declaration, source Source, digest string) Resolved {
	return Resolved{Declaration: d, Source: source, Digest: digest, Risk: d.Annotations.Resolve()}
}

// UndeclaredTool is what is assumed of a tool nobody declared: the most dangerous (B3).
func UndeclaredTool(n Name) Resolved {
	return NewResolved(Declaration{Namespace: n.Namespace, Name: n.Name}, Undeclared, "")
}

// Output says whether the tool's results are untrusted: what is declared, and otherwise open-world and undeclared tools are.
func (r Resolved) Output() Trust {
	switch {
	case r.OutputTrust != "":
		return r.OutputTrust
	case r.Source == Undeclared || r.Risk.OpenWorld:
		return Untrusted
	default:
		return Trusted
	}
}

// Fault is one way in which a value does not fit a schema.
type Fault struct {
	Pointer string // RFC 6901 place in the value
	Message string
}
