package web_test

import (
	"context"
	"fmt"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"
	"unicode"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"

	"ostiary/queue"
)

// tab is one browser tab with a login of its own, on a console of its own.
type tab struct {
	*bench
	t     *testing.T
	ctx   context.Context // ends a promise that is not kept
	alive context.Context // to ask the page what it shows after that

	mu       sync.Mutex
	requests []string // addresses outside the console
	faults   []string // exceptions, dialogs, console errors
}

// TestBrowser runs the page in a real browser: one process, one isolated profile per promise.
func TestBrowser(t *testing.T) {
	path, err := exec.LookPath("chromium")
	if err != nil {
		t.Fatal("chromium is not on the PATH: run `make setup` first, it installs Debian's package")
	}
	alloc, cancel := chromedp.NewExecAllocator(t.Context(), chromedp.ExecPath(path), chromedp.NoSandbox, chromedp.Headless, chromedp.NoFirstRun,
		chromedp.Flag("hide-scrollbars", true), chromedp.Flag("disable-background-networking", true), chromedp.Flag("lang", "en-GB"), chromedp.WindowSize(1360, 860))
	t.Cleanup(cancel)
	browser, cancel := chromedp.NewContext(alloc)
	t.Cleanup(cancel)
	if err := chromedp.Do(browser); err != nil {
		t.Fatal(err)
	}
	for name, promise := range map[string]func(*tab){
		"LoginLinkWorksOnceAndLeavesTheAddressBar": loginOnce,
		"HiddenCharactersAreChips":                 hiddenCharacters,
		"ApprovalTakesAViewAMomentAndTwoSteps":     approveInTwoSteps,
		"ArgumentsOutOfSightBlockApproval":         unseenBlocks,
		"OnlyACallCanBeEdited":                     onlyCallsAreEdited,
		"HighTierAsksForTheDigest":                 highTierTypes,
		"PolicyCanWantAReasonForApproving":         approveWithReason,
		"BarNamesTheTargetNobodyVouchesFor":        barNamesTarget,
		"ThousandRandomKeysNeverApprove":           randomKeys,
		"ChangedItemStartsTheGateAgain":            changedItem,
		"DenialNeedsAReason":                       denyWithReason,
		"AnswerGoesToTheAgent":                     respond,
		"EditShowsPolicyAndDifference":             editWithVerdict,
		"EditOfACallThatWantsAReasonWantsOne":      editWithReason,
		"EditCanBecomeACallThatWantsAReason":       editIntoReason,
		"HeldKeyNeverConfirms":                     heldKey,
		"StrayKeyKeepsAnEdit":                      strayKey,
		"ApprovedEditIsShownMasked":                approvedEdit,
		"MaskedSecretShowsAfterReveal":             revealSecret,
		"LoserSeesWhoWon":                          loserSeesWinner,
		"NewItemsWaitInThePill":                    newItemsPill,
		"HostileTextNeverRuns":                     hostileText,
		"NobodyIsLockedOutByAxe":                   accessible,
		"EmptyQueueIsDesigned":                     emptyQueue,
		"ViewerSeesNoButtons":                      viewerLooks,
	} {
		t.Run(name, func(t *testing.T) { promise(newTab(t, browser)) })
	}
}

func newTab(t *testing.T, browser context.Context) *tab {
	b := &tab{bench: open(t), t: t}
	ctx, cancel := chromedp.NewContext(browser, chromedp.WithNewBrowserContext())
	t.Cleanup(cancel)
	if err := chromedp.Do(ctx, chromedp.EmulateViewport(1360, 860)); err != nil { // the first run opens the tab; it must not have a deadline
		t.Fatal(err)
	}
	alive := ctx
	ctx, cancel = context.WithTimeout(ctx, 20*time.Second)
	t.Cleanup(cancel)
	b.ctx, b.alive = ctx, alive
	if err := chromedp.Listen(ctx, b.heard); err != nil {
		t.Fatal(err)
	}
	b.do(call(network.Enable, network.EnableParams{}), call(runtime.Enable, cdp.Empty{}), call(page.Enable, page.EnableParams{}),
		call(emulation.SetFocusEmulationEnabled, emulation.SetFocusEmulationEnabledParams{Enabled: true}))
	t.Cleanup(func() {
		b.mu.Lock()
		defer b.mu.Unlock()
		if len(b.requests)+len(b.faults) > 0 {
			t.Errorf("requests elsewhere: %v\nfaults: %v", b.requests, b.faults)
		}
	})
	return b
}

