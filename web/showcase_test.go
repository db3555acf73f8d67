package web_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"

	"ostiary/audit"
	"ostiary/decision"
	"ostiary/queue"
	"ostiary/queue/view"
	"ostiary/tool"
	"ostiary/web"
)

// call is a protocol command without an answer, as a step.
func call[P any](cmd cdp.Command[P, cdp.Empty], params P) chromedp.Action[chromedp.Void] {
	return chromedp.Func(func(ctx context.Context, t *chromedp.Target) error {
		_, err := cdp.Call(ctx, t, cmd, params)
		return err
	})
}

// showcase fills a desk with a queue as it looks on a working day.
func showcase(t testing.TB, b *bench) {
	now := b.now()
	b.desk.add(makeItem(t, "rev_mail", `{"to":["bob@examp1e.com","p\u0430ul@partner.example"],"subject":"Q3 summary","body":"Hi Bob,\n\nthe numbers are attached.\u200b\u200b Please do not forward.\n\nAnn","attachments":[{"path":"/reports/q3-final.xlsx","bytes":184320}],"cc":[],"api_key":"Bearer ghp_abcdefghijklmnop"}`, now, func(it *queue.Item) {
		it.Summary = "Send an email with one attachment to 2 people outside your company"
		it.Badges = []string{"tainted", "new_destination"}
		it.Reasons = []decision.Reason{
			{ID: "provenance.untrusted_argument", Policy: "baseline", Reason: "The recipient occurs in a web page the agent has read, and not in what the user asked for.", Severity: "high", Pointer: "/to/1"},
			{ID: "sink.external_recipient", Policy: "baseline", Reason: "Mail leaves the company.", Severity: "medium"},
		}
		it.Provenance = []decision.ArgOrigin{{Pointer: "/to/0", Role: "recipient", Origin: decision.OriginUser}, {Pointer: "/to/1", Role: "recipient", Origin: decision.OriginUntrusted, Source: "inv-3"},
			{Pointer: "/subject", Role: "text", Origin: decision.OriginUser}, {Pointer: "/body", Role: "text", Origin: decision.OriginModel}, {Pointer: "/attachments/0/path", Role: "path", Origin: decision.OriginUser}, {Pointer: "/api_key", Role: "secret", Origin: decision.OriginModel}}
		it.Justification = "The user asked for the Q3 summary to be mailed. I found Paul's address on the partner page and added him so that nobody is left out."
		it.ExpiresAt = now.Add(42*time.Minute + 18*time.Second)
	}))
	b.desk.add(makeItem(t, "rev_rm", `{"command":"rm -rf ./build ./dist && git clean -fdx","cwd":"/srv/checkout"}`, now, func(it *queue.Item) {
		it.Tool, it.Agent, it.Tier = tool.Name{Namespace: "claude-code", Name: "Bash"}, "coder-7", queue.TierHigh
		it.Summary, it.Badges = "Run a shell command that deletes files below /srv/checkout", []string{"first_time"}
		it.Risk = tool.Risk{Destructive: true, OpenWorld: true, SensitiveSink: true}
		it.ExpiresAt = now.Add(96 * time.Second)
		it.RiskSource = tool.FromShipped
	}))
	b.desk.add(makeItem(t, "rev_pay", `{"account":"DE89 3704 0044 0532 0130 00","amount":1249.00,"currency":"EUR","reference":"Invoice 2026-1107"}`, now, func(it *queue.Item) {
		it.Tool, it.Agent, it.Tier = tool.Name{Namespace: "bank", Name: "create_transfer"}, "bookkeeper", queue.TierHigh
		it.Summary, it.Owner = "Transfer 1,249.00 EUR to an account that was not paid before", "mei"
		it.Badges = []string{"new_destination"}
		it.ExpiresAt = now.Add(18 * time.Minute)
	}))
	b.desk.add(makeItem(t, "rev_page", `{"url":"https://status.example.com/api/incidents","method":"GET"}`, now, func(it *queue.Item) {
		it.Tool, it.Agent, it.Tier = tool.Name{Namespace: "web", Name: "fetch"}, "research-2", queue.TierLow
		it.Summary, it.Owner = "Read a page at status.example.com", ""
		it.ExpiresAt = now.Add(55 * time.Minute)
	}))
	b.desk.add(makeItem(t, "rev_doc", `{"doc":"Roadmap 2027","role":"commenter","group":"all-staff"}`, now, func(it *queue.Item) {
		it.Tool, it.Agent = tool.Name{Namespace: "docs", Name: "share_document"}, "mail-assistant"
		it.Summary, it.Obligations = "Let the group all-staff comment on the document Roadmap 2027", []string{"reason"}
		it.ExpiresAt = now.Add(51 * time.Minute)
	}))
	b.desk.add(makeItem(t, "rev_done", `{"url":"https://hooks.partner.example/q3","headers":{"Authorization":"Bearer ghp_abcdefghijklmnop"},"rows":12000}`, now, func(it *queue.Item) {
		it.Tool, it.Agent, it.State, it.Version = tool.Name{Namespace: "web", Name: "post"}, "research-2", queue.Approved, 2
		it.Summary = "Send 12,000 rows to hooks.partner.example"
		it.EditedInput = []byte(`{"url":"https://hooks.partner.example/q3","headers":{"Authorization":"Bearer ghp_qrstuvwxyzabcdef"},"rows":200}`)
		args, err := view.Arguments(it.EditedInput, nil)
		if err != nil {
			t.Fatal(err)
		}
		it.EditedView, it.EditedDigest = hide(args), "sha256:"+strings.Repeat("1", 60)+"ed17"
		it.Rulings = []queue.Ruling{{Kind: queue.Edit, Person: "Rita", Reason: "A sample is enough, and with the key of the test system.", At: now.Add(-20 * time.Second)}}
		it.ExpiresAt = now.Add(29 * time.Minute)
	}))
	at := func(ago time.Duration) time.Time { return now.Add(-ago) }
	b.desk.mu.Lock()
	defer b.desk.mu.Unlock()
	b.desk.events = []audit.Event{
		{ID: "1", Time: at(6 * time.Minute), Class: audit.SessionMessage, Reason: "Mail the Q3 summary to Bob"},
		{ID: "2", Time: at(5 * time.Minute), Class: audit.CallDecided, Tool: "web.fetch", Behavior: "allow"},
		{ID: "3", Time: at(4 * time.Minute), Class: audit.ResultCleaned, Tool: "web.fetch", Labels: []string{"untrusted"}},
		{ID: "4", Time: at(time.Minute), Class: audit.ReviewOpened, Tool: "crm.send_email", ReviewID: "rev_mail"},
	}
	b.desk.checks = []web.Check{{Name: "journal", Status: "ok", Detail: "SQLite, full sync, last fsync 2 ms"}, {Name: "policies", Status: "ok", Detail: "revision sha256:41c0…e2, 38 rules"}, {Name: "audit", Status: "ok", Detail: "4,211 events, chain verified at start"}}
}

