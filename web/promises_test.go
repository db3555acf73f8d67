package web_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"

	"ostiary/decision"
	"ostiary/queue"
)

func loginOnce(b *tab) {
	link := b.console.LoginURL(b.server.URL)
	b.do(chromedp.Navigate(link))
	b.until(`document.querySelector('#sign-in')`)
	if at := eval[string](b, `location.href`); at != b.server.URL+"/login" {
		b.t.Errorf("the code stays in the address bar: %s", at)
	}
	b.click("#sign-in")
	b.until(`document.querySelector('.console')`)
	if cookie := eval[string](b, `document.cookie`); cookie != "" {
		b.t.Errorf("scripts can read the cookie: %s", cookie)
	}
	b.do(chromedp.Navigate(link))
	b.click("#sign-in")
	b.seeText("[role=alert]", "used already")
}

func hiddenCharacters(b *tab) {
	b.put("rev_1", `{"to":"p\u0430ypal.com","cmd":"ls\u202e\u200b\u001b[8m \u0000x","tag":"a\udb40\udc68\udb40\udc69","n":12345678901234567890.10,"e":{},"k\u202ey":1}`, nil)
	b.enter("/reviews/rev_1")
	kinds := eval[[]string](b, `[...document.querySelectorAll('.chip[data-kind]')].map(e => e.dataset.kind)`)
	for _, kind := range []string{"confusable", "bidi", "invisible", "ansi", "control", "tag"} {
		if !slices.Contains(kinds, kind) {
			b.t.Errorf("no chip for %s: %v", kind, kinds)
		}
	}
	for _, part := range []string{"U+0430 Cyrillic", "U+202E", "U+200B", "ESC [8m", "U+0000", "says “hi”", "12345678901234567890.10", "{}"} {
		if !strings.Contains(b.text("#args"), part) {
			b.t.Errorf("%q is not on the page:\n%s", part, b.text("#args"))
		}
	}
	b.click("#tab-hex")
	b.seeText("#args", "000000  7b 22 74 6f")
	b.click("#tab-raw")
	b.seeText("#args", `"cmd":"ls\u202e\u200b`)
}

func approveInTwoSteps(b *tab) {
	b.put("rev_1", mail, nil)
	b.enter("/reviews/rev_1")
	opened := time.Now()
	if eval[bool](b, ready) {
		b.t.Error("approve is armed before anybody could have read anything")
	}
	b.until(ready)
	if took := time.Since(opened); took < 500*time.Millisecond {
		b.t.Errorf("ready after %s", took)
	}
	b.key("\r")
	if b.desk.ruled() != 0 {
		b.t.Fatal("Enter alone approved")
	}
	b.key("a")
	b.until(`document.querySelector('#confirm')`)
	b.key("\r")
	if b.desk.ruled() != 0 {
		b.t.Fatal("confirmed within a blink")
	}
	b.key("\x1b")
	b.until(ready)
	b.key("a")
	b.until(`document.querySelector('#confirm')`)
	armed := time.Now()
	b.until(fmt.Sprintf("performance.now() > %f", eval[float64](b, `performance.now()`)+420))
	b.key("\r")
	b.seeText(".notice", "You approved this call")
	if time.Since(armed) < 400*time.Millisecond || b.desk.state("rev_1") != queue.Approved {
		b.t.Error(b.desk.state("rev_1"))
	}
	b.click("#revoke")
	b.seeText(".notice", "withdrawn")
}

// A conclusion runs nothing: there is no tool to tell of, and nothing to edit.
func onlyCallsAreEdited(b *tab) {
	b.put("rev_1", `{"text":"tea is cheaper"}`, func(it *queue.Item) { it.Kind = queue.KindConclusion })
	b.put("rev_2", mail, nil)
	for id, there := range map[string]bool{"rev_1": false, "rev_2": true} {
		b.enter("/reviews/" + id)
		b.until(ready)
		for _, part := range []string{"#edit", "#risk-title"} {
			if got := eval[bool](b, `!!document.querySelector('`+part+`')`); got != there {
				b.t.Errorf("%s has %s: %t", id, part, got)
			}
		}
	}
	b.enter("/reviews/rev_1")
	b.until(ready)
	b.key("e")
	if eval[bool](b, `!!document.querySelector('#editor, textarea')`) {
		b.t.Error("the key edits a conclusion")
	}
}

