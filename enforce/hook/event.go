package hook

import (
	"bytes"
	"io"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"ostiary"
	"ostiary/client"
	"ostiary/internal/strictjson"
	"ostiary/tool"
)

// maxEvent bounds an event, in bytes: a tool's whole response can be in it.
const maxEvent = 8 << 20

// Events that are answered.
const (
	preToolUse        = "PreToolUse"
	permissionRequest = "PermissionRequest"
	postToolUse       = "PostToolUse"
	userPromptSubmit  = "UserPromptSubmit"
)

// event is what the answers need of a host's event; hosts add members as they like.
type event struct {
	Name         string         `json:"hook_event_name"`
	SessionID    string         `json:"session_id"`
	CWD          string         `json:"cwd"`
	ToolName     string         `json:"tool_name"`
	ToolUseID    string         `json:"tool_use_id"`
	ToolInput    jsontext.Value `json:"tool_input"`
	ToolResponse jsontext.Value `json:"tool_response"`
	Prompt       string         `json:"prompt"`
	MCPServer    struct {
		Name string `json:"name"`
	} `json:"mcp_server"`
}

// readEvent reads one event strictly: two parsers must not see two different calls in it. With an error, what could be skimmed of the
// event is returned too: a response that cannot be read must still be withheld in its own shape.
func readEvent(in io.Reader) (event, error) {
	var ev event
	raw, err := io.ReadAll(io.LimitReader(in, maxEvent+1))
	if err != nil {
		return ev, ostiary.Wrap(ostiary.KindMalformedJSON, err, "the event could not be read")
	}
	if len(raw) > maxEvent {
		return ev, ostiary.Errorf(ostiary.KindTooLarge, "the event is larger than 8 MiB")
	}
	if err := strictjson.Check(raw); err != nil {
		return skim(raw), err
	}
	if err := json.Unmarshal(raw, &ev); err != nil {
		return ev, ostiary.Wrap(ostiary.KindInvalidField, err, "a member of the event has the wrong type")
	}
	return ev, ev.check()
}

// skim reads what it can of an event that is no strict JSON. An event that names itself twice stays nameless.
func skim(raw []byte) event {
	var ev event
	d := jsontext.NewDecoder(bytes.NewReader(raw), jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))
	if tok, err := d.ReadToken(); err != nil || tok.Kind() != '{' {
		return ev
	}
	for d.PeekKind() == '"' {
		name, err := d.ReadToken()
		if err != nil {
			return event{}
		}
		member := name.String()
		value, err := d.ReadValue()
		if err != nil {
			return event{}
		}
		switch member {
		case "hook_event_name":
			if ev.Name != "" {
				return event{}
			}
			ev.Name = plain(value)
		case "tool_name":
			ev.ToolName = plain(value)
		case "tool_response":
			ev.ToolResponse = value.Clone()
		}
	}
	return ev
}

func (ev event) check() error {
	missing := func(member string) error {
		return &ostiary.Error{Kind: ostiary.KindMissingField, Pointer: "/" + member, Msg: "the event has no " + member}
	}
	switch {
	case ev.SessionID == "":
		return missing("session_id")
	case ev.Name == userPromptSubmit:
		return nil
	case ev.ToolName == "":
		return missing("tool_name")
	case ev.ToolInput.Kind() != '{':
		return missing("tool_input object")
	case ev.Name == postToolUse && len(ev.ToolResponse) == 0:
		return missing("tool_response")
	default:
		return nil
	}
}

// tool names the called tool: a built-in one stands under its host's name, a tool of an MCP server under the server's.
func (ev event) tool(host string) tool.Name {
	rest, isMCP := strings.CutPrefix(ev.ToolName, "mcp__")
	if !isMCP {
		return tool.Name{Namespace: host, Name: ev.ToolName}
	}
	if own := ev.MCPServer.Name; own != "" {
		if name, ok := strings.CutPrefix(rest, own+"__"); ok {
			return tool.Name{Namespace: client.ServerNamespace(own), Name: name}
		}
	}
	server, name, ok := strings.Cut(rest, "__")
	if !ok || server == "" || name == "" {
		return tool.Name{Namespace: "mcp", Name: ev.ToolName}
	}
	return tool.Name{Namespace: client.ServerNamespace(server), Name: name}
}

// fromMCP reports whether the tool belongs to an MCP server, whose responses are lists of content blocks.
func (ev event) fromMCP() bool { return strings.HasPrefix(ev.ToolName, "mcp__") }