// TestScreenshots writes pictures of every screen to the folder named by OSTIARY_SHOTS, for people to look at.
func TestScreenshots(t *testing.T) {
	dir := os.Getenv("OSTIARY_SHOTS")
	if dir == "" {
		t.Skip("set OSTIARY_SHOTS to a folder to take pictures")
	}
	alloc, cancel := chromedp.NewExecAllocator(t.Context(), chromedp.ExecPath("chromium"), chromedp.NoSandbox, chromedp.Headless, chromedp.Flag("lang", "en-GB"), chromedp.Flag("hide-scrollbars", true))
	t.Cleanup(cancel)
	browser, cancel := chromedp.NewContext(alloc)
	t.Cleanup(cancel)
	if err := chromedp.Do(browser); err != nil {
		t.Fatal(err)
	}
	b := newTab(t, browser)
	b.ctx = b.alive // a tour of every screen takes longer than a promise may
	shot := func(name string) {
		png, err := chromedp.Run(b.ctx, chromedp.CaptureScreenshot())
		if err == nil {
			err = os.WriteFile(filepath.Join(dir, name+".png"), png, 0o644)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	scheme := func(s string) {
		b.do(call(emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: s}, {Name: "prefers-reduced-motion", Value: "reduce"}}}))
	}
	scheme("light")
	b.do(chromedp.Navigate(b.console.LoginURL(b.server.URL)))
	b.until(`document.querySelector('#sign-in')`)
	shot("login")
	b.enter("/")
	b.until(`document.querySelector('#empty')`)
	shot("empty")
	showcase(t, b.bench)
	b.until(`document.querySelectorAll('.row').length > 0`)
	if !eval[bool](b, `document.querySelector('.list').innerText.includes('Roadmap')`) {
		b.click("#new")
		b.seeText(".list", "Roadmap")
	}
	shot("list")
	b.do(chromedp.Navigate(b.server.URL + "/reviews/rev_mail"))
	b.until(`document.querySelector('#item h1')`)
	b.seeText("#progress", "Seen")
	eval[any](b, `document.querySelector('#item').scrollTo(0, 560)`)
	b.until(`document.querySelector('#progress')`)
	shot("light-2")
	eval[any](b, `document.querySelector('details')?.setAttribute('open', ''), document.querySelector('#item').scrollTo(0, 1e6)`)
	b.until(`document.querySelector('#progress')`)
	shot("light-3")
	eval[any](b, `document.querySelector('#item').scrollTo(0, 0)`)
	b.until(ready)
	shot("light")
	scheme("dark")
	shot("dark")
	scheme("light")
	b.key("d")
	b.click("input[value=wrong_target]")
	shot("deny")
	b.do(chromedp.Navigate(b.server.URL + "/reviews/rev_rm"))
	b.until(ready)
	b.key("a")
	b.until(`document.querySelector('#confirm')`)
	shot("armed")
	b.do(chromedp.Navigate(b.server.URL + "/reviews/rev_pay"))
	b.until(ready)
	b.key("e")
	b.until(`document.querySelector('#verdict')?.dataset.behavior`)
	eval[any](b, `(e => { e.value = e.value.replace('1249.00', '249.00'); e.dispatchEvent(new Event('input', {bubbles: true})); })(document.querySelector('#editor'))`)
	b.until(`document.querySelector('#verdict')?.dataset.behavior && document.querySelector('#diff') && !document.querySelector('#send-edit').disabled`)
	shot("edit")
	b.key("?")
	eval[any](b, `localStorage.setItem('language', 'zh')`)
	b.do(chromedp.Navigate(b.server.URL + "/reviews/rev_mail"))
	b.until(`document.querySelector('#progress')`)
	b.key("?")
	b.until(`document.querySelector('dialog[open]')`)
	shot("keys")
	for _, width := range []int64{1360, 900, 420} {
		b.do(chromedp.EmulateViewport(width, 860))
		for _, language := range []string{"en", "zh"} {
			eval[any](b, `localStorage.setItem('language', '`+language+`')`)
			for _, s := range []string{"light", "dark"} {
				scheme(s)
				b.tour(func(name string) { shot(fmt.Sprintf("%s-%s-%s-%d", name, language, s, width)) })
			}
		}
	}
}

