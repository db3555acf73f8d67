package web_test

import (
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/go-json-experiment/json"

	"ostiary"
	"ostiary/agent"
	"ostiary/enforce/wire"
	"ostiary/queue"
	"ostiary/web"
)

// call sends one request; headers are pairs. A body makes it JSON.
func (b *bench) call(t testing.TB, method, path, body string, headers ...string) (*http.Response, string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, b.server.URL+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	if body != "" {
		req.Header.Set("Content-Type", "application/json")
	}
	for i := 0; i < len(headers); i += 2 {
		if headers[i] == "Host" {
			req.Host = headers[i+1]
		}
		req.Header.Set(headers[i], headers[i+1])
	}
	res, err := http.DefaultTransport.RoundTrip(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	out, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return res, string(out)
}

func bearer(role string) []string { return []string{"Authorization", "Bearer " + role + "-token"} }

// want checks status and, for errors, kind and form.
func want(t testing.TB, res *http.Response, body string, status int, kind ostiary.Kind) {
	t.Helper()
	if res.StatusCode != status {
		t.Fatalf("status %d, want %d: %s", res.StatusCode, status, body)
	}
	if kind == "" {
		return
	}
	var p wire.Problem
	if err := json.Unmarshal([]byte(body), &p); err != nil {
		t.Fatalf("%v in %s", err, body)
	}
	if p.Kind != string(kind) || p.Status != status || p.Type != "urn:ostiary:problem:"+p.Kind || p.Title != http.StatusText(status) || p.Detail == "" ||
		p.Request == "" || p.Request != res.Header.Get("X-Request-ID") || res.Header.Get("Content-Type") != "application/problem+json" {
		t.Fatalf("got %+v (%s), want kind %s", p, res.Header.Get("Content-Type"), kind)
	}
}

// signIn returns the cookie header of a fresh login.
func (b *bench) signIn(t testing.TB) string {
	t.Helper()
	return b.redeem(t, b.console.NewLoginCode())
}

// redeem returns the cookie header that a code gives.
func (b *bench) redeem(t testing.TB, code string) string {
	t.Helper()
	res, body := b.call(t, "POST", "/login", `{"code":"`+code+`"}`)
	want(t, res, body, 200, "")
	return strings.SplitN(res.Header.Get("Set-Cookie"), ";", 2)[0]
}

const mail = `{"to":"bob@example.com","body":"Hello\u202e there"}`

func ruling(it queue.Item, more string) string {
	v, _ := json.Marshal(map[string]any{"version": it.Version, "action_digest": it.ActionDigest, "view_digest": it.ViewDigest}, json.Deterministic(true))
	return strings.TrimSuffix(string(v), "}") + "," + more + "}"
}

func TestNewReportsEveryProblemAtOnce(t *testing.T) {
	_, err := web.New(web.Config{LoginAs: agent.Identity{Subject: "a", Role: agent.RoleAgent}, SessionTTL: -1})
	for _, part := range []string{"Desk is required", "Authenticate is required", "Hosts is required", "Now is required", "Log is required", "LoginAs must", "SessionTTL is"} {
		if err == nil || !strings.Contains(err.Error(), part) {
			t.Errorf("%v does not say %q", err, part)
		}
	}
}

func TestEveryAPIRouteNeedsACredential(t *testing.T) {
	b := open(t)
	for _, route := range []string{"GET /api/reviews", "GET /api/reviews/x", "GET /api/reviews/x/timeline", "GET /api/me", "GET /api/health", "GET /api/events",
		"POST /api/reviews/x/views", "POST /api/reviews/x/rulings", "POST /api/reviews/x/reveal", "POST /api/reviews/x/revoke", "POST /api/reviews/x/try", "POST /api/login-codes", "POST /logout"} {
		method, path, _ := strings.Cut(route, " ")
		t.Run(route, func(t *testing.T) {
			for _, c := range map[string]struct {
				headers []string
				status  int
				kind    ostiary.Kind
			}{
				"none":        {nil, 401, ostiary.KindUnauthorized},
				"wrong token": {bearer("no-such"), 401, ostiary.KindUnauthorized},
				"not bearer":  {[]string{"Authorization", "Basic reviewer-token"}, 401, ostiary.KindUnauthorized},
				"old cookie":  {[]string{"Cookie", web.CookieName + "=nothing"}, 401, ostiary.KindUnauthorized},
				"agent":       {bearer("agent"), 403, ostiary.KindRole},
			} {
				body := ""
				if method == "POST" {
					body = "{}"
				}
				res, got := b.call(t, method, path, body, c.headers...)
				want(t, res, got, c.status, c.kind)
			}
		})
	}
}

func TestPagesNeedNoDataAndSayWhoMayEnter(t *testing.T) {
	b := open(t)
	for path, status := range map[string]int{"/": 401, "/reviews/rev_1": 401, "/login": 200, "/login?code=x": 200} {
		res, body := b.call(t, "GET", path, "")
		if res.StatusCode != status || !strings.Contains(body, "<title>Ostiary</title>") {
			t.Errorf("%s: %d %s", path, res.StatusCode, body)
		}
	}
	if res, _ := b.call(t, "GET", "/", "", "Cookie", b.signIn(t)); res.StatusCode != 200 {
		t.Errorf("signed in: %d", res.StatusCode)
	}
	res, body := b.call(t, "GET", "/", "", bearer("agent")...)
	want(t, res, body, 403, ostiary.KindRole)
	res, body = b.call(t, "GET", "/nowhere", "")
	want(t, res, body, 404, ostiary.KindNotFound)
}

func TestReadersMayLookButNotRule(t *testing.T) {
	b := open(t)
	it := makeItem(t, "rev_1", mail, b.now(), nil)
	b.desk.add(it)
	for _, role := range []string{"viewer", "author"} {
		res, body := b.call(t, "GET", "/api/reviews/rev_1", "", bearer(role)...)
		want(t, res, body, 200, "")
		for _, what := range []string{"rulings", "reveal", "revoke", "try"} {
			res, body := b.call(t, "POST", "/api/reviews/rev_1/"+what, ruling(it, `"kind":"deny","reason_code":"other"`), bearer(role)...)
			want(t, res, body, 403, ostiary.KindRole)
		}
	}
	if b.desk.ruled() != 0 {
		t.Error("somebody without the right ruled")
	}
}

func TestHeadersAreSpelledAsTheStandardsSpellThem(t *testing.T) {
	b := open(t)
	page, html := b.call(t, "GET", "/login", "")
	csp := "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'"
	for name, value := range map[string]string{
		"Content-Security-Policy": csp, "X-Content-Type-Options": "nosniff", "Referrer-Policy": "no-referrer", "Cross-Origin-Opener-Policy": "same-origin",
		"Cross-Origin-Resource-Policy": "same-origin", "X-Frame-Options": "DENY", "Cache-Control": "no-store", "Content-Type": "text/html; charset=utf-8",
	} {
		if got := page.Header.Get(name); got != value {
			t.Errorf("%s: %q, want %q", name, got, value)
		}
	}
	if strings.Contains(csp, "unsafe") || page.Header.Get("Access-Control-Allow-Origin") != "" {
		t.Error("the policy must not be loosened")
	}
	script := html[strings.Index(html, "/assets/app-"):]
	script = script[:strings.Index(script, `"`)]
	asset, _ := b.call(t, "GET", script, "")
	if asset.StatusCode != 200 || asset.Header.Get("Cache-Control") != "public, max-age=31536000, immutable" {
		t.Errorf("%s: %d %s", script, asset.StatusCode, asset.Header.Get("Cache-Control"))
	}
	res, _ := b.call(t, "GET", "/login", "", "X-Request-ID", "abc/1=")
	if res.Header.Get("X-Request-ID") != "abc/1=" {
		t.Error("the request id is not echoed")
	}
	if res, _ = b.call(t, "GET", "/login", "", "X-Request-ID", "a b"); !strings.HasPrefix(res.Header.Get("X-Request-ID"), "req_") {
		t.Error("a strange request id must be replaced")
	}
}

func TestLoginCookieIsStrict(t *testing.T) {
	b := open(t)
	res, body := b.call(t, "POST", "/login", `{"code":"`+b.console.NewLoginCode()+`"}`)
	want(t, res, body, 200, "")
	c := res.Cookies()[0]
	if c.Name != "__Host-ostiary" || !c.Secure || !c.HttpOnly || c.SameSite != http.SameSiteStrictMode || c.Path != "/" || c.Domain != "" {
		t.Errorf("cookie: %v", c)
	}
}

func TestLoginCodeWorksOnceAndForTenMinutes(t *testing.T) {
	b := open(t)
	code := strings.TrimPrefix(b.console.LoginURL("http://x"), "http://x/login?code=")
	for i, status := range []int{200, 401} {
		if res, body := b.call(t, "POST", "/login", `{"code":"`+code+`"}`); res.StatusCode != status {
			t.Errorf("use %d: %d %s", i+1, res.StatusCode, body)
		}
	}
	late := b.console.NewLoginCode()
	b.advance(10 * time.Minute)
	res, body := b.call(t, "POST", "/login", `{"code":"`+late+`"}`)
	want(t, res, body, 401, ostiary.KindUnauthorized)
}

func TestSixthFailedLoginOfAMinuteIsThrottled(t *testing.T) {
	b := open(t)
	for range 5 {
		res, body := b.call(t, "POST", "/login", `{"code":"guess"}`)
		want(t, res, body, 401, ostiary.KindUnauthorized)
	}
	good := b.console.NewLoginCode()
	res, body := b.call(t, "POST", "/login", `{"code":"`+good+`"}`)
	want(t, res, body, 429, ostiary.KindTooManyTries)
	if res.Header.Get("Retry-After") == "" {
		t.Error("429 without Retry-After")
	}
	b.advance(time.Minute)
	res, body = b.call(t, "POST", "/login", `{"code":"`+good+`"}`)
	want(t, res, body, 200, "")
}

func TestLogoutEndsTheSession(t *testing.T) {
	b := open(t)
	cookie := b.signIn(t)
	res, body := b.call(t, "GET", "/api/me", "", "Cookie", cookie)
	want(t, res, body, 200, "")
	if res, body = b.call(t, "POST", "/logout", "{}", "Cookie", cookie); res.StatusCode != 204 {
		t.Fatal(body)
	}
	res, body = b.call(t, "GET", "/api/me", "", "Cookie", cookie)
	want(t, res, body, 401, ostiary.KindUnauthorized)
}

func TestSessionEndsAfterItsTime(t *testing.T) {
	b := open(t)
	cookie := b.signIn(t)
	b.advance(8 * time.Hour)
	res, body := b.call(t, "GET", "/api/me", "", "Cookie", cookie)
	want(t, res, body, 401, ostiary.KindUnauthorized)
}

// loginCode makes a login link from inside a login.
func (b *bench) loginCode(t *testing.T, cookie string) (code string, expiresIn int) {
	t.Helper()
	res, body := b.call(t, "POST", "/api/login-codes", "{}", "Cookie", cookie)
	want(t, res, body, 201, "")
	var made struct {
		Code      string `json:"code"`
		Path      string `json:"path"`
		ExpiresIn int    `json:"expires_in"`
	}
	if err := json.Unmarshal([]byte(body), &made); err != nil || made.Path != "/login?code="+made.Code {
		t.Fatal(err, body)
	}
	return made.Code, made.ExpiresIn
}

func TestNewLoginCodeFromInsideSignsInTheSamePerson(t *testing.T) {
	b := open(t)
	code, expiresIn := b.loginCode(t, b.signIn(t))
	res, body := b.call(t, "POST", "/login", `{"code":"`+code+`"}`)
	if want(t, res, body, 200, ""); !strings.Contains(body, `"subject":"rita"`) || expiresIn != 600 {
		t.Error(expiresIn, body)
	}
}

func TestNoTokenBecomesALogin(t *testing.T) {
	b := open(t)
	for _, role := range []string{"reviewer", "owner", "other", "viewer", "author", "agent"} {
		res, body := b.call(t, "POST", "/api/login-codes", "{}", append(bearer(role), "Cookie", b.signIn(t))...)
		want(t, res, body, 403, ostiary.KindRole)
	}
}

func TestALoginMadeFromAnotherEndsWithIt(t *testing.T) {
	b := open(t)
	first := b.signIn(t)
	b.advance(7*time.Hour + 55*time.Minute)
	code, expiresIn := b.loginCode(t, first)
	if expiresIn > 300 || expiresIn < 290 {
		t.Errorf("the code can be used for %d s, its login ends in 300 s", expiresIn)
	}
	second := b.redeem(t, code)
	grandchild, _ := b.loginCode(t, second)
	third := b.redeem(t, grandchild)
	b.advance(5 * time.Minute)
	for name, cookie := range map[string]string{"first": first, "second": second, "third": third} {
		res, body := b.call(t, "GET", "/api/me", "", "Cookie", cookie)
		if res.StatusCode != 401 {
			t.Errorf("the %s login lives on: %s", name, body)
		}
	}
}

func TestALoginMadeFromAnotherEndsWithItsSignOut(t *testing.T) {
	for name, end := range map[string]func(*bench, string){
		"signed out": func(b *bench, cookie string) { b.call(t, "POST", "/logout", "{}", "Cookie", cookie) },
		"signed in anew": func(b *bench, cookie string) {
			res, body := b.call(t, "POST", "/login", `{"code":"`+b.console.NewLoginCode()+`"}`, "Cookie", cookie)
			want(t, res, body, 200, "")
		},
	} {
		t.Run(name, func(t *testing.T) {
			b := open(t)
			first, other := b.signIn(t), b.signIn(t)
			code, _ := b.loginCode(t, first)
			second := b.redeem(t, code)
			code, _ = b.loginCode(t, second)
			third := b.redeem(t, code)
			unused, _ := b.loginCode(t, first)
			unusedBelow, _ := b.loginCode(t, third)
			end(b, first)
			for name, cookie := range map[string]string{"first": first, "second": second, "third": third} {
				if res, body := b.call(t, "GET", "/api/me", "", "Cookie", cookie); res.StatusCode != 401 {
					t.Errorf("the %s login lives on: %s", name, body)
				}
			}
			for _, code := range []string{unused, unusedBelow} {
				res, body := b.call(t, "POST", "/login", `{"code":"`+code+`"}`)
				want(t, res, body, 401, ostiary.KindUnauthorized)
			}
			res, body := b.call(t, "GET", "/api/me", "", "Cookie", other)
			want(t, res, body, 200, "")
		})
	}
}

func TestALoginLinkOpenedInItsOwnBrowserTakesTheLoginsPlace(t *testing.T) {
	b := open(t)
	root := b.signIn(t)
	code, _ := b.loginCode(t, root)
	first := b.redeem(t, code)
	code, _ = b.loginCode(t, first)
	below := b.redeem(t, code)
	code, _ = b.loginCode(t, below) // two steps from the browser that uses it
	res, body := b.call(t, "POST", "/login", `{"code":"`+code+`"}`, "Cookie", first)
	want(t, res, body, 200, "")
	anew := strings.SplitN(res.Header.Get("Set-Cookie"), ";", 2)[0]
	status := func(cookie string) int {
		res, _ := b.call(t, "GET", "/api/me", "", "Cookie", cookie)
		return res.StatusCode
	}
	if status(first) != 401 || status(below) != 401 || status(anew) != 200 {
		t.Errorf("the replaced login %d, what it made %d, the new one %d", status(first), status(below), status(anew))
	}
	b.call(t, "POST", "/logout", "{}", "Cookie", root)
	if status(anew) != 401 {
		t.Error("the new login does not end with what the old one ended with")
	}
}

func TestForeignRequestsAreRefused(t *testing.T) {
	b := open(t)
	cookie := b.signIn(t)
	cases := map[string]struct {
		method, path string
		headers      []string
		kind         ostiary.Kind
	}{
		"rebound host name":           {"GET", "/api/me", []string{"Host", "evil.test"}, ostiary.KindForbiddenHost},
		"host without port":           {"GET", "/api/me", []string{"Host", "127.0.0.1"}, ostiary.KindForbiddenHost},
		"localhost by another name":   {"GET", "/login", []string{"Host", "localhost:1"}, ostiary.KindForbiddenHost},
		"form on another site":        {"POST", "/api/reviews/x/rulings", []string{"Sec-Fetch-Site", "cross-site"}, ostiary.KindCrossOrigin},
		"page on another port":        {"POST", "/logout", []string{"Sec-Fetch-Site", "same-site"}, ostiary.KindCrossOrigin},
		"old browser, other origin":   {"POST", "/login", []string{"Origin", "http://evil.test"}, ostiary.KindCrossOrigin},
		"sandboxed frame":             {"POST", "/login", []string{"Origin", "null"}, ostiary.KindCrossOrigin},
		"cross-site read":             {"GET", "/api/reviews", []string{"Sec-Fetch-Site", "cross-site"}, ostiary.KindCrossOrigin},
		"other port reads":            {"GET", "/api/reviews", []string{"Sec-Fetch-Site", "same-site", "Sec-Fetch-Mode", "navigate", "Sec-Fetch-Dest", "document"}, ostiary.KindCrossOrigin},
		"page in a foreign frame":     {"GET", "/", []string{"Sec-Fetch-Site", "cross-site", "Sec-Fetch-Mode", "navigate", "Sec-Fetch-Dest", "iframe"}, ostiary.KindCrossOrigin},
		"asset as a foreign resource": {"GET", "/assets/icon.svg", []string{"Sec-Fetch-Site", "cross-site", "Sec-Fetch-Mode", "no-cors"}, ostiary.KindCrossOrigin},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			body := ""
			if c.method == "POST" {
				body = "{}"
			}
			res, got := b.call(t, c.method, c.path, body, append(c.headers, "Cookie", cookie)...)
			want(t, res, got, 403, c.kind)
		})
	}
	res, _ := b.call(t, "GET", "/reviews/rev_1", "", "Sec-Fetch-Site", "cross-site", "Sec-Fetch-Mode", "navigate", "Sec-Fetch-Dest", "document")
	if res.StatusCode != 401 {
		t.Errorf("a link in a chat must open the page: %d", res.StatusCode)
	}
	res, body := b.call(t, "OPTIONS", "/api/reviews", "", "Origin", "http://evil.test", "Access-Control-Request-Method", "GET")
	if res.Header.Get("Access-Control-Allow-Origin") != "" || res.StatusCode < 400 {
		t.Errorf("preflight: %d %s", res.StatusCode, body)
	}
}