func unseenBlocks(b *tab) {
	b.put("rev_1", `{"long":"`+strings.Repeat("word ", 4000)+`end","last":"rm -rf /"}`, nil)
	b.enter("/reviews/rev_1")
	b.seeText("#progress", "Seen 0 of 2")
	b.key("a")
	if eval[bool](b, `!!document.querySelector('#confirm') || (`+ready+`)`) {
		b.t.Fatal("approve can be armed while arguments are out of sight")
	}
	eval[any](b, `document.querySelector('[data-pointer="/last"]').scrollIntoView()`)
	b.until(`document.querySelector('#progress')?.innerText.includes('Seen 2 of 2') || document.querySelector('#progress')?.innerText.includes('reasons') || (` + ready + `)`)
	eval[any](b, `document.querySelector('#item').scrollTo(0, 1e9)`)
	b.until(ready)
}

func approveWithReason(b *tab) {
	b.put("rev_1", mail, func(it *queue.Item) { it.Obligations = []string{"reason"} })
	b.enter("/reviews/rev_1")
	b.click("#approve:not(:disabled)")
	b.until(`document.querySelector('#why')`)
	b.until(fmt.Sprintf("performance.now() > %f", eval[float64](b, `performance.now()`)+420))
	if !eval[bool](b, `document.querySelector('#confirm').getAttribute('aria-disabled') === 'true'`) {
		b.t.Fatal("an approval without a reason can be confirmed")
	}
	b.until(`document.activeElement.id === 'why'`)
	b.key("\r")
	if b.desk.ruled() != 0 {
		b.t.Fatal("Enter in the empty field approved")
	}
	b.key("asked by phone")
	b.click("#confirm")
	b.seeText(".notice", "You approved")
	if got := b.desk.last("rev_1").Reason; got != "asked by phone" {
		b.t.Errorf("the reason arrived as %q", got)
	}
}

func barNamesTarget(b *tab) {
	b.put("rev_1", `{"to":["bob@example.com","mallory@evil.test","carol@example.com"]}`, func(it *queue.Item) {
		it.Provenance = []decision.ArgOrigin{{Pointer: "/to/0", Role: "recipient", Origin: decision.OriginUser},
			{Pointer: "/to/1", Role: "recipient", Origin: decision.OriginUntrusted}, {Pointer: "/to/2", Role: "recipient", Origin: decision.OriginUser}}
	})
	b.enter("/reviews/rev_1")
	b.seeText(".bar .target", "mallory@evil.test")
	b.seeText(".bar .target", "+2 more")
}

func highTierTypes(b *tab) {
	b.put("rev_1", mail, func(it *queue.Item) { it.Tier = queue.TierHigh })
	b.enter("/reviews/rev_1")
	b.click("#approve:not(:disabled)")
	b.until(`document.querySelector('.last4 input') === document.activeElement`)
	b.until(fmt.Sprintf("performance.now() > %f", eval[float64](b, `performance.now()`)+420))
	b.key("0000\r")
	b.until(`document.querySelector('.last4 input').value === '0000'`)
	if b.desk.ruled() != 0 || !eval[bool](b, `document.querySelector('#confirm').getAttribute('aria-disabled') === 'true'`) {
		b.t.Fatal("the wrong characters approved")
	}
	b.key("\b\b\b\b9f3c")
	b.click("#confirm")
	b.seeText(".notice", "You approved")
}

