package web_test

import (
	"fmt"
	"strings"

	"github.com/chromedp/cdproto/input"

	"ostiary/queue"
)

// edit puts a text into the editor as typing it would.
func (b *tab) edit(text string) {
	b.t.Helper()
	b.until(`document.querySelector('#editor')`)
	eval[any](b, `(e => { e.value = `+quoted(text)+`; e.dispatchEvent(new Event('input', {bubbles: true})); })(document.querySelector('#editor'))`)
}

// startEdit opens the editor on an item and waits for policy's first word.
func (b *tab) startEdit(id string) {
	b.t.Helper()
	b.enter("/reviews/" + id)
	b.until(ready)
	b.key("e")
	b.until(`document.querySelector('#verdict')?.dataset.behavior`)
}

// think waits until a second step counts as one.
func (b *tab) think() {
	b.t.Helper()
	b.until(fmt.Sprintf("performance.now() > %f", eval[float64](b, `performance.now()`)+420))
}

const sendable = `document.querySelector('#send-edit:not(:disabled)')`

func editWithReason(b *tab) {
	b.put("rev_1", mail, func(it *queue.Item) { it.Obligations = []string{"reason"} })
	b.startEdit("rev_1")
	b.edit(`{"to":"carol@example.com"}`)
	b.until(sendable)
	eval[any](b, `document.querySelector('#send-edit').click()`)
	b.until(`document.activeElement.id === 'why'`)
	if eval[string](b, `document.querySelector('#send-edit').getAttribute('aria-disabled')`) != "true" {
		b.t.Error("the button says that it can be used")
	}
	b.key("   ")
	eval[any](b, `document.querySelector('#send-edit').click()`)
	b.think()
	eval[any](b, `document.querySelector('#send-edit').click()`)
	if b.desk.ruled() != 0 {
		b.t.Fatal("spaces are a reason")
	}
	b.key("Carol took over\r")
	b.seeText("#send-edit", "exactly this")
	b.think()
	b.key("\r")
	b.seeText(".notice", "You approved")
	if got := b.desk.last("rev_1"); got.Reason != "Carol took over" || got.Kind != queue.Edit {
		b.t.Errorf("%s, because %q", got.Kind, got.Reason)
	}
}

func editIntoReason(b *tab) {
	b.put("rev_1", mail, nil)
	b.startEdit("rev_1")
	if eval[bool](b, `!!document.querySelector('#why')`) {
		b.t.Error("a reason is asked for that nobody wants")
	}
	b.edit(`{"to":"` + needsReason + `"}`)
	b.until(sendable + ` && document.querySelector('#why')`)
	b.click("#why")
	b.key("she asked for it")
	b.click("#send-edit")
	b.think()
	b.click("#send-edit")
	b.seeText(".notice", "You approved")
	if got := b.desk.last("rev_1").Reason; got != "she asked for it" {
		b.t.Errorf("the reason arrived as %q", got)
	}
}

// heldKey holds Enter down: the keyboard repeats it until long after the moment that a second step takes.
func heldKey(b *tab) {
	b.put("rev_1", mail, nil)
	b.startEdit("rev_1")
	b.edit(`{"to":"carol@example.com"}`)
	b.until(sendable)
	eval[any](b, `document.querySelector('#send-edit').focus()`)
	press := input.DispatchKeyEventParams{Type: input.DispatchKeyEventTypeKeyDown, Key: "Enter", Code: "Enter", Text: "\r", WindowsVirtualKeyCode: 13}
	b.do(call(input.DispatchKeyEvent, press))
	b.seeText("#send-edit", "exactly this")
	b.think()
	repeated, held := press, true
	repeated.AutoRepeat = &held
	for range 20 {
		b.do(call(input.DispatchKeyEvent, repeated))
	}
	if b.desk.ruled() != 0 {
		b.t.Fatal("a held key approved an edit")
	}
	press.Type, press.Text = input.DispatchKeyEventTypeKeyUp, ""
	b.do(call(input.DispatchKeyEvent, press))
	b.key("\r")
	b.seeText(".notice", "You approved")
}

func strayKey(b *tab) {
	b.put("rev_1", mail, nil)
	b.put("rev_2", mail, nil)
	b.startEdit("rev_1")
	b.edit(`{"to":"carol@example.com"}`)
	b.key("\x1bjk")
	if at := eval[string](b, `location.pathname + ' ' + document.querySelector('#editor')?.value`); at != `/reviews/rev_1 {"to":"carol@example.com"}` {
		b.t.Fatalf("the edit is gone: %s", at)
	}
	b.key("\x1b")
	b.until(`!document.querySelector('#editor') && document.querySelector('#approve')`)
}

func approvedEdit(b *tab) {
	b.put("rev_1", mail, nil)
	b.startEdit("rev_1")
	b.edit(`{"to":"carol@example.com","key":"Bearer ghp_ofTheEdit"}`)
	b.click("#send-edit")
	b.think()
	b.click("#send-edit")
	b.seeText("#approved", "secret, 13 bytes")
	b.seeText(".item-head", "A reviewer changed the arguments")
	b.seeText("#args-title", "as they were asked")
	// The bar withdraws what may run, so that is what it names.
	b.seeText(".bar", "carol@example.com")
	b.seeText(".bar", "1111…ed17")
	if strings.Contains(eval[string](b, `document.documentElement.outerHTML`), "ghp_") {
		b.t.Fatal("the secret is on the page")
	}
	b.click("#approved .reveal button")
	b.seeText("#approved", "Bearer ghp_ofTheEdit")
	if got := b.desk.revealed(); len(got) != 1 || got[0] != "rev_1 approved_input/key" {
		b.t.Errorf("recorded: %q", got)
	}
}
