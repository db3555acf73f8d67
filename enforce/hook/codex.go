package hook

import (
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// codexPre is Codex's answer before a tool. One member that it does not know, an empty reason, or an allow without an edit makes it
// report a failed hook and run the tool.
type codexPre struct {
	Event    string         `json:"hookEventName"`
	Decision string         `json:"permissionDecision"`
	Reason   string         `json:"permissionDecisionReason,omitempty"`
	Input    jsontext.Value `json:"updatedInput,omitempty"`
}

type codexPermission struct {
	Event    string `json:"hookEventName"`
	Decision struct {
		Behavior string `json:"behavior"`
		Message  string `json:"message,omitempty"`
	} `json:"decision"`
}

// codexPost replaces the output by its reason.
type codexPost struct {
	Decision string `json:"decision"`
	Reason   string `json:"reason"`
}

func codex() dialect {
	deny := func(why string) reply {
		return encode(specific[codexPre]{codexPre{Event: preToolUse, Decision: "deny", Reason: worded(why)}})
	}
	refuse := func(why string) reply {
		p := codexPermission{Event: permissionRequest}
		p.Decision.Behavior, p.Decision.Message = "deny", worded(why)
		return encode(specific[codexPermission]{p})
	}
	return dialect{
		name: "codex", timeout: 10 * time.Minute,
		silence: reply{},
		allow: func(_ string, input jsontext.Value) reply {
			if len(input) == 0 {
				return reply{}
			}
			return encode(specific[codexPre]{codexPre{Event: preToolUse, Decision: "allow", Input: input}})
		},
		deny: deny,
		permit: func(input jsontext.Value) reply {
			if len(input) > 0 {
				return refuse("A reviewer approved this call in an edited form only, which cannot be run from here. Call the tool with exactly these arguments instead: " + string(input))
			}
			p := codexPermission{Event: permissionRequest}
			p.Decision.Behavior = "allow"
			return encode(specific[codexPermission]{p})
		},
		refuse: refuse,
		replace: func(cleaned jsontext.Value) reply {
			return encode(codexPost{"block", worded(plain(cleaned))})
		},
		broken: func(why string) reply { return blocking(deny(why), worded(why)) },
	}
}

// plain is the text of a JSON string, and the JSON of anything else.
func plain(v jsontext.Value) string {
	var text string
	if v.Kind() == '"' && json.Unmarshal(v, &text) == nil {
		return text
	}
	return string(v)
}