func randomKeys(b *tab) {
	for i := range 4 {
		b.put(fmt.Sprintf("rev_%d", i), mail, nil)
	}
	b.enter("/reviews/rev_0")
	b.until(ready)
	random := rand.New(rand.NewPCG(1, 2))
	// Tab is left out: it reaches the sign-out button, and then the page is gone.
	hammer := []string{"a", "a", "\r", "\r", "\r", " ", "x", "1", "y", "n", "\b"}
	wander := append([]string{"j", "k", "\x1b", "\x1b", "/", "?", "v", "o"}, hammer...)
	for burst, keys := range [][]string{hammer, hammer, wander, wander, hammer} {
		eval[any](b, `localStorage.clear()`) // the keys may have switched the shortcuts off in the help
		b.do(chromedp.Navigate(fmt.Sprintf("%s/reviews/rev_%d", b.server.URL, burst%4)))
		b.until(ready)
		eval[any](b, `window.armed = 0, new MutationObserver(() => { if (document.querySelector('#confirm')) window.armed++; }).observe(document.body, {childList: true, subtree: true})`)
		for range 200 {
			b.key(keys[random.IntN(len(keys))])
		}
	}
	if b.desk.ruled() != 0 {
		b.t.Fatal("random keys ruled")
	}
	if eval[int](b, `window.armed`) == 0 {
		b.t.Error("the keys never even armed an approval: the test proves nothing")
	}
}

func changedItem(b *tab) {
	b.put("rev_1", mail, nil)
	b.enter("/reviews/rev_1")
	b.click("#approve:not(:disabled)")
	b.until(`document.querySelector('#confirm')`)
	b.desk.change("rev_1", func(it *queue.Item) { it.Version, it.Summary = 2, "Something else entirely" })
	b.seeText("#item h1", "Something else")
	if eval[bool](b, `!!document.querySelector('#confirm')`) {
		b.t.Error("still armed for what is no longer there")
	}
	b.seeText(".notice", "has changed")
	b.until(ready)
}

func denyWithReason(b *tab) {
	b.put("rev_1", mail, nil)
	b.enter("/reviews/rev_1")
	b.key("d")
	b.until(`document.querySelector('#send-deny')`)
	if !eval[bool](b, `document.querySelector('#send-deny').disabled`) {
		b.t.Error("denying needs no reason")
	}
	b.click("input[value=wrong_target]")
	b.do(chromedp.SendKeys(chromedp.CSS("#note"), "That is not Bob's address. <b>"))
	b.click("#send-deny")
	b.seeText(".notice", "You denied")
	b.seeText(".rulings", "That is not Bob's address. <b>")
	if b.desk.state("rev_1") != queue.Denied {
		b.t.Error(b.desk.state("rev_1"))
	}
}

func respond(b *tab) {
	b.put("rev_1", mail, nil)
	b.enter("/reviews/rev_1")
	b.key("r")
	b.until(`document.activeElement.id === 'answer'`)
	b.key("Use the draft folder")
	b.click("#send-answer")
	b.seeText(".notice", "Your answer goes to the agent")
	if b.desk.state("rev_1") != queue.Responded {
		b.t.Error(b.desk.state("rev_1"))
	}
}

func editWithVerdict(b *tab) {
	b.put("rev_1", `{"to":"bob@example.com","amount":12345678901234567890.10}`, nil)
	b.enter("/reviews/rev_1")
	b.until(ready)
	b.key("e")
	b.until(`document.querySelector('#verdict')?.dataset.behavior === 'ask'`)
	if got := eval[string](b, `document.querySelector('#editor').value`); !strings.Contains(got, `"amount": 12345678901234567890.10`) {
		b.t.Errorf("the number lost digits: %s", got)
	}
	b.edit(`{"to": "x@evil.test"`)
	b.seeText("#verdict", "Not valid JSON")
	b.edit(`{"to": "x@evil.test"}`)
	b.seeText("#verdict", "Policy would deny")
	if !eval[bool](b, `document.querySelector('#send-edit').disabled`) {
		b.t.Error("a denied edit can be sent")
	}
	b.edit("{\n  \"to\": \"carol@example.com\",\n  \"amount\": 12345678901234567890.10\n}")
	b.seeText("#verdict", "your ruling decides")
	b.seeText("#diff", "carol@example.com")
	b.click("#send-edit")
	b.seeText("#send-edit", "exactly this")
	b.click("#send-edit")
	if b.desk.ruled() != 0 {
		b.t.Fatal("a double click approved an edit")
	}
	b.until(fmt.Sprintf("performance.now() > %f", eval[float64](b, `performance.now()`)+420))
	b.click("#send-edit")
	b.seeText(".notice", "You approved")
	b.seeText("#approved", "carol@example.com")
	b.desk.change("rev_1", func(it *queue.Item) {
		if !strings.Contains(string(it.EditedInput), "12345678901234567890.10") {
			b.t.Errorf("the number lost digits on the way: %s", it.EditedInput)
		}
	})
}