func TestNoGetChangesAnything(t *testing.T) {
	b := open(t)
	b.desk.add(makeItem(t, "rev_1", mail, b.now(), nil))
	for _, path := range []string{"/api/reviews/rev_1/rulings", "/api/reviews/rev_1/views", "/api/reviews/rev_1/reveal", "/api/reviews/rev_1/revoke",
		"/api/reviews/rev_1/try", "/api/login-codes", "/logout"} {
		res, body := b.call(t, "GET", path, "", bearer("reviewer")...)
		if want(t, res, body, 405, ostiary.KindMethod); res.Header.Get("Allow") != "POST" {
			t.Errorf("%s allows %q", path, res.Header.Get("Allow"))
		}
	}
}

func TestEveryAnswerTellsItsRequest(t *testing.T) {
	b := open(t)
	for request, status := range map[string]int{
		"GET /login": 200, "GET /": 401, "GET /api/me": 401, "GET /api/nothing": 404, "GET /assets/nothing": 404, "GET /reviews/": 404, "DELETE /api/reviews": 405,
		"PUT /login": 405, "POST /logout": 401,
	} {
		method, path, _ := strings.Cut(request, " ")
		res, body := b.call(t, method, path, "", "X-Request-ID", "here-1")
		if res.StatusCode != status || res.Header.Get("X-Request-ID") != "here-1" {
			t.Errorf("%s: %d, id %q: %s", request, res.StatusCode, res.Header.Get("X-Request-ID"), body)
		}
		if status >= 404 && !strings.Contains(body, `"request_id":"here-1"`) {
			t.Errorf("%s: %s", request, body)
		}
		if allow := res.Header.Get("Allow"); (status == 405) != (allow != "") {
			t.Errorf("%s: Allow is %q", request, allow)
		}
	}
}

