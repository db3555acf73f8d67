package web

import (
	"net/http"
	"regexp"
	"slices"
	"time"

	"github.com/gin-gonic/gin"
	"github.com/go-json-experiment/json/jsontext"

	"ostiary"
	"ostiary/decision"
	"ostiary/queue"
	"ostiary/queue/view"
)

// viewed remembers what a browser has shown of an item. Pointers add up over several reports of the same version and view.
func (c *Console) viewed(g *gin.Context) {
	var body struct {
		Version    int64    `json:"version"`
		ViewDigest string   `json:"view_digest"`
		Pointers   []string `json:"pointers"`
	}
	if !c.read(g, &body) {
		return
	}
	who := callerOf(g)
	it, err := c.cfg.Desk.Get(g.Request.Context(), who.who, g.Param("id"))
	if err == nil && (it.Version != body.Version || it.ViewDigest != body.ViewDigest) {
		err = ostiary.Errorf(ostiary.KindStaleVersion, "the item has changed since it was shown").WithFix("load it again")
	}
	if err != nil {
		c.fail(g, err)
		return
	}
	out := struct {
		Complete bool     `json:"complete"`
		Missing  []string `json:"missing"`
	}{Missing: []string{}}
	if who.session != nil {
		who.session.Show(it.ID, it.Version, it.ViewDigest, body.Pointers)
		missing, _ := who.session.Missing(it.ID, it.Version, it.ViewDigest, pointers(it.View))
		out.Missing = append(out.Missing, missing...)
	}
	out.Complete = len(out.Missing) == 0
	answer(g, http.StatusOK, out)
}

// rulingBody is a ruling on the wire (wire.md §3).
type rulingBody struct {
	Kind         queue.RulingKind `json:"kind"`
	Version      int64            `json:"version"`
	ActionDigest string           `json:"action_digest"`
	ViewDigest   string           `json:"view_digest"`
	ReasonCode   string           `json:"reason_code"`
	Reason       string           `json:"reason"`
	EditedInput  jsontext.Value   `json:"edited_input"`
	Text         string           `json:"text"`
}

const maxWords = 4096 // bytes of a reason or a response

// reasonCode is a word that is counted and that the agent is told: nothing that could be read as a sentence.
var reasonCode = regexp.MustCompile(`^[a-z][a-z0-9_]{0,63}$`)

// check reports the first member that makes no sense for this kind of ruling.
func (b rulingBody) check() error {
	missing := func(name string) error {
		return &ostiary.Error{Kind: ostiary.KindMissingField, Pointer: "/" + name, Msg: name + " is required"}
	}
	switch {
	case b.Kind == "":
		return missing("kind")
	case b.Kind != queue.Approve && b.Kind != queue.Deny && b.Kind != queue.Edit && b.Kind != queue.Respond:
		return &ostiary.Error{Kind: ostiary.KindInvalidField, Pointer: "/kind", Msg: "kind must be approve, deny, edit or respond"}
	case b.Version == 0:
		return missing("version")
	case b.ActionDigest == "":
		return missing("action_digest")
	case b.Kind == queue.Edit && len(b.EditedInput) == 0:
		return missing("edited_input")
	case b.Kind != queue.Edit && len(b.EditedInput) > 0:
		return &ostiary.Error{Kind: ostiary.KindInvalidField, Pointer: "/edited_input", Msg: "edited_input belongs to kind edit"}
	case b.Kind == queue.Respond && b.Text == "":
		return missing("text")
	case b.ReasonCode != "" && !reasonCode.MatchString(b.ReasonCode):
		return &ostiary.Error{Kind: ostiary.KindInvalidField, Pointer: "/reason_code", Msg: "reason_code must be one word: a to z first, then a to z, 0 to 9 or _, at most 64 in all",
			Fix: "send a code such as wrong_target, and the sentence as reason"}
	case len(b.Reason) > maxWords || len(b.Text) > maxWords:
		return &ostiary.Error{Kind: ostiary.KindInvalidField, Msg: "a reason or text is longer than 4 KiB"}
	}
	return nil
}

func (c *Console) rule(g *gin.Context) {
	var body rulingBody
	if !c.read(g, &body) {
		return
	}
	if err := body.check(); err != nil {
		c.fail(g, err)
		return
	}
	who, id := callerOf(g), g.Param("id")
	if body.Kind == queue.Approve || body.Kind == queue.Edit {
		if missing, err := c.vouched(g, who, id, body); err != nil {
			c.failWith(g, err, problem{Missing: missing})
			return
		}
	}
	it, err := c.cfg.Desk.Rule(g.Request.Context(), who.who, id, queue.Ruling{
		Kind: body.Kind, Version: body.Version, ActionDigest: body.ActionDigest, ViewDigest: body.ViewDigest,
		ReasonCode: body.ReasonCode, Reason: body.Reason, EditedInput: body.EditedInput, Text: body.Text,
		Person: nameOf(who.who), At: c.cfg.Now(),
	})
	if ostiary.KindOf(err) == ostiary.KindAlreadyDecided {
		c.failWith(g, err, c.winner(who, it))
		return
	}
	if err != nil {
		c.fail(g, err)
		return
	}
	c.show(g, it)
}

