package web_test

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"net/http/httptest"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"ostiary"
	"ostiary/agent"
	"ostiary/audit"
	"ostiary/decision"
	"ostiary/queue"
	"ostiary/queue/view"
	"ostiary/tool"
	"ostiary/web"
)

// fakeDesk is a review desk in memory, with the rules that the console's answers depend on.
type fakeDesk struct {
	mu       sync.Mutex
	now      func() time.Time
	items    []queue.Item
	watchers map[chan string]bool
	reveals  []string
	rulings  int
	fail     error // answered by every method that can fail
	checks   []web.Check
	events   []audit.Event
}

func (d *fakeDesk) find(who agent.Identity, id string) (*queue.Item, error) {
	if d.fail != nil {
		return nil, d.fail
	}
	for i := range d.items {
		if d.items[i].ID == id && d.items[i].Tenant == who.Tenant {
			return &d.items[i], nil
		}
	}
	return nil, ostiary.Errorf(ostiary.KindNotFound, "no such review")
}

func (d *fakeDesk) List(_ context.Context, who agent.Identity, f queue.Filter) (queue.Page, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.fail != nil {
		return queue.Page{}, d.fail
	}
	var p queue.Page
	for _, it := range d.items {
		fits := it.Tenant == f.Tenant && f.Tenant == who.Tenant && (f.State == "" || f.State == it.State) && (f.Tier == "" || f.Tier == it.Tier) &&
			strings.Contains(it.Tool.String()+it.Summary+it.Agent, f.Text) && (f.Agent == "" || f.Agent == it.Agent)
		if fits {
			p.Items = append(p.Items, it)
		}
	}
	p.Total = len(p.Items)
	return p, nil
}

func (d *fakeDesk) Get(_ context.Context, who agent.Identity, id string) (queue.Item, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	it, err := d.find(who, id)
	if err != nil {
		return queue.Item{}, err
	}
	return *it, nil
}

func (d *fakeDesk) Rule(_ context.Context, who agent.Identity, id string, r queue.Ruling) (queue.Item, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	it, err := d.find(who, id)
	switch {
	case err != nil:
		return queue.Item{}, err
	case it.State != queue.Open:
		return *it, ostiary.Errorf(ostiary.KindAlreadyDecided, "somebody ruled before")
	case it.Version != r.Version || it.ActionDigest != r.ActionDigest:
		return *it, ostiary.Errorf(ostiary.KindStaleVersion, "the item has changed")
	case it.Owner != "" && it.Owner == who.Subject:
		return *it, ostiary.Errorf(ostiary.KindSelfApproval, "not your own agent's call")
	case r.Kind == queue.Deny && r.ReasonCode == "":
		return *it, ostiary.Errorf(ostiary.KindReasonRequired, "a denial needs a reason code")
	case (r.Kind == queue.Approve || r.Kind == queue.Edit) && strings.TrimSpace(r.Reason) == "" && (slices.Contains(it.Obligations, decision.ObligationReason) || strings.Contains(string(r.EditedInput), needsReason)):
		return *it, ostiary.Errorf(ostiary.KindReasonRequired, "policy wants a reason for letting this call run")
	}
	it.State = map[queue.RulingKind]queue.State{queue.Approve: queue.Approved, queue.Edit: queue.Approved, queue.Deny: queue.Denied, queue.Respond: queue.Responded}[r.Kind]
	it.Rulings = append(slices.Clone(it.Rulings), r)
	if r.Kind == queue.Edit {
		args, err := view.Arguments(r.EditedInput, nil)
		if err != nil {
			return *it, err
		}
		it.EditedInput, it.EditedView, it.EditedDigest = r.EditedInput, hide(args), "sha256:"+strings.Repeat("1", 60)+"ed17"
	}
	it.Version++
	it.ResolvedAt = r.At
	d.rulings++
	d.tell(id)
	return *it, nil
}

func (d *fakeDesk) Revoke(_ context.Context, who agent.Identity, id string) (queue.Item, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	it, err := d.find(who, id)
	if err != nil {
		return queue.Item{}, err
	}
	if it.State != queue.Approved {
		return *it, ostiary.Errorf(ostiary.KindConflict, "there is no approval to withdraw")
	}
	it.State, it.Version = queue.Revoked, it.Version+1
	d.tell(id)
	return *it, nil
}