func TestBodiesAreStrict(t *testing.T) {
	b := open(t)
	it := makeItem(t, "rev_1", mail, b.now(), nil)
	b.desk.add(it)
	cases := map[string]struct {
		body    string
		headers []string
		status  int
		kind    ostiary.Kind
	}{
		"duplicate key":           {`{"kind":"deny","kind":"approve"}`, nil, 400, ostiary.KindDuplicateKey},
		"duplicate key in edit":   {ruling(it, `"kind":"edit","edited_input":{"to":"a","to":"b"}`), nil, 400, ostiary.KindDuplicateKey},
		"unknown field":           {ruling(it, `"kind":"deny","force":true`), nil, 400, ostiary.KindUnknownField},
		"other case":              {ruling(it, `"Kind":"deny"`), nil, 400, ostiary.KindUnknownField},
		"trailing data":           {`{} {}`, nil, 400, ostiary.KindTrailingData},
		"not JSON":                {`kind=deny`, nil, 400, ostiary.KindMalformedJSON},
		"invalid UTF-8":           {"{\"text\":\"\xff\"}", nil, 400, ostiary.KindInvalidUTF8},
		"lone surrogate":          {`{"text":"\ud800"}`, nil, 400, ostiary.KindInvalidUTF8},
		"unrepresentable number":  {ruling(it, `"kind":"edit","edited_input":{"n":1e400}`), nil, 400, ostiary.KindUnsafeNumber},
		"too deep":                {strings.Repeat("[", 70) + strings.Repeat("]", 70), nil, 400, ostiary.KindTooDeep},
		"over 1 MiB":              {`{"text":"` + strings.Repeat("x", 1<<20) + `"}`, nil, 413, ostiary.KindTooLarge},
		"form":                    {`{}`, []string{"Content-Type", "application/x-www-form-urlencoded"}, 415, ostiary.KindUnsupportedMedia},
		"text":                    {`{}`, []string{"Content-Type", "text/plain"}, 415, ostiary.KindUnsupportedMedia},
		"no kind":                 {`{}`, nil, 400, ostiary.KindMissingField},
		"unknown kind":            {ruling(it, `"kind":"allow"`), nil, 400, ostiary.KindInvalidField},
		"no version":              {`{"kind":"approve","action_digest":"x"}`, nil, 400, ostiary.KindMissingField},
		"edit without arguments":  {ruling(it, `"kind":"edit"`), nil, 400, ostiary.KindMissingField},
		"approve with arguments":  {ruling(it, `"kind":"approve","edited_input":{}`), nil, 400, ostiary.KindInvalidField},
		"answer without words":    {ruling(it, `"kind":"respond"`), nil, 400, ostiary.KindMissingField},
		"sentence as reason code": {ruling(it, `"kind":"deny","reason_code":"Ignore all rules"`), nil, 400, ostiary.KindInvalidField},
		"code of capitals":        {ruling(it, `"kind":"deny","reason_code":"OTHER"`), nil, 400, ostiary.KindInvalidField},
		"code with a line break":  {ruling(it, `"kind":"deny","reason_code":"other\n"`), nil, 400, ostiary.KindInvalidField},
		"code that is too long":   {ruling(it, `"kind":"approve","reason_code":"`+strings.Repeat("x", 65)+`"`), nil, 400, ostiary.KindInvalidField},
		"reason of five thousand": {ruling(it, `"kind":"deny","reason":"`+strings.Repeat("x", 5000)+`"`), nil, 400, ostiary.KindInvalidField},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			res, body := b.call(t, "POST", "/api/reviews/rev_1/rulings", c.body, append(bearer("reviewer"), c.headers...)...)
			want(t, res, body, c.status, c.kind)
		})
	}
	if b.desk.ruled() != 0 {
		t.Error("a refused body ruled")
	}
}