func revealSecret(b *tab) {
	b.put("rev_1", `{"token":"Bearer ghp_abcdef"}`, nil)
	b.enter("/reviews/rev_1")
	b.seeText("#args", "secret, 10 bytes")
	if strings.Contains(eval[string](b, `document.documentElement.outerHTML`), "ghp_") {
		b.t.Fatal("the secret is on the page")
	}
	b.click(".reveal button")
	b.seeText("#args", "ghp_abcdef")
}

func loserSeesWinner(b *tab) {
	b.put("rev_1", mail, nil)
	b.enter("/reviews/rev_1")
	b.key("d")
	b.click("input[value=other]")
	b.desk.mu.Lock() // decided without telling the page
	b.desk.items[0].State, b.desk.items[0].Rulings = queue.Approved, []queue.Ruling{{Kind: queue.Approve, Person: "Sam", At: b.now()}}
	b.desk.mu.Unlock()
	b.click("#send-deny")
	b.seeText(".notice", "Sam: approve")
}

func newItemsPill(b *tab) {
	b.put("rev_1", mail, nil)
	b.enter("/")
	b.until(`document.querySelectorAll('.row').length === 1 && document.querySelector('.link.live')`)
	for i := range 3 {
		b.put(fmt.Sprintf("rev_new%d", i), mail, nil)
	}
	b.seeText("#new", "3 new")
	if n := eval[int](b, `document.querySelectorAll('.row').length`); n != 1 {
		b.t.Errorf("%d rows: the list moved by itself", n)
	}
	b.click("#new")
	b.until(`document.querySelectorAll('.row').length === 4 && !document.querySelector('#new')`)
	b.key("j")
	b.until(`location.pathname === '/reviews/rev_1'`)
	b.key("j")
	b.until(`location.pathname === '/reviews/rev_new0' && document.querySelector('.row[aria-current]')?.dataset.id === 'rev_new0'`)
	b.key("?")
	b.until(`document.querySelector('dialog.keys[open]')`)
}

func hostileText(b *tab) {
	for i, s := range hostileStrings() {
		b.put(fmt.Sprintf("rev_%d", i), `{`+quoted(s)+`:`+quoted(s)+`}`, func(it *queue.Item) {
			it.Summary, it.Agent, it.Justification, it.Session, it.Badges = s, s, s, s, []string{s}
			it.Reasons[0].Reason, it.Reasons[0].ID = s, s
		})
	}
	b.enter("/")
	for i, s := range hostileStrings() {
		b.click(fmt.Sprintf("[data-id=rev_%d]", i))
		b.until(`document.querySelector('#item h1')?.innerText === ` + quoted(s) + ` && location.pathname === '/reviews/rev_` + fmt.Sprint(i) + `'`)
		eval[any](b, `document.querySelector('details').open = true`)
		if strange := eval[int](b, `document.querySelectorAll('#item a, #item img, #item iframe, #item script, #item svg:not(.icon), #item object, #item form').length`); strange != 0 {
			b.t.Errorf("%q made %d elements", s, strange)
		}
	}
	if eval[bool](b, `'pwned' in window`) {
		b.t.Error("a script of others ran")
	}
}

func hostileStrings() []string {
	return []string{
		`<script>window.pwned=1</script>`, `<img src=x onerror=window.pwned=1>`, `"><svg onload=window.pwned=1>`, `javascript:window.pwned=1`,
		`<a href="https://evil.test">click</a>`, `https://evil.test/beacon.png`, `![x](https://evil.test/x.png)`, `{{constructor.constructor('window.pwned=1')()}}`,
		`<iframe src="https://evil.test"></iframe>`, `<style>@import url(https://evil.test/x.css)</style>`, `<link rel=prefetch href=https://evil.test/>`,
	}
}