// vouched checks that what is about to be approved was shown: by the browser's reports, or by a bearer client's word. An item that is no
// longer open is left to the desk, which says who was first.
func (c *Console) vouched(g *gin.Context, who caller, id string, body rulingBody) (missing []string, err error) {
	it, err := c.cfg.Desk.Get(g.Request.Context(), who.who, id)
	if err != nil || it.State != queue.Open {
		return nil, err
	}
	incomplete := ostiary.Errorf(ostiary.KindViewIncomplete, "the item was not shown completely before it was approved")
	if who.session == nil {
		if body.ViewDigest == "" {
			return nil, incomplete.WithFix("send the view_digest of the item as you have shown it")
		}
		return nil, nil
	}
	if body.Version != it.Version || body.ViewDigest != it.ViewDigest {
		return nil, ostiary.Errorf(ostiary.KindStaleVersion, "the item has changed since it was shown").WithFix("load it again")
	}
	missing, shown := who.session.Missing(id, it.Version, it.ViewDigest, pointers(it.View))
	if !shown || len(missing) > 0 {
		return missing, incomplete.WithFix("scroll through every argument first")
	}
	return nil, nil
}

// winner fills a problem with the item as it was decided and the ruling that did it.
func (c *Console) winner(who caller, it queue.Item) problem {
	var p problem
	if it.ID == "" {
		return p
	}
	if d, err := c.detail(who.who, it); err == nil {
		p.Item = &d
	}
	if all := rulings(it); len(all) > 0 {
		p.Winner = &all[len(all)-1]
	}
	return p
}

func (c *Console) revoke(g *gin.Context) {
	var body struct{}
	if !c.read(g, &body) {
		return
	}
	it, err := c.cfg.Desk.Revoke(g.Request.Context(), callerOf(g).who, g.Param("id"))
	if err != nil {
		c.fail(g, err)
		return
	}
	c.show(g, it)
}

// reveal shows one masked value for a minute, of the arguments or of what a reviewer made of them. The desk records it first; without
// the record nothing is shown.
func (c *Console) reveal(g *gin.Context) {
	var body struct {
		Pointer *string `json:"pointer"`
		Of      source  `json:"of"`
	}
	if !c.read(g, &body) {
		return
	}
	if body.Of != asked && body.Of != edited {
		c.fail(g, &ostiary.Error{Kind: ostiary.KindInvalidField, Pointer: "/of", Msg: "of must be approved_input, or absent for the arguments as they were asked"})
		return
	}
	who, ctx := callerOf(g).who, g.Request.Context()
	it, err := c.cfg.Desk.Get(ctx, who, g.Param("id"))
	if err != nil {
		c.fail(g, err)
		return
	}
	args, _ := body.Of.of(it)
	known := func(a view.Argument) bool { return a.Pointer == *body.Pointer && a.Masked() }
	if body.Pointer == nil || !slices.ContainsFunc(args, known) {
		c.fail(g, &ostiary.Error{Kind: ostiary.KindInvalidField, Pointer: "/pointer", Msg: "pointer must name a masked argument of this item"})
		return
	}
	place := body.Of.at(*body.Pointer)
	if err := c.cfg.Desk.Reveal(ctx, who, it.ID, place); err != nil {
		c.fail(g, err)
		return
	}
	until := c.reveals.Show(who.Subject, it.ID, place, c.cfg.Now())
	d, err := c.detail(who, it)
	if err != nil {
		c.fail(g, err)
		return
	}
	answer(g, http.StatusOK, struct {
		Item    document  `json:"item"`
		HidesAt time.Time `json:"hides_at"`
	}{d, until.UTC()})
}

// verdict is what policy would say of an edit.
type verdict struct {
	Behavior  decision.Behavior `json:"behavior"`
	Source    string            `json:"source"`
	Reason    string            `json:"reason"`
	Reasons   []decision.Reason `json:"reasons"`
	Arguments []view.Argument   `json:"arguments"` // the edit as it would be shown
	// Obligations and Uninspectable say what an approval of the edit needs, as the item's own do for the call that was asked.
	Obligations   []string `json:"obligations"`
	Uninspectable bool     `json:"uninspectable"`
}

func (c *Console) try(g *gin.Context) {
	var body struct {
		EditedInput jsontext.Value `json:"edited_input"`
	}
	if !c.read(g, &body) {
		return
	}
	if body.EditedInput.Kind() != '{' {
		c.fail(g, &ostiary.Error{Kind: ostiary.KindInvalidField, Pointer: "/edited_input", Msg: "edited_input must be an object"})
		return
	}
	args, err := view.Arguments(body.EditedInput, nil)
	if err != nil {
		c.fail(g, err)
		return
	}
	d, err := c.cfg.Desk.TryEdit(g.Request.Context(), callerOf(g).who, g.Param("id"), body.EditedInput)
	if err != nil {
		c.fail(g, err)
		return
	}
	answer(g, http.StatusOK, verdict{d.Behavior, d.Source, d.Reason, append([]decision.Reason{}, d.Reasons...), args,
		append([]string{}, d.Obligations...), view.Uninspectable(args)})
}
