package mcpproxy

import (
	"errors"
	"fmt"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"ostiary"
	"ostiary/client"
	"ostiary/enforce/mcpproxy/rpc"
	"ostiary/enforce/wire"
)

// JSON-RPC error codes.
const (
	codeParse    = -32700
	codeInvalid  = -32600
	codeInternal = -32603
	// codeWithheld is in the range that servers may define, clear of the codes that MCP has taken.
	codeWithheld = -32050
)

// kindUnreachable is what agents are told when no sidecar answers.
const kindUnreachable = "sidecar_unreachable"

// rpcError is an error response. id is the raw id of the request, or nil when it could not be read.
func rpcError(id jsontext.Value, code int, text string) []byte {
	if len(id) == 0 {
		id = jsontext.Value("null")
	}
	type body struct {
		Code    int    `json:"code"`
		Message string `json:"message"`
	}
	return rpc.Marshal(struct {
		Version string         `json:"jsonrpc"`
		ID      jsontext.Value `json:"id"`
		Error   body           `json:"error"`
	}{"2.0", id, body{code, text}})
}

// refusal is why a call does not run, or why its result is not shown.
type refusal struct {
	text     string
	behavior string
	kind     string
	decision string
	review   string
}

type textBlock struct {
	Type string `json:"type"`
	Text string `json:"text"`
}

type refusalMeta struct {
	Behavior string `json:"behavior"`
	Kind     string `json:"kind,omitempty"`
	Decision string `json:"decision_id,omitempty"`
	Review   string `json:"review_id,omitempty"`
}

// toolError is a result that the model can read, in place of the tool's own. resultType is what newer clients want; older ones ignore it.
func toolError(id jsontext.Value, r refusal) []byte {
	type meta struct {
		Refusal refusalMeta `json:"ostiary/refusal"`
	}
	type result struct {
		Type    string      `json:"resultType"`
		IsError bool        `json:"isError"`
		Content []textBlock `json:"content"`
		Meta    meta        `json:"_meta"`
	}
	return rpc.Marshal(struct {
		Version string         `json:"jsonrpc"`
		ID      jsontext.Value `json:"id"`
		Result  result         `json:"result"`
	}{"2.0", id, result{"complete", true, []textBlock{{"text", r.text}}, meta{refusalMeta{r.behavior, r.kind, r.decision, r.review}}}})
}

// failed is the refusal of a call that the sidecar did not, or would not, decide.
func failed(err error) refusal {
	if errors.Is(err, client.ErrUnreachable) {
		return refusal{
			text:     "Ostiary blocked this call (" + kindUnreachable + "): no sidecar can be reached. A person must start `sidecar serve`; do not retry before.",
			behavior: "deny", kind: kindUnreachable,
		}
	}
	p := ostiary.Public(err)
	text := fmt.Sprintf("Ostiary blocked this call (%s): %s.", p.Kind, strings.TrimSuffix(p.Msg, "."))
	if p.Fix != "" {
		text += " What to do: " + p.Fix + "."
	}
	return refusal{text: text, behavior: "deny", kind: string(p.Kind)}
}

// pending adds the review that stays open when a failure ends the wait for it.
func (r refusal) pending(d wire.Decision) refusal {
	if d.Review != nil {
		r.review = d.Review.ID
		r.text += " Review " + r.review + " stays open: repeat exactly the same call later."
	}
	return r
}

// refused is the refusal of a decided call: why, and what the agent can do.
func refused(d wire.Decision) refusal {
	r := refusal{behavior: d.Behavior, kind: kindOf(d), decision: d.DecisionID}
	if d.Review != nil {
		r.review = d.Review.ID
	}
	why := strings.TrimSuffix(strings.TrimSpace(d.Reason), ".")
	if why == "" {
		why = "no reason was given"
	}
	switch {
	case d.Behavior == "ask":
		r.text = fmt.Sprintf("Ostiary is holding this call for a person: %s. Nobody has ruled yet on review %s. "+
			"Repeat exactly the same call later: it runs once a person approves.", why, r.review)
	case d.Behavior == "passthrough":
		r.text = "Ostiary did not let this call run: no rule allows it, and nobody behind this proxy can be asked. Use the token of an MCP proxy."
	case d.Source == "contract":
		r.text = fmt.Sprintf("Ostiary denied this call (contract): %s.", why)
		for _, reason := range d.Reasons {
			if reason.Pointer != "" {
				r.text += fmt.Sprintf(" At %s: %s.", reason.Pointer, strings.TrimSuffix(reason.Reason, "."))
			}
		}
		r.text += " Correct the arguments and call again."
	default:
		r.text = fmt.Sprintf("Ostiary denied this call (%s): %s.", r.kind, why)
		for _, c := range d.ContentBlocks {
			r.text += fmt.Sprintf(" The reviewer says: %q.", c.Text)
		}
		r.text += " Do not repeat it or work around it; choose another way or ask the user."
	}
	return r
}

// kindOf is the rule or the failure behind a decision, in one word.
func kindOf(d wire.Decision) string {
	if len(d.Reasons) > 0 && d.Reasons[0].ID != "" {
		return d.Reasons[0].ID
	}
	return d.Source
}

// withheld is the refusal of an answer that the server gave.
func (r *request) withheld(kind, why, review string) refusal {
	what := "Ostiary withheld the server's answer to " + r.method
	if r.ofTool() {
		what = "The tool ran, but Ostiary withheld its result"
	}
	no := refusal{text: fmt.Sprintf("%s (%s): %s.", what, kind, strings.TrimSuffix(strings.TrimSpace(why), ".")), behavior: "deny", kind: kind, review: review}
	if review != "" {
		no.behavior = "ask"
		no.text += " A person can release it: review " + review + "."
	}
	return no
}

// refuse is what the client gets in place of an answer: a result that the model can read where a tool ran, an error elsewhere.
func (r *request) refuse(kind, why, review string) []byte {
	no := r.withheld(kind, why, review)
	if r.ofTool() {
		return toolError(r.id, no)
	}
	return rpcError(r.id, codeWithheld, no.text)
}
