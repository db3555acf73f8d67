package wire

import (
	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"ostiary/internal/jsonobject"
)

// maxUsual is the size of a usual decision, in bytes.
const maxUsual = 1 << 10

// JSON returns the decision as encoding it by its tags does, with no list null and the strings of updated_input as they came.
func (d *Decision) JSON() ([]byte, error) {
	o := jsonobject.Append(make([]byte, 0, maxUsual))
	o.Text("schema_version", d.SchemaVersion)
	o.Text("decision_id", d.DecisionID)
	o.Text("invocation_id", d.InvocationID)
	o.Text("behavior", d.Behavior)
	o.Text("mode", d.Mode)
	o.Text("source", d.Source)
	o.Text("reason", d.Reason)
	o.Objects("reasons", len(d.Reasons), func(i int, o *jsonobject.Object) { d.Reasons[i].write(o) })
	o.Texts("rule_refs", d.RuleRefs)
	o.Texts("policy_refs", d.PolicyRefs)
	o.Texts("obligations", d.Obligations)
	o.Texts("suggested_updates", d.SuggestedUpdates)
	o.Value("updated_input", d.UpdatedInput)
	o.Bool("user_modified", d.UserModified)
	o.Bool("pending_classifier_check", d.PendingClassifierCheck)
	optional(o, "blocked_path", d.BlockedPath, o.Text)
	o.Objects("content_blocks", len(d.ContentBlocks), func(i int, o *jsonobject.Object) {
		o.Text("type", d.ContentBlocks[i].Type)
		o.Text("text", d.ContentBlocks[i].Text)
	})
	o.Bool("accept_feedback", d.AcceptFeedback)
	o.Text("action_digest", d.ActionDigest)
	o.Time("decided_at", d.DecidedAt)
	optional(o, "expires_at", d.ExpiresAt, o.Time)
	review, err := d.Review.json()
	if err != nil {
		return nil, err
	}
	o.Value("review", review)
	optional(o, "permit", d.Permit, o.Text)
	return o.End()
}

// optional writes a member that is null where it is absent.
func optional[T any](o *jsonobject.Object, name string, value *T, write func(name string, value T)) {
	if value == nil {
		o.Value(name, nil)
		return
	}
	write(name, *value)
}

func (r Reason) write(o *jsonobject.Object) {
	o.Text("id", r.ID)
	o.Text("policy", r.Policy)
	o.Text("reason", r.Reason)
	if r.Severity != "" {
		o.Text("severity", r.Severity)
	}
	if r.Pointer != "" {
		o.Text("pointer", r.Pointer)
	}
}

func (r *Review) json() (jsontext.Value, error) {
	if r == nil {
		return nil, nil
	}
	return json.Marshal(r)
}