// heard collects what must not happen on any page.
func (b *tab) heard(ev any) {
	b.mu.Lock()
	defer b.mu.Unlock()
	switch e := ev.(type) {
	case *network.EventRequestWillBeSent:
		if !strings.HasPrefix(e.Request.URL, b.server.URL+"/") {
			b.requests = append(b.requests, e.Request.URL)
		}
	case *runtime.EventExceptionThrown:
		b.faults = append(b.faults, fmt.Sprintf("%+v", *e.ExceptionDetails))
	case *page.EventJavascriptDialogOpening:
		b.faults = append(b.faults, "dialog: "+e.Message)
	}
}

func (b *tab) do(steps ...chromedp.Action[chromedp.Void]) {
	b.t.Helper()
	if err := chromedp.Do(b.ctx, steps...); err != nil {
		b.t.Fatalf("%v\npage: %.600s", err, b.text("body"))
	}
}

// text is the visible text of the first match, or "".
func (b *tab) text(selector string) string {
	return eval[string](b, `document.querySelector(`+quoted(selector)+`)?.innerText ?? ''`)
}

// until waits for a condition of the page; the tab's deadline ends it.
func (b *tab) until(condition string) {
	b.t.Helper()
	script := `new Promise(r => { const look = () => (` + condition + `) ? r(true) : setTimeout(look, 15); look(); })`
	if _, err := chromedp.Run(b.ctx, chromedp.Evaluate[bool](script, chromedp.EvalAwaitPromise)); err != nil {
		b.t.Fatalf("never came true: %s (%v)\nfaults: %v\npage: %s", condition, err, b.faults, b.lastWords())
	}
}

func (b *tab) seeText(selector, part string) {
	b.t.Helper()
	b.until(`document.querySelector(` + quoted(selector) + `)?.innerText.includes(` + quoted(part) + `)`)
}

// click waits for an element that is there and enabled, and clicks in its middle.
func (b *tab) click(selector string) {
	b.t.Helper()
	b.until(`(e => e && !e.disabled && e.getAttribute('aria-disabled') !== 'true')(document.querySelector(` + quoted(selector) + `))`)
	b.do(chromedp.Click(chromedp.CSS(selector)))
}

// key presses keys as a keyboard does: what a page prevents on the way down writes no character.
func (b *tab) key(keys string) {
	b.t.Helper()
	named := map[rune]string{'\r': "Enter", '\t': "Tab", '\x1b': "Escape", '\b': "Backspace"}
	for _, c := range keys {
		press := input.DispatchKeyEventParams{Type: input.DispatchKeyEventTypeKeyDown, Key: string(c), Text: string(c), WindowsVirtualKeyCode: int64(unicode.ToUpper(c))}
		if name := named[c]; name != "" {
			press.Key, press.Code, press.WindowsVirtualKeyCode = name, name, int64(c)
			if c != '\r' {
				press.Text = ""
			}
		}
		release := press
		release.Type, release.Text = input.DispatchKeyEventTypeKeyUp, ""
		b.do(call(input.DispatchKeyEvent, press), call(input.DispatchKeyEvent, release))
	}
}

// lastWords is what the page shows when a promise was not kept.
func (b *tab) lastWords() string {
	v, err := chromedp.Run(b.alive, chromedp.Evaluate[string](`document.body.innerText.slice(-900)`))
	if err != nil {
		return err.Error()
	}
	return v
}

func eval[T any](b *tab, script string) T {
	b.t.Helper()
	v, err := chromedp.Run(b.ctx, chromedp.Evaluate[T](script))
	if err != nil {
		b.t.Fatalf("%s: %v", script, err)
	}
	return v
}

func quoted(s string) string { return fmt.Sprintf("%q", s) }

// enter signs in and opens a path.
func (b *tab) enter(path string) {
	b.t.Helper()
	b.do(chromedp.Navigate(b.console.LoginURL(b.server.URL)))
	b.click("#sign-in")
	b.until(`document.querySelector('.console')`)
	if path != "/" {
		b.do(chromedp.Navigate(b.server.URL + path))
		b.until(`document.querySelector('#item h1')`)
	}
}

func (b *tab) put(id, args string, change func(*queue.Item)) queue.Item {
	b.t.Helper()
	it := makeItem(b.t, id, args, b.now(), change)
	b.desk.add(it)
	return it
}

// scrollThrough reads the item to its end.
func (b *tab) scrollThrough() {
	b.t.Helper()
	b.until(`(e => e && (e.scrollBy(0, 200), ` + ready + `))(document.querySelector('#item'))`)
}

const ready = `document.querySelector('#approve') && !document.querySelector('#approve').disabled`