func accessible(b *tab) {
	source, err := os.ReadFile("ui/node_modules/axe-core/axe.min.js")
	if err != nil {
		b.t.Fatalf("axe-core is missing: run `make setup` first, it installs the console's npm packages (%v)", err)
	}
	showcase(b.t, b.bench)
	b.do(call(page.SetBypassCSP, page.SetBypassCSPParams{Enabled: true})) // axe writes styles of its own; the console's policy has its own test
	b.enter("/reviews/rev_mail")
	for _, scheme := range []string{"light", "dark"} {
		for _, language := range []string{"en", "zh"} {
			b.do(call(emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: scheme}, {Name: "prefers-reduced-motion", Value: "reduce"}}}))
			eval[any](b, `localStorage.setItem('language', '`+language+`')`)
			b.do(chromedp.Navigate(b.server.URL + "/reviews/rev_mail"))
			b.scrollThrough()
			eval[any](b, string(source)+";0")
			b.axe(scheme, language, "item")
			b.key("a")
			b.until(`document.querySelector('#confirm')`)
			b.axe(scheme, language, "armed")
			b.key("\x1b")
			b.key("d")
			b.until(`document.querySelector('#send-deny')`)
			b.axe(scheme, language, "deny")
			b.do(chromedp.Navigate(b.server.URL + "/reviews/rev_doc"))
			b.until(ready)
			eval[any](b, string(source)+";0")
			b.key("e")
			b.until(`document.querySelector('#verdict')?.dataset.behavior`)
			b.until(`document.querySelector('#why')`)
			b.axe(scheme, language, "edit")
			b.do(chromedp.Navigate(b.server.URL + "/reviews/rev_done"))
			b.until(`document.querySelector('#approved')`)
			eval[any](b, string(source)+";0")
			b.axe(scheme, language, "approved")
		}
	}
	b.do(chromedp.Navigate(b.console.LoginURL(b.server.URL)))
	b.until(`document.querySelector('#sign-in')`)
	eval[any](b, string(source)+";0")
	b.axe("dark", "zh", "login")
}

// axe fails with every rule of axe-core that the page breaks.
func (b *tab) axe(where ...string) {
	b.t.Helper()
	found, err := chromedp.Run(b.ctx, chromedp.Evaluate[[]string](`axe.run().then(r => r.violations.map(v => v.id + ': ' + v.nodes.map(n => n.html.slice(0, 120) + ' ' + (n.any[0]?.message ?? '')).slice(0, 3).join(' | ')))`, chromedp.EvalAwaitPromise))
	if err != nil {
		b.t.Fatal(err)
	}
	for _, v := range found {
		b.t.Errorf("%v: %s", where, v)
	}
}

func emptyQueue(b *tab) {
	b.enter("/")
	b.seeText("#empty", "Nothing waits for you")
	b.click("#language")
	b.seeText("#empty", "没有待处理的事项")
	if lang := eval[string](b, `document.documentElement.lang`); lang != "zh-Hans" {
		b.t.Error(lang)
	}
	b.seeText(".health", "一切正常")
	b.click(".health")
	b.seeText("#health", "fsync 2 ms")
	b.put("rev_1", mail, nil)
	b.until(`document.querySelectorAll('.row').length === 1`)
}

func viewerLooks(b *tab) {
	b.put("rev_1", mail, nil)
	b.do(call(network.SetExtraHTTPHeaders, network.SetExtraHTTPHeadersParams{Headers: network.Headers{"Authorization": "Bearer viewer-token"}}))
	b.do(chromedp.Navigate(b.server.URL + "/reviews/rev_1"))
	b.seeText(".bar", "You may look but not rule")
	for _, key := range []string{"a", "\r", "d", "e", "r"} {
		b.key(key)
	}
	if n := eval[int](b, `document.querySelectorAll('#approve, #deny, #send-deny, #editor').length`); n != 0 {
		b.t.Errorf("%d ways to rule", n)
	}
}