// tour opens the screens on which people decide, one after the other.
func (b *tab) tour(shot func(name string)) {
	b.do(chromedp.Navigate(b.server.URL + "/reviews/rev_mail"))
	b.until(`document.querySelector('#progress')`)
	shot("item")
	b.do(chromedp.Navigate(b.server.URL + "/reviews/rev_doc"))
	b.scrollThrough()
	b.key("a")
	b.until(`document.activeElement.id === 'why'`)
	shot("armed")
	b.key("\x1b")
	b.until(ready)
	b.key("e")
	b.until(`document.querySelector('#verdict')?.dataset.behavior`)
	b.edit("{\n  \"doc\": \"Roadmap 2027\",\n  \"role\": \"viewer\",\n  \"group\": \"all-staff\"\n}")
	b.until(sendable)
	eval[any](b, `document.querySelector('#send-edit').click()`)
	b.until(`document.activeElement.id === 'why'`)
	shot("edit")
	b.do(chromedp.Navigate(b.server.URL + "/reviews/rev_done"))
	b.until(`document.querySelector('#approved')`)
	shot("approved")
	b.do(chromedp.Navigate(b.server.URL + "/reviews/rev_rm"))
	b.scrollThrough()
	b.key("a")
	b.until(`document.activeElement.id === 'last4'`)
	shot("high")
}
