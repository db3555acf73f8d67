package audit

import (
	"github.com/go-json-experiment/json"

	"ostiary/internal/jsonobject"
)

// maxUsual is the size of a usual event, in bytes.
const maxUsual = 1 << 10

// line returns an event as encoding it by its tags does, and the end of the line.
func (e *Event) line() ([]byte, error) {
	o := jsonobject.Append(make([]byte, 0, maxUsual))
	o.Int("seq", int64(e.Seq))
	o.Text("id", e.ID)
	o.Time("time", e.Time)
	o.Text("event", string(e.Class))
	text := func(name, value string) {
		if value != "" {
			o.Text(name, value)
		}
	}
	texts := func(name string, values []string) {
		if len(values) > 0 {
			o.Texts(name, values)
		}
	}
	number := func(name string, n int64) {
		if n != 0 {
			o.Int(name, n)
		}
	}
	text("tenant", e.Tenant)
	text("agent", e.Agent)
	text("session_id", e.Session)
	text("request_id", e.Request)
	number("iteration", int64(e.Iteration))
	text("invocation_id", e.InvocationID)
	text("decision_id", e.DecisionID)
	text("review_id", e.ReviewID)
	text("permit_id", e.PermitID)
	text("tool", e.Tool)
	text("behavior", e.Behavior)
	text("source", e.Source)
	texts("rules", e.Rules)
	text("reason", e.Reason)
	text("revision", e.Revision)
	text("args_mac", e.ArgsMAC)
	text("state", e.State)
	text("ruling", e.Ruling)
	text("person", e.Person)
	text("status", e.Status)
	text("error_code", e.ErrorCode)
	texts("labels", e.Labels)
	number("duration_ms", e.DurationMS)
	number("warnings_count", int64(e.WarningsCount))
	if e.Findings != nil {
		findings, err := json.Marshal(e.Findings, json.Deterministic(true))
		if err != nil {
			return nil, err
		}
		o.Value("findings", findings)
	}
	if len(e.Args) > 0 {
		o.Value("args", e.Args)
	}
	text("kind", e.Kind)
	line, err := o.End()
	return append(line, '\n'), err
}