func (d *fakeDesk) Reveal(_ context.Context, _ agent.Identity, id, place string) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.fail != nil {
		return d.fail
	}
	d.reveals = append(d.reveals, id+" "+place)
	return nil
}

// needsReason is the address that nobody may let mail go to without a reason.
const needsReason = "ceo@example.com"

// secret is what the desk masks.
var secret = regexp.MustCompile(`ghp_\w+`)

// hide masks secrets as the desk does.
func hide(args []view.Argument) []view.Argument {
	spans := map[string][][2]int{}
	for _, a := range args {
		var text strings.Builder
		for _, r := range a.Runs {
			text.WriteString(r.Text)
		}
		for _, at := range secret.FindAllStringIndex(text.String(), -1) {
			spans[a.Pointer] = append(spans[a.Pointer], [2]int(at))
		}
	}
	return view.Mask(args, spans)
}

// TryEdit denies what goes to evil.test.
func (d *fakeDesk) TryEdit(_ context.Context, who agent.Identity, id string, edited jsontext.Value) (decision.Decision, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if _, err := d.find(who, id); err != nil {
		return decision.Decision{}, err
	}
	if strings.Contains(string(edited), "evil.test") {
		return decision.Decision{Behavior: decision.Deny, Source: decision.SourcePolicy, Reason: "The recipient is on the block list.",
			Reasons: []decision.Reason{{ID: "recipient.blocked", Policy: "baseline", Reason: "The recipient is on the block list.", Severity: "high"}}}, nil
	}
	var obligations []string
	if strings.Contains(string(edited), needsReason) {
		obligations = []string{decision.ObligationReason}
	}
	return decision.Decision{Behavior: decision.Ask, Source: decision.SourcePolicy, Reason: "A person has to agree.", Obligations: obligations,
		Reasons: []decision.Reason{{ID: "sink.external", Policy: "baseline", Reason: "Mail leaves the company.", Severity: "medium"}}}, nil
}

func (d *fakeDesk) Timeline(_ context.Context, who agent.Identity, id string) ([]audit.Event, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if _, err := d.find(who, id); err != nil {
		return nil, err
	}
	return d.events, nil
}

func (d *fakeDesk) Watch(ctx context.Context) <-chan string {
	d.mu.Lock()
	defer d.mu.Unlock()
	ch := make(chan string, 16)
	d.watchers[ch] = true
	context.AfterFunc(ctx, func() {
		d.mu.Lock()
		defer d.mu.Unlock()
		delete(d.watchers, ch)
		close(ch)
	})
	return ch
}

func (d *fakeDesk) Health(context.Context) []web.Check {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.checks
}

// tell must be called with the lock held.
func (d *fakeDesk) tell(id string) {
	for ch := range d.watchers {
		select {
		case ch <- id:
		default:
		}
	}
}

func (d *fakeDesk) watching() int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return len(d.watchers)
}

func (d *fakeDesk) ruled() int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.rulings
}

func (d *fakeDesk) state(id string) queue.State {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, it := range d.items {
		if it.ID == id {
			return it.State
		}
	}
	return ""
}

// revealed lists what was recorded as shown.
func (d *fakeDesk) revealed() []string {
	d.mu.Lock()
	defer d.mu.Unlock()
	return slices.Clone(d.reveals)
}

// last returns the newest ruling of an item.
func (d *fakeDesk) last(id string) queue.Ruling {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, it := range d.items {
		if n := len(it.Rulings); it.ID == id && n > 0 {
			return it.Rulings[n-1]
		}
	}
	return queue.Ruling{}
}

// add puts an item into the queue and tells every watcher.
func (d *fakeDesk) add(it queue.Item) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.items = append(d.items, it)
	d.tell(it.ID)
}

func (d *fakeDesk) change(id string, f func(*queue.Item)) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for i := range d.items {
		if d.items[i].ID == id {
			f(&d.items[i])
			d.tell(id)
		}
	}
}

