package hook

import (
	"strings"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// reply is what the host gets: its exit code decides whether it reads standard output or standard error.
type reply struct {
	stdout []byte
	stderr string
	code   int
}

// dialect is one client's column of the table: how it wants to hear each thing.
type dialect struct {
	name string
	// timeout is the host's own limit for a hook when its settings say nothing.
	timeout time.Duration
	// silence is "no opinion": the host's own prompt applies.
	silence reply
	// allow lets the call run without the host's prompt; input is the reviewer's edit, or nil.
	allow func(why string, input jsontext.Value) reply
	// deny blocks the call before it runs. The reason is never empty.
	deny func(why string) reply
	// permit and refuse answer the host's question to its user.
	permit func(input jsontext.Value) reply
	refuse func(why string) reply
	// replace puts cleaned output in the place of what the tool returned, in the tool's own shape.
	replace func(cleaned jsontext.Value) reply
	// broken blocks on a failure of ours, also when the event could not be read.
	broken func(why string) reply
}

// dialects lists every client that is answered.
func dialects() []dialect { return []dialect{claudeCode(), codex()} }

// Clients names the clients that are answered.
func Clients() []string {
	var names []string
	for _, d := range dialects() {
		names = append(names, d.name)
	}
	return names
}

func find(name string) (dialect, bool) {
	for _, d := range dialects() {
		if d.name == name {
			return d, true
		}
	}
	return dialect{}, false
}

// specific is the member that both clients know; each dialect fills only what its client accepts there.
type specific[T any] struct {
	Specific T `json:"hookSpecificOutput"`
}

// encode writes one answer. The types are ours, so it cannot fail but for raw JSON that was checked before; then the exit code blocks.
func encode[T any](out T) reply {
	raw, err := json.Marshal(out, jsontext.PreserveRawStrings(true))
	if err != nil {
		return reply{stderr: "ostiary: the answer could not be written: " + err.Error(), code: exitBlock}
	}
	return reply{stdout: append(raw, '\n')}
}

// exitBlock is the exit code that both clients take as a block when standard error says why.
const exitBlock = 2

// blocking is an answer that blocks by its exit code and standard error, and by its body where a client reads that.
func blocking(r reply, why string) reply {
	r.code, r.stderr = exitBlock, why
	return r
}

// worded is why, or a sentence in its place: an empty reason makes Codex run the tool.
func worded(why string) string {
	if why = strings.TrimSpace(why); why == "" {
		return "Ostiary blocked this call without a stated reason. Do not retry it."
	}
	return why
}
