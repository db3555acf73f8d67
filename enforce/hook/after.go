package hook

import (
	"bytes"
	"context"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"ostiary/enforce/wire"
	"ostiary/internal/strictjson"
	"ostiary/tool"
)

// after answers PostToolUse: the tool has run, and what the model sees of it can still be cleaned.
func (r run) after(ctx context.Context) reply {
	req := wire.ResultRequest{
		SessionID: r.ev.SessionID, InvocationID: r.ev.ToolUseID, Tool: r.ev.tool(r.dialect.name), RanInput: r.ev.ToolInput, MaxLength: new(int),
	}
	blocks := r.ev.fromMCP() && r.ev.ToolResponse.Kind() == '['
	if blocks {
		req.Content = r.ev.ToolResponse
	} else {
		req.Result = &tool.Envelope{Status: tool.OK, Data: r.ev.ToolResponse, Warnings: []string{}}
	}
	resp, err := r.Sidecar.Result(ctx, req)
	if err != nil {
		return r.hide(said(err))
	}
	if resp.Behavior != "allow" {
		why := worded(resp.Reason)
		if resp.Review != nil {
			why += " A person can release it: review " + resp.Review.ID + "."
		}
		return r.hide(why)
	}
	cleaned := resp.Content
	if !blocks {
		if resp.Result == nil {
			return r.hide("the sidecar's answer holds no result")
		}
		cleaned = resp.Result.Data
	}
	if cleaned.Kind() != r.ev.ToolResponse.Kind() {
		return r.hide("the sidecar's answer has another shape than the tool's output")
	}
	if same(cleaned, r.ev.ToolResponse) {
		return r.dialect.silence
	}
	return r.dialect.replace(cleaned)
}

// same reports whether two values are equal, whatever their white space and escapes.
func same(a, b jsontext.Value) bool {
	x, errX := strictjson.Canonical(a)
	y, errY := strictjson.Canonical(b)
	return errX == nil && errY == nil && bytes.Equal(x, y)
}

// hide replaces the whole output by a notice, in the shape of the output: some clients ignore an output of another shape and show the
// model the original.
func (r run) hide(why string) reply {
	notice := "[Ostiary withheld this output: " + why + "]"
	var shape any
	if err := json.Unmarshal(r.ev.ToolResponse, &shape, jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true)); err != nil {
		shape = ""
	}
	withheld, err := json.Marshal(blank(shape, notice, r.ev.fromMCP()), json.Deterministic(true))
	if err != nil {
		return r.dialect.broken(notice)
	}
	return r.dialect.replace(withheld)
}

// maxTag is how long the value of a "type" member may be to be kept: it tells the shapes of an output apart, and a client checks it.
const maxTag = 32

// blank keeps a value's shape and puts the notice in the place of its texts.
func blank(v any, notice string, blocks bool) any {
	switch v := v.(type) {
	case string:
		return notice
	case []any:
		if blocks {
			return []any{map[string]any{"type": "text", "text": notice}}
		}
		out := make([]any, 0, 1)
		if len(v) > 0 {
			out = append(out, blank(v[0], notice, false))
		}
		return out
	case map[string]any:
		out := make(map[string]any, len(v))
		for name, member := range v {
			tag, isText := member.(string)
			if name == "type" && isText && len(tag) <= maxTag {
				out[name] = member
				continue
			}
			out[name] = blank(member, notice, false)
		}
		return out
	case float64:
		return 0
	default:
		return v
	}
}