// makeItem builds an open item around arguments; change may be nil.
func makeItem(t testing.TB, id, args string, now time.Time, change func(*queue.Item)) queue.Item {
	t.Helper()
	it := queue.Item{
		ID: id, State: queue.Open, Version: 1, Kind: queue.KindCall, Tenant: "acme", Agent: "mail-assistant", Owner: "ann", Session: "s-42",
		Tool: tool.Name{Namespace: "crm", Name: "send_email"}, Input: jsontext.Value(args), ActionDigest: "sha256:" + strings.Repeat("0", 60) + "9f3c",
		Tier: queue.TierMedium, Summary: "Send an email to bob@example.com", Risk: tool.Risk{OpenWorld: true, SensitiveSink: true}, RiskSource: tool.FromOperator,
		Reasons:  []decision.Reason{{ID: "sink.external", Policy: "baseline", Reason: "Mail leaves the company.", Severity: "medium"}},
		OpenedAt: now.Add(-time.Minute), ExpiresAt: now.Add(59 * time.Minute),
	}
	if change != nil {
		change(&it)
	}
	if it.View == nil {
		origins := map[string]decision.ArgOrigin{}
		for _, o := range it.Provenance {
			origins[o.Pointer] = o
		}
		v, err := view.Arguments(it.Input, func(p string) (string, string) { return origins[p].Role, string(origins[p].Origin) })
		if err != nil {
			t.Fatal(err)
		}
		it.View = hide(v)
	}
	it.ViewDigest = view.DigestOf(it.View, it.Summary)
	return it
}

func identities() map[string]agent.Identity {
	return map[string]agent.Identity{
		"reviewer-token": {Tenant: "acme", Subject: "rita", Name: "Rita", Role: agent.RoleReviewer},
		"viewer-token":   {Tenant: "acme", Subject: "vic", Role: agent.RoleViewer},
		"author-token":   {Tenant: "acme", Subject: "otto", Role: agent.RoleAuthor},
		"agent-token":    {Tenant: "acme", Subject: "mail-assistant", Role: agent.RoleAgent},
		"owner-token":    {Tenant: "acme", Subject: "ann", Role: agent.RoleSenior},
		"other-token":    {Tenant: "globex", Subject: "gus", Role: agent.RoleAdmin},
	}
}

// bench is a console with a fake desk behind a real server.
type bench struct {
	desk    *fakeDesk
	console *web.Console
	server  *httptest.Server
	mu      sync.Mutex
	offset  time.Duration
	log     *strings.Builder
	beat    time.Duration // of event streams; 20 ms unless set
}

func (b *bench) now() time.Time {
	b.mu.Lock()
	defer b.mu.Unlock()
	return time.Now().Add(b.offset)
}

func (b *bench) advance(d time.Duration) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.offset += d
}

type lockedWriter struct {
	mu sync.Mutex
	b  *strings.Builder
}

func (w *lockedWriter) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.b.Write(p)
}

func open(t testing.TB, items ...queue.Item) *bench {
	t.Helper()
	b := &bench{log: &strings.Builder{}}
	b.desk = &fakeDesk{now: b.now, items: items, watchers: map[chan string]bool{}, checks: []web.Check{{Name: "journal", Status: "ok", Detail: "fsync 2 ms"}}}
	b.serve(t, b.desk)
	return b
}

// serve puts a console before a desk.
func (b *bench) serve(t testing.TB, desk web.Desk) {
	t.Helper()
	server := httptest.NewUnstartedServer(nil)
	b.build(t, desk, server.Listener.Addr().String())
	console := b.console
	server.Config.Handler = console.Handler()
	server.Config.RegisterOnShutdown(console.Stop)
	server.Start()
	b.server = server
	t.Cleanup(func() {
		console.Stop()
		server.Close()
	})
}

// build makes a console for a desk; host is the only name that it answers to.
func (b *bench) build(t testing.TB, desk web.Desk, host string) {
	t.Helper()
	console, err := web.New(web.Config{
		Desk: desk, Now: b.now, Hosts: []string{host}, LoginAs: identities()["reviewer-token"],
		Log: slog.New(slog.NewJSONHandler(&lockedWriter{b: b.log}, &slog.HandlerOptions{Level: slog.LevelDebug})), Heartbeat: cmp.Or(b.beat, 20*time.Millisecond),
		Authenticate: func(bearer string) (agent.Identity, error) {
			if who, ok := identities()[bearer]; ok {
				return who, nil
			}
			return agent.Identity{}, errors.New("unknown token")
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	b.console = console
}
