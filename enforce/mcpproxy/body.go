package mcpproxy

import (
	"slices"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"ostiary/enforce/mcpproxy/rpc"
	"ostiary/enforce/wire"
)

// body is the part of an answer that the server fills as it likes, taken apart for cleaning.
type body struct {
	at      string         // its member in the frame: result or error
	empty   bool           // there is nothing in it
	status  bool           // it tells how a task stands, and nothing else
	content jsontext.Value // the content blocks of a tool's result; an empty list where there are none
	blocks  bool           // content was lifted out of rest
	rest    jsontext.Value // everything else, with blanks where something was lifted out
	tokens  tokens         // what may be lifted out too, and put back as it was
}

const contentBlocks = "content"

// bodyOf finds in the body what is not cleaned with the rest: the content blocks, which are cleaned as such, and tokens.
func bodyOf(r *request, m rpc.Message) (body, error) {
	b := body{at: "result", content: jsontext.Value("[]")}
	if m.Has("error") {
		b.at = "error"
	}
	b.rest = m.Raw(b.at)
	o, err := rpc.ReadObject(b.rest)
	if err != nil {
		return b, err
	}
	b.empty = o.Empty()
	if b.at == "error" {
		return b, nil
	}
	b.status = strings.HasPrefix(r.method, "tasks/") && r.method != "tasks/result" && tellsStatus(b.rest)
	if b.tokens, err = tokensOf(r, o, b.rest); err != nil {
		return b, err
	}
	if blocks := o.Raw(contentBlocks); r.ofTool() && blocks.Kind() == '[' {
		b.content, b.blocks, b.rest = blocks, true, o.With(contentBlocks, []byte("[]"))
	}
	return b, nil
}

// taskStatus names what the protocol tells of a task beside its outcome. A status message is not among it: it may sum the outcome up.
var taskStatus = []string{"taskId", "status", "createdAt", "lastUpdatedAt", "ttl", "ttlMs", "pollInterval", "pollIntervalMs", "resultType", "nextCursor"}

// tellsStatus reports whether a result says of a task, or of each in a list, how it stands and no more.
func tellsStatus(result jsontext.Value) bool {
	var members map[string]jsontext.Value
	if err := json.Unmarshal(result, &members); err != nil {
		return false
	}
	for name, value := range members {
		var list []jsontext.Value
		switch {
		case name == "_meta":
		case name == "tasks":
			if err := json.Unmarshal(value, &list); err != nil || !all(list, tellsStatus) {
				return false
			}
		case !slices.Contains(taskStatus, name), value.Kind() == '{', value.Kind() == '[':
			return false
		}
	}
	return true
}

func all(list []jsontext.Value, holds func(jsontext.Value) bool) bool {
	return !slices.ContainsFunc(list, func(v jsontext.Value) bool { return !holds(v) })
}

// together puts what came back into the place of what was sent.
func (b *body) together(resp wire.ResultResponse) (jsontext.Value, error) {
	content, err := rpc.Splice(b.content, resp.Content)
	if err != nil {
		return nil, err
	}
	whole, err := rpc.Splice(b.rest, resp.StructuredContent)
	if err != nil {
		return nil, err
	}
	if whole, err = b.tokens.restore(whole); err != nil || !b.blocks {
		return whole, err
	}
	o, err := rpc.ReadObject(whole)
	if err != nil {
		return nil, err
	}
	return o.With(contentBlocks, content), nil
}
