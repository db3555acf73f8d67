package web_test

import (
	"errors"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-json-experiment/json"

	"ostiary"
	"ostiary/queue"
	"ostiary/queue/view"
)

func TestListFiltersAreExact(t *testing.T) {
	b := open(t)
	b.desk.add(makeItem(t, "rev_1", mail, b.now(), nil))
	b.desk.add(makeItem(t, "rev_2", mail, b.now(), func(it *queue.Item) { it.State = queue.Denied }))
	b.desk.add(makeItem(t, "rev_3", mail, b.now(), func(it *queue.Item) { it.Tenant = "globex" }))
	res, body := b.call(t, "GET", "/api/reviews?state=open&risk=medium&q=bob&sort=urgency&limit=10", "", bearer("viewer")...)
	want(t, res, body, 200, "")
	var page struct {
		Items      []struct{ ID string }
		NextCursor *string `json:"next_cursor"`
		Total      int
	}
	if err := json.Unmarshal([]byte(body), &page, json.MatchCaseInsensitiveNames(true)); err != nil || len(page.Items) != 1 || page.Items[0].ID != "rev_1" || page.Total != 1 || page.NextCursor == nil {
		t.Errorf("%v: %s", err, body)
	}
	if strings.Contains(body, `"arguments"`) {
		t.Error("a list carries no arguments")
	}
	for _, q := range []string{"state=closed", "risk=extreme", "limit=0", "limit=1000", "colour=red", "state=open&state=denied", "sort=-id"} {
		res, body := b.call(t, "GET", "/api/reviews?"+q, "", bearer("viewer")...)
		want(t, res, body, 400, ostiary.KindInvalidField)
	}
	res, body = b.call(t, "GET", "/api/reviews/rev_3", "", bearer("reviewer")...)
	want(t, res, body, 404, ostiary.KindNotFound)
}

func TestItemShowsExactValues(t *testing.T) {
	b := open(t)
	b.desk.add(makeItem(t, "rev_1", `{"n":9007199254740993,"s":"a\u202eb","e":{}}`, b.now(), nil))
	res, body := b.call(t, "GET", "/api/reviews/rev_1", "", bearer("viewer")...)
	want(t, res, body, 200, "")
	var it struct {
		Arguments []view.Argument
		Raw       []byte
		Version   int
		State     string
	}
	if err := json.Unmarshal([]byte(body), &it, json.MatchCaseInsensitiveNames(true)); err != nil {
		t.Fatal(err)
	}
	if string(it.Raw) != `{"n":9007199254740993,"s":"a\u202eb","e":{}}` || it.Arguments[0].Runs[0].Text != "9007199254740993" ||
		it.Arguments[1].Runs[1].Code != "U+202E" || it.Arguments[2].Type != "object" || it.State != "open" {
		t.Error(body)
	}
}

func TestBearerVouchesByEchoingTheView(t *testing.T) {
	b := open(t)
	it := makeItem(t, "rev_1", mail, b.now(), nil)
	b.desk.add(it)
	blind := it
	blind.ViewDigest = ""
	res, body := b.call(t, "POST", "/api/reviews/rev_1/rulings", ruling(blind, `"kind":"approve"`), bearer("reviewer")...)
	want(t, res, body, 428, ostiary.KindViewIncomplete)
	res, body = b.call(t, "POST", "/api/reviews/rev_1/rulings", ruling(it, `"kind":"approve"`), bearer("reviewer")...)
	if want(t, res, body, 200, ""); !strings.Contains(body, `"state":"approved"`) || !strings.Contains(body, `"person":"Rita"`) {
		t.Error(body)
	}
	res, body = b.call(t, "POST", "/api/reviews/rev_1/revoke", "{}", bearer("reviewer")...)
	if want(t, res, body, 200, ""); !strings.Contains(body, `"state":"revoked"`) {
		t.Error(body)
	}
}

