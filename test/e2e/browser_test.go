package e2e

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"
)

// browser is a tab of a real Chromium.
type browser struct {
	t     *testing.T
	ctx   context.Context // ends a wait that takes too long
	alive context.Context // to see what the page shows after that
}

func openBrowser(t *testing.T) *browser {
	t.Helper()
	path, err := exec.LookPath("chromium")
	if err != nil {
		t.Fatal("chromium is not on the PATH: run `make setup` first")
	}
	alloc, stop := chromedp.NewExecAllocator(t.Context(), chromedp.ExecPath(path), chromedp.NoSandbox, chromedp.Headless, chromedp.NoFirstRun,
		chromedp.Flag("disable-background-networking", true), chromedp.Flag("lang", "en-GB"), chromedp.WindowSize(1360, 900))
	t.Cleanup(stop)
	tab, stopTab := chromedp.NewContext(alloc)
	t.Cleanup(stopTab)
	if err := chromedp.Do(tab, chromedp.EmulateViewport(1360, 900)); err != nil { // the first run opens the tab; it must not have a deadline
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(tab, time.Minute)
	t.Cleanup(cancel)
	// A headless tab is not focused otherwise, and approving needs a page that somebody looks at.
	if _, err := chromedp.Call(ctx, emulation.SetFocusEmulationEnabled, emulation.SetFocusEmulationEnabledParams{Enabled: true}); err != nil {
		t.Fatal(err)
	}
	return &browser{t, ctx, tab}
}

func (b *browser) visit(url string) {
	b.t.Helper()
	if err := chromedp.Do(b.ctx, chromedp.Navigate(url)); err != nil {
		b.t.Fatal(err)
	}
}

// until waits for a condition of the page.
func (b *browser) until(condition string) {
	b.t.Helper()
	script := `new Promise(r => { const look = () => (` + condition + `) ? r(true) : setTimeout(look, 15); look(); })`
	if _, err := chromedp.Run(b.ctx, chromedp.Evaluate[bool](script, chromedp.EvalAwaitPromise)); err != nil {
		b.t.Fatalf("never came true: %s (%v)\npicture: %s", condition, err, b.picture())
	}
}

// picture leaves a screenshot for whoever looks into a failure.
func (b *browser) picture() string {
	png, err := chromedp.Run(b.alive, chromedp.CaptureScreenshot())
	if err != nil {
		return err.Error()
	}
	name := filepath.Join(os.TempDir(), "ostiary-e2e.png")
	if err := os.WriteFile(name, png, 0o600); err != nil {
		return err.Error()
	}
	return name
}

// click waits for an element that is there and enabled, and clicks it.
func (b *browser) click(selector string) {
	b.t.Helper()
	b.until(fmt.Sprintf(`(e => e && !e.disabled && e.getAttribute('aria-disabled') !== 'true')(document.querySelector(%q))`, selector))
	if err := chromedp.Do(b.ctx, chromedp.Click(chromedp.CSS(selector))); err != nil {
		b.t.Fatalf("click %s: %v", selector, err)
	}
}

// approve logs in by the printed link, opens the one item of the tool and approves it in two steps, as a person does.
func (b *browser) approve(loginURL, toolName string) {
	b.t.Helper()
	b.visit(loginURL)
	b.click("#sign-in")
	b.until(fmt.Sprintf(`document.querySelector('.rows')?.innerText.includes(%q)`, toolName))
	b.click(".rows a")
	b.until(fmt.Sprintf(`document.querySelector('#item')?.innerText.includes(%q)`, toolName))
	b.click("#approve")
	// A dangerous call wants the end of the action digest typed.
	b.until(`document.querySelector('.last4 input') === document.activeElement`)
	digits, err := chromedp.Run(b.ctx, chromedp.Evaluate[string](`document.querySelector('.last4').innerText.match(/[0-9a-f]{4}/)[0]`))
	if err != nil {
		b.t.Fatal(err)
	}
	if err := chromedp.Do(b.ctx, chromedp.KeyEvent(digits)); err != nil {
		b.t.Fatal(err)
	}
	// The page takes no confirmation within a blink of arming.
	b.until(`(window.armed ??= performance.now(), performance.now() > window.armed + 450)`)
	b.click("#confirm")
	b.until(`document.querySelector('.notice')?.innerText.includes('approved')`)
}