func TestBrowserApprovesOnlyWhatItHasShown(t *testing.T) {
	b := open(t)
	it := makeItem(t, "rev_1", mail, b.now(), nil)
	b.desk.add(it)
	cookie, other := b.signIn(t), b.signIn(t)
	approve := func(cookie string) (*http.Response, string) {
		return b.call(t, "POST", "/api/reviews/rev_1/rulings", ruling(it, `"kind":"approve"`), "Cookie", cookie)
	}
	report := func(cookie, pointers string) (*http.Response, string) {
		return b.call(t, "POST", "/api/reviews/rev_1/views", `{"version":1,"view_digest":"`+it.ViewDigest+`","pointers":`+pointers+`}`, "Cookie", cookie)
	}
	res, body := approve(cookie)
	want(t, res, body, 428, ostiary.KindViewIncomplete)
	if res, body = report(cookie, `["/to"]`); !strings.Contains(body, `"complete":false,"missing":["/body"]`) {
		t.Fatal(res.StatusCode, body)
	}
	res, body = approve(cookie)
	if want(t, res, body, 428, ostiary.KindViewIncomplete); !strings.Contains(body, `"missing":["/body"]`) {
		t.Error(body)
	}
	if _, body = report(cookie, `["/body"]`); !strings.Contains(body, `"complete":true`) {
		t.Fatal(body)
	}
	res, body = approve(other)
	want(t, res, body, 428, ostiary.KindViewIncomplete)

	b.desk.change("rev_1", func(i *queue.Item) { i.Version = 2 })
	res, body = approve(cookie)
	want(t, res, body, 409, ostiary.KindStaleVersion)
	res, body = report(cookie, `["/to","/body"]`)
	want(t, res, body, 409, ostiary.KindStaleVersion)
	it.Version = 2
	res, body = approve(cookie)
	want(t, res, body, 428, ostiary.KindViewIncomplete)
	b.call(t, "POST", "/api/reviews/rev_1/views", `{"version":2,"view_digest":"`+it.ViewDigest+`","pointers":["/to","/body"]}`, "Cookie", cookie)
	res, body = approve(cookie)
	want(t, res, body, 200, "")
}

func TestSecondRulingLearnsWhoWon(t *testing.T) {
	b := open(t)
	it := makeItem(t, "rev_1", mail, b.now(), nil)
	b.desk.add(it)
	res, body := b.call(t, "POST", "/api/reviews/rev_1/rulings", ruling(it, `"kind":"deny","reason_code":"unexpected"`), bearer("reviewer")...)
	want(t, res, body, 200, "")
	res, body = b.call(t, "POST", "/api/reviews/rev_1/rulings", ruling(it, `"kind":"approve"`), bearer("reviewer")...)
	if want(t, res, body, 409, ostiary.KindAlreadyDecided); !strings.Contains(body, `"winner":{"kind":"deny","person":"Rita"`) || !strings.Contains(body, `"state":"denied"`) {
		t.Error(body)
	}
}

func TestDeskKindsBecomeTheirStatuses(t *testing.T) {
	for kind, status := range map[ostiary.Kind]int{
		ostiary.KindSelfApproval: 403, ostiary.KindRole: 403, ostiary.KindSamePerson: 403, ostiary.KindAlreadyDecided: 409, ostiary.KindStaleVersion: 409,
		ostiary.KindReviewExpired: 410, ostiary.KindEditDenied: 422, ostiary.KindLeased: 423, ostiary.KindViewIncomplete: 428, ostiary.KindReasonRequired: 428,
		ostiary.KindNotDurable: 503, ostiary.KindAuditUnavailable: 503, ostiary.KindPolicyTimeout: 503, ostiary.KindNotFound: 404, ostiary.KindConflict: 409, ostiary.KindShuttingDown: 503,
	} {
		b := open(t)
		b.desk.fail = ostiary.Wrap(kind, errors.New("cause with a secret"), "said")
		res, body := b.call(t, "GET", "/api/reviews/rev_1", "", bearer("reviewer")...)
		want(t, res, body, status, kind)
		if strings.Contains(body, "cause with a secret") {
			t.Error("the cause was sent")
		}
	}
	b := open(t)
	b.desk.fail = errors.New("open /var/lib/secret: no such file")
	res, body := b.call(t, "GET", "/api/reviews", "", bearer("reviewer")...)
	if want(t, res, body, 500, ostiary.KindInternal); strings.Contains(body, "/var/lib") {
		t.Error("the cause was sent")
	}
}

func TestMaskedSecretsNeedARecordedReveal(t *testing.T) {
	b := open(t)
	b.desk.add(makeItem(t, "rev_1", `{"header":"Bearer ghp_abc","note":"x"}`, b.now(), nil))
	get := func(role string) string {
		_, body := b.call(t, "GET", "/api/reviews/rev_1", "", bearer(role)...)
		return body
	}
	if body := get("reviewer"); strings.Contains(body, "ghp_abc") || strings.Contains(body, `"raw"`) || !strings.Contains(body, `"kind":"secret"`) {
		t.Fatal(body)
	}
	for _, wrong := range []string{`{"pointer":"/note"}`, `{"pointer":"/nowhere"}`, `{}`} {
		res, body := b.call(t, "POST", "/api/reviews/rev_1/reveal", wrong, bearer("reviewer")...)
		want(t, res, body, 400, ostiary.KindInvalidField)
	}
	b.desk.fail = ostiary.Errorf(ostiary.KindAuditUnavailable, "no record, no sight")
	res, body := b.call(t, "POST", "/api/reviews/rev_1/reveal", `{"pointer":"/header"}`, bearer("reviewer")...)
	want(t, res, body, 503, ostiary.KindAuditUnavailable)
	b.desk.fail = nil
	if strings.Contains(get("reviewer"), "ghp_abc") {
		t.Fatal("shown without a record")
	}
	res, body = b.call(t, "POST", "/api/reviews/rev_1/reveal", `{"pointer":"/header"}`, bearer("reviewer")...)
	if want(t, res, body, 200, ""); !strings.Contains(body, "ghp_abc") || !slices.Equal(b.desk.revealed(), []string{"rev_1 /header"}) {
		t.Fatal(body, b.desk.reveals)
	}
	if body := get("reviewer"); !strings.Contains(body, "ghp_abc") || !strings.Contains(body, `"raw"`) {
		t.Error("not shown after the reveal")
	}
	if strings.Contains(get("owner"), "ghp_abc") {
		t.Error("shown to somebody who did not ask")
	}
	b.advance(time.Minute)
	if strings.Contains(get("reviewer"), "ghp_abc") {
		t.Error("still shown after a minute")
	}
}

func TestAMaskedEditNeedsARevealOfItsOwn(t *testing.T) {
	b := open(t)
	it := makeItem(t, "rev_1", `{"key":"ghp_asked","to":"x"}`, b.now(), nil)
	b.desk.add(it)
	res, body := b.call(t, "POST", "/api/reviews/rev_1/rulings", ruling(it, `"kind":"edit","edited_input":{"key":"ghp_edited","n":9007199254740993}`), bearer("reviewer")...)
	if want(t, res, body, 200, ""); strings.Contains(body, "ghp_") || strings.Contains(body, `"approved_input"`) || !strings.Contains(body, `"approved_view":[{"pointer":"/key"`) {
		t.Fatal(body)
	}
	reveal := func(body string) (*http.Response, string) {
		return b.call(t, "POST", "/api/reviews/rev_1/reveal", body, bearer("reviewer")...)
	}
	for _, wrong := range []string{`{"pointer":"/n","of":"approved_input"}`, `{"pointer":"/to","of":"approved_input"}`, `{"pointer":"/key","of":"raw"}`, `{"of":"approved_input"}`} {
		res, body = reveal(wrong)
		want(t, res, body, 400, ostiary.KindInvalidField)
	}
	res, body = reveal(`{"pointer":"/key"}`)
	if want(t, res, body, 200, ""); !strings.Contains(body, "ghp_asked") || strings.Contains(body, "ghp_edited") || strings.Contains(body, `"approved_input"`) {
		t.Errorf("the reveal of what was asked shows the edit too: %s", body)
	}
	b.advance(time.Minute)
	res, body = reveal(`{"pointer":"/key","of":"approved_input"}`)
	if want(t, res, body, 200, ""); strings.Contains(body, "ghp_asked") || !strings.Contains(body, `"approved_input":{"key":"ghp_edited","n":9007199254740993}`) {
		t.Errorf("the reveal of the edit: %s", body)
	}
	if got := b.desk.revealed(); !slices.Equal(got, []string{"rev_1 /key", "rev_1 approved_input/key"}) {
		t.Errorf("recorded: %q", got)
	}
	if _, body = b.call(t, "GET", "/api/reviews/rev_1", "", bearer("owner")...); strings.Contains(body, "ghp_") {
		t.Error("shown to somebody who did not ask")
	}
	b.advance(time.Minute)
	if _, body = b.call(t, "GET", "/api/reviews/rev_1", "", bearer("reviewer")...); strings.Contains(body, "ghp_") {
		t.Error("still shown after a minute")
	}
}

func TestWhatWasNotRenderedIsNotSent(t *testing.T) {
	b := open(t)
	b.desk.add(makeItem(t, "rev_1", `{"key":"ghp_asked"}`, b.now(), nil))
	b.desk.change("rev_1", func(it *queue.Item) {
		it.State, it.View, it.EditedInput, it.EditedView = queue.Approved, nil, []byte(`{"key":"ghp_edited"}`), nil
	})
	res, body := b.call(t, "GET", "/api/reviews/rev_1", "", bearer("reviewer")...)
	if want(t, res, body, 200, ""); strings.Contains(body, "ghp_") || strings.Contains(body, `"raw"`) {
		t.Error(body)
	}
}

func TestLettingRunNeedsTheReasonThatPolicyWants(t *testing.T) {
	b := open(t)
	it := makeItem(t, "rev_1", mail, b.now(), func(it *queue.Item) { it.Obligations = []string{"reason"} })
	b.desk.add(it)
	for _, kind := range []string{`"kind":"approve"`, `"kind":"edit","edited_input":{"to":"carol@example.com"}`, `"kind":"edit","reason":" ","edited_input":{"to":"carol@example.com"}`} {
		res, body := b.call(t, "POST", "/api/reviews/rev_1/rulings", ruling(it, kind), bearer("reviewer")...)
		if want(t, res, body, 428, ostiary.KindReasonRequired); !strings.Contains(body, "wants a reason") {
			t.Error(body)
		}
	}
	_, body := b.call(t, "POST", "/api/reviews/rev_1/try", `{"edited_input":{"to":"`+needsReason+`"}}`, bearer("reviewer")...)
	if !strings.Contains(body, `"obligations":["reason"],"uninspectable":false`) {
		t.Error(body)
	}
	res, body := b.call(t, "POST", "/api/reviews/rev_1/rulings", ruling(it, `"kind":"edit","reason":"by phone","edited_input":{"to":"carol@example.com"}`), bearer("reviewer")...)
	want(t, res, body, 200, "")
}

func TestTryTellsWhatPolicyWouldSayWithoutEffect(t *testing.T) {
	b := open(t)
	b.desk.add(makeItem(t, "rev_1", mail, b.now(), nil))
	for body, wantIn := range map[string]string{`{"edited_input":{"to":"x@evil.test"}}`: `"behavior":"deny"`, `{"edited_input":{"n":9007199254740993}}`: `"behavior":"ask"`} {
		res, got := b.call(t, "POST", "/api/reviews/rev_1/try", body, bearer("reviewer")...)
		if want(t, res, got, 200, ""); !strings.Contains(got, wantIn) {
			t.Error(got)
		}
	}
	res, body := b.call(t, "POST", "/api/reviews/rev_1/try", `{"edited_input":[]}`, bearer("reviewer")...)
	want(t, res, body, 400, ostiary.KindInvalidField)
	if b.desk.state("rev_1") != queue.Open {
		t.Error("trying changed the item")
	}
}

func TestLogHoldsNoSecretsAndOneRecordPerRequest(t *testing.T) {
	b := open(t)
	code := b.console.NewLoginCode()
	b.call(t, "GET", "/login?code="+code, "")
	b.call(t, "POST", "/login", `{"code":"`+code+`"}`)
	b.call(t, "GET", "/api/reviews?q=private-words", "", bearer("reviewer")...)
	b.server.Close()
	if n := strings.Count(b.log.String(), "\n"); n != 3 {
		t.Errorf("%d records for 3 requests:\n%s", n, b.log)
	}
	for _, secret := range []string{code, "reviewer-token", "private-words"} {
		if strings.Contains(b.log.String(), secret) {
			t.Errorf("the log holds %q", secret)
		}
	}
}
