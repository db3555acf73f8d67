package httpapi_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"path/filepath"
	"strings"
	"testing"

	"ostiary/agent"
	"ostiary/enforce"
	"ostiary/enforce/httpapi"
	"ostiary/enforce/wire"
)

func keys(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, `,"k%d":0`, i)
	}
	return "{" + b.String()[1:] + "}"
}

func TestABodyThatIsNotStrictJSONIsRefusedByItsKind(t *testing.T) {
	t.Parallel()
	s := serve(t)
	nested := func(n int) string { return strings.Repeat(`{"a":`, n) + "1" + strings.Repeat("}", n) }
	for name, c := range map[string]struct {
		body, kind, pointer string
		status              int
	}{
		"empty":                       {"", "malformed_json", "", 400},
		"white space":                 {" \n", "malformed_json", "", 400},
		"cut off":                     {`{"session_id":"s"`, "malformed_json", "", 400},
		"a comment":                   {`{/*x*/}`, "malformed_json", "", 400},
		"a trailing comma":            {`{"session_id":"s",}`, "malformed_json", "", 400},
		"NaN":                         {wrap(`{"a":NaN}`), "malformed_json", "", 400},
		"a duplicate of ours":         {`{"session_id":"s","session_id":"t","tool":{"name":"x"},"input":{}}`, "malformed_duplicate_key", "/session_id", 400},
		"a duplicate in the tool":     {`{"session_id":"s","tool":{"name":"x","name":"y"},"input":{}}`, "malformed_duplicate_key", "/tool/name", 400},
		"a duplicate in arguments":    {wrap(`{"a":[{"b":{"c":1,"c":2}}]}`), "malformed_duplicate_key", "/input/a/0/b/c", 400},
		"a duplicate by its escape":   {wrap(`{"a":1,"\u0061":2}`), "malformed_duplicate_key", "/input/a", 400},
		"an unknown member":           {`{"session_id":"s","tool":{"name":"x"},"input":{},"approve":true}`, "unknown_field", "/approve", 400},
		"an unknown member inside":    {`{"session_id":"s","tool":{"name":"x","version":1},"input":{}}`, "unknown_field", "/tool/version", 400},
		"another letter case":         {`{"Session_ID":"s","tool":{"name":"x"},"input":{}}`, "unknown_field", "/Session_ID", 400},
		"a wrong type":                {`{"session_id":7,"tool":{"name":"x"},"input":{}}`, "invalid_field", "/session_id", 400},
		"trailing data":               {wrap(`{}`) + ` {}`, "malformed_trailing_data", "", 400},
		"trailing garbage":            {wrap(`{}`) + `x`, "malformed_trailing_data", "", 400},
		"65 levels":                   {wrap(nested(64)), "too_deep", "", 400},
		"10,001 keys":                 {wrap(keys(10_001 - 5)), "too_many_keys", "", 400},
		"a number past every double":  {wrap(`{"a":1e400}`), "malformed_number", "/input/a", 400},
		"a number that becomes zero":  {wrap(`{"a":1e-400}`), "malformed_number", "/input/a", 400},
		"a lone surrogate":            {wrap(`{"a":"\ud800"}`), "malformed_utf8", "", 400},
		"a lone surrogate in a name":  {wrap(`{"\udc00":1}`), "malformed_utf8", "", 400},
		"bytes that are no UTF-8":     {wrap("{\"a\":\"\xff\"}"), "malformed_utf8", "", 400},
		"an overlong encoding":        {wrap("{\"a\":\"\xc0\xaf\"}"), "malformed_utf8", "", 400},
		"a byte order mark":           {"\ufeff" + wrap(`{}`), "malformed_json", "", 400},
		"a name of more than 1,024 B": {wrap(`{"` + strings.Repeat("a", 1025) + `":1}`), "invalid_field", "", 400},
		"more than 1 MiB":             {wrap(`{"a":"` + strings.Repeat("a", 1<<20) + `"}`), "too_large", "", 413},
		"a list":                      {`[]`, "invalid_field", "", 400},
		"null":                        {`null`, "invalid_field", "/tool", 400},
		"without input":               {`{"session_id":"s","tool":{"name":"x"}}`, "missing_field", "/input", 400},
		"without a session":           {`{"tool":{"name":"x"},"input":{}}`, "missing_field", "/session_id", 400},
		"input null":                  {wrap(`null`), "invalid_field", "/input", 400},
		"input text":                  {wrap(`"{}"`), "invalid_field", "/input", 400},
	} {
		t.Run(name, func(t *testing.T) {
			got := s.send(t, agent.RoleAgent, "POST", "/v1/decisions", c.body, nil)
			var p wire.Problem
			got.into(t, &p)
			if got.status != c.status || p.Kind != c.kind || c.pointer != "" && p.Pointer != c.pointer {
				t.Errorf("%d %+v, want %d %s at %s", got.status, p, c.status, c.kind, c.pointer)
			}
			if got.header.Get("Content-Type") != "application/problem+json" || p.Status != got.status || p.Type != "urn:ostiary:problem:"+p.Kind || p.Title == "" || p.Detail == "" || p.Request != got.header.Get("X-Request-ID") {
				t.Errorf("the problem document is not whole: %s", got.body)
			}
		})
	}
	for name, body := range map[string]string{"64 levels": wrap(nested(63)), "10,000 keys": wrap(keys(10_000 - 5)), "a big integer": wrap(`{"a":123456789012345678901234567890}`)} {
		if got := s.send(t, agent.RoleAgent, "POST", "/v1/decisions", body, nil); got.status != 200 {
			t.Errorf("%s: %d %s", name, got.status, got.body)
		}
	}
}

func TestEveryPostIsReadAsStrictly(t *testing.T) {
	t.Parallel()
	s := serve(t)
	for _, path := range []string{"/v1/decisions", "/v1/results", "/v1/sanitize", "/v1/permits/redeem", "/v1/sessions/s/messages"} {
		for name, c := range map[string]struct{ body, kind string }{
			"a duplicate":       {`{"a":{"b":1,"b":1}}`, "malformed_duplicate_key"},
			"an unknown member": {`{"surprise":1}`, "unknown_field"},
			"nothing":           {``, "malformed_json"},
		} {
			if got := s.send(t, agent.RoleAgent, "POST", path, c.body, nil); got.status != 400 || got.kind(t) != c.kind {
				t.Errorf("%s, %s: %d %s", path, name, got.status, got.body)
			}
		}
		for _, media := range []string{"", "text/plain", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x", "application/json-patch+json", "application/json, text/plain"} {
			got := s.send(t, agent.RoleAgent, "POST", path, read, func(r *http.Request) { r.Header.Set("Content-Type", media) })
			if got.status != 415 || got.kind(t) != "unsupported_media_type" {
				t.Errorf("%s as %q: %d %s", path, media, got.status, got.body)
			}
		}
	}
	big := `{"session_id":"s","tool":{"namespace":"crm","name":"lookup"},"content":"` + strings.Repeat("a", 2<<20) + `"}`
	if got := s.send(t, agent.RoleAgent, "POST", "/v1/results", big, nil); got.status != 200 {
		t.Errorf("a result of 2 MiB: %d", got.status)
	}
	if got := s.send(t, agent.RoleAgent, "POST", "/v1/results", big[:len(big)-2]+strings.Repeat("a", 7<<20)+`"}`, nil); got.status != 413 {
		t.Errorf("a result of 9 MiB: %d", got.status)
	}
}

func TestWhoMayNotComeInIsToldWhy(t *testing.T) {
	t.Parallel()
	s := serve(t)
	other, err := s.issuer.Mint(agent.Identity{Tenant: "t", Subject: "other", Name: "other", Role: agent.RoleAgent, Session: "s9"}, 3600e9)
	if err != nil {
		t.Fatal(err)
	}
	header := func(k, v string) func(*http.Request) { return func(r *http.Request) { r.Header.Set(k, v) } }
	host := func(h string) func(*http.Request) { return func(r *http.Request) { r.Host = h } }
	for name, c := range map[string]struct {
		role               agent.Role
		method, path, body string
		change             func(*http.Request)
		status             int
		kind               string
	}{
		"no token":                   {"", "POST", "/v1/decisions", read, nil, 401, "unauthorized"},
		"no token for reading":       {"", "GET", "/v1/tools", "", nil, 401, "unauthorized"},
		"a bad token":                {"", "POST", "/v1/decisions", read, header("Authorization", "Bearer x.y.z"), 401, "unauthorized"},
		"an empty token":             {"", "POST", "/v1/decisions", read, header("Authorization", "Bearer "), 401, "unauthorized"},
		"basic credentials":          {"", "POST", "/v1/decisions", read, header("Authorization", "Basic YTpi"), 401, "unauthorized"},
		"a token in the query":       {"", "GET", "/v1/tools?access_token=" + s.tokens[agent.RoleAgent], "", nil, 401, "unauthorized"},
		"a token in a cookie":        {"", "GET", "/v1/tools", "", header("Cookie", "token="+s.tokens[agent.RoleAgent]), 401, "unauthorized"},
		"a viewer's token":           {agent.RoleViewer, "POST", "/v1/decisions", read, nil, 403, "role"},
		"a reviewer's token":         {agent.RoleReviewer, "POST", "/v1/decisions", read, nil, 403, "role"},
		"a senior's token":           {agent.RoleSenior, "GET", "/v1/reviews/rev_x", "", nil, 403, "role"},
		"an agent declares a tool":   {agent.RoleAgent, "PUT", "/v1/tools/crm/lookup", `{"namespace":"crm","name":"lookup"}`, nil, 403, "role"},
		"an agent removes a tool":    {agent.RoleAgent, "DELETE", "/v1/tools/crm/lookup", "", nil, 403, "role"},
		"a session of another token": {"", "POST", "/v1/decisions", read, header("Authorization", "Bearer "+other), 403, "wrong_session"},
		"another host":               {agent.RoleAgent, "POST", "/v1/decisions", read, host("evil.example"), 403, "forbidden_host"},
		"a rebound name":             {agent.RoleAgent, "GET", "/healthz", "", host("localhost.evil.example:7070"), 403, "forbidden_host"},
		"another port":               {agent.RoleAgent, "POST", "/v1/decisions", read, host("127.0.0.1:1"), 403, "forbidden_host"},
		"another origin":             {agent.RoleAgent, "POST", "/v1/decisions", read, header("Origin", "https://evil.example"), 403, "cross_origin"},
		"no origin at all":           {agent.RoleAgent, "POST", "/v1/decisions", read, header("Origin", "null"), 403, "cross_origin"},
		"another port's origin":      {agent.RoleAgent, "POST", "/v1/decisions", read, header("Origin", "http://127.0.0.1:1"), 403, "cross_origin"},
		"a cross-site fetch":         {agent.RoleAgent, "POST", "/v1/decisions", read, header("Sec-Fetch-Site", "cross-site"), 403, "cross_origin"},
		"a same-site fetch":          {agent.RoleAgent, "GET", "/readyz", "", header("Sec-Fetch-Site", "same-site"), 403, "cross_origin"},
		"no such route":              {agent.RoleAgent, "GET", "/v2/decisions", "", nil, 404, "not_found"},
		"no such review":             {agent.RoleAgent, "GET", "/v1/reviews/rev_nobody", "", nil, 404, "not_found"},
		"no such session":            {agent.RoleAgent, "GET", "/v1/sessions/none/history", "", nil, 404, "not_found"},
		"no such tool":               {agent.RoleAgent, "GET", "/v1/tools/no/tool", "", nil, 404, "not_found"},
		"reading a decision":         {agent.RoleAgent, "GET", "/v1/decisions", "", nil, 405, "method_not_allowed"},
		"a preflight":                {agent.RoleAgent, "OPTIONS", "/v1/decisions", "", nil, 405, "method_not_allowed"},
		"a trace":                    {agent.RoleAgent, "TRACE", "/v1/decisions", "", nil, 405, "method_not_allowed"},
		"a bad wait":                 {agent.RoleAgent, "GET", "/v1/reviews/x?wait=-1s", "", nil, 400, "invalid_field"},
		"a bad limit":                {agent.RoleAgent, "GET", "/v1/tools?limit=201", "", nil, 400, "invalid_field"},
		"a bad cursor":               {agent.RoleAgent, "GET", "/v1/tools?cursor=%2b%2b", "", nil, 400, "invalid_field"},
	} {
		t.Run(name, func(t *testing.T) {
			got := s.send(t, c.role, c.method, c.path, c.body, c.change)
			if got.status != c.status || got.kind(t) != c.kind {
				t.Errorf("%d %s, want %d %s", got.status, got.body, c.status, c.kind)
			}
			if (got.header.Get("WWW-Authenticate") != "") != (c.status == 401) || (got.header.Get("Allow") != "") != (c.status == 405) {
				t.Errorf("headers %v", got.header)
			}
			for name := range got.header {
				if strings.HasPrefix(name, "Access-Control") {
					t.Errorf("%s is sent: there is no CORS here", name)
				}
			}
		})
	}
	var d wire.Decision
	if got := s.send(t, agent.RoleAgent, "POST", "/v1/decisions", read, header("Origin", s.URL)); got.status != 200 {
		t.Errorf("our own origin: %d", got.status)
	} else if got.into(t, &d); d.Behavior != "allow" {
		t.Error(got.body)
	}
}

func TestTheSocketKnowsItsPeer(t *testing.T) {
	t.Parallel()
	s := serve(t)
	path := filepath.Join(t.TempDir(), "s.sock")
	l, err := net.Listen("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	srv := &http.Server{Handler: s.api.Handler(), ConnContext: httpapi.WithPeer, ReadHeaderTimeout: 1e9}
	done := make(chan error, 1)
	go func() { done <- srv.Serve(l) }()
	t.Cleanup(func() {
		if err := srv.Close(); err != nil {
			t.Error(err)
		}
		<-done
	})
	client := &http.Client{Transport: &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, "unix", path)
	}}}
	defer client.CloseIdleConnections()
	ask := func(change func(*http.Request)) reply {
		t.Helper()
		req, err := http.NewRequestWithContext(context.Background(), "POST", "http://any.name/v1/decisions", strings.NewReader(strings.Replace(read, `"s"`, `"sock"`, 1)))
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Content-Type", "application/json")
		if change != nil {
			change(req)
		}
		got, err := do(client, req)
		if err != nil {
			t.Fatal(err)
		}
		return got
	}
	if got := ask(nil); got.status != 200 {
		t.Errorf("our own uid: %d %s", got.status, got.body)
	}
	if got := ask(func(r *http.Request) { r.Header.Set("Authorization", "Bearer x") }); got.status != 401 {
		t.Errorf("a bad token is not made good by the socket: %d %s", got.status, got.body)
	}
	for _, other := range []string{"Basic dTpw", "bearer x", "Bearer"} {
		if got := ask(func(r *http.Request) { r.Header.Set("Authorization", other) }); got.status != 401 {
			t.Errorf("nor is %s: %d %s", other, got.status, got.body)
		}
	}
	if got := ask(func(r *http.Request) { r.Header.Set("Authorization", "Bearer "+s.tokens[agent.RoleReviewer]) }); got.status != 403 {
		t.Errorf("a reviewer's token: %d", got.status)
	}
	if got := ask(func(r *http.Request) { r.Header.Set("Origin", "https://evil.example") }); got.status != 403 {
		t.Errorf("a web page: %d", got.status)
	}
	history := func(role agent.Role) reply {
		return s.send(t, role, "GET", "/v1/sessions/sock/history", "", nil)
	}
	if got := history(agent.RoleAgent); got.status != 404 {
		t.Errorf("the token's agent reads the socket's session: %d", got.status)
	}
	if got := ask(func(r *http.Request) { r.Header.Set("Authorization", "bearer "+s.tokens[agent.RoleAgent]) }); got.status != 200 {
		t.Errorf("the scheme's letter case: %d %s", got.status, got.body)
	}
}

func TestAPanicIsAnErrorThatAllowsNothing(t *testing.T) {
	t.Parallel()
	s := serveWith(t, func(*enforce.Enforcer) decideFunc {
		return func(context.Context, agent.Identity, wire.DecisionRequest) (wire.Decision, error) { panic("hunter2") }
	})
	got := s.send(t, agent.RoleAgent, "POST", "/v1/decisions", read, nil)
	if got.status != 500 || got.kind(t) != "internal_error" || strings.Contains(got.body, "hunter2") {
		t.Errorf("%d %s", got.status, got.body)
	}
	if log := s.log.String(); !strings.Contains(log, "hunter2") || !strings.Contains(log, "goroutine") {
		t.Errorf("the log does not say where: %s", log)
	}
	if got := s.send(t, agent.RoleAgent, "GET", "/healthz", "", nil); got.status != 200 {
		t.Errorf("it is gone: %d", got.status)
	}
}

func TestACauseIsLoggedAndNeverSent(t *testing.T) {
	t.Parallel()
	secret := errors.New("dial /run/secret.sock: hunter2")
	s := serveWith(t, func(*enforce.Enforcer) decideFunc {
		return func(context.Context, agent.Identity, wire.DecisionRequest) (wire.Decision, error) {
			return wire.Decision{Behavior: "allow"}, secret
		}
	})
	got := s.send(t, agent.RoleAgent, "POST", "/v1/decisions", read, nil)
	if got.status != 500 || got.kind(t) != "internal_error" || strings.Contains(got.body, "hunter2") || strings.Contains(got.body, "allow") {
		t.Errorf("%d %s", got.status, got.body)
	}
	if !strings.Contains(s.log.String(), "hunter2") {
		t.Error("the cause is not in the log")
	}
	s.mu.Lock()
	s.fail = secret
	s.mu.Unlock()
	got = s.send(t, agent.RoleAdmin, "PUT", "/v1/tools/a/b", `{"namespace":"a","name":"b"}`, nil)
	if got.status != 503 || got.kind(t) != "audit_unavailable" || strings.Contains(got.body, "hunter2") {
		t.Errorf("%d %s", got.status, got.body)
	}
	if got := s.send(t, agent.RoleAdmin, "GET", "/v1/tools/a/b", "", nil); got.status != 404 {
		t.Error("a declaration was changed without a record")
	}
}

func TestTheRequestIDIsEchoedWhereItIsHarmless(t *testing.T) {
	t.Parallel()
	s := serve(t)
	for id, echoed := range map[string]bool{"r-7": true, "a/b:c": true, strings.Repeat("x", 128): true, "": false, strings.Repeat("x", 129): false, "a b": false, "a\u00e9": false, "a\tb": false} {
		got := s.send(t, "", "GET", "/healthz", "", func(r *http.Request) { r.Header.Set("X-Request-ID", id) })
		if back := got.header.Get("X-Request-ID"); (back == id) != echoed || back == "" {
			t.Errorf("%q became %q", id, back)
		}
		if got.header.Get("X-Content-Type-Options") != "nosniff" || got.header.Get("Cache-Control") != "no-store" {
			t.Errorf("headers %v", got.header)
		}
	}
}

func TestNothingOfARequestIsLoggedButItsShape(t *testing.T) {
	t.Parallel()
	s := serve(t)
	s.send(t, agent.RoleAgent, "POST", "/v1/decisions?x=canary", wrap(`{"a":"canary"}`), func(r *http.Request) { r.Header.Set("X-Other", "canary") })
	s.send(t, agent.RoleAgent, "GET", "/v1/reviews/canary", "", nil)
	s.send(t, agent.RoleAgent, "GET", "/canary", "", nil)
	if log := s.log.String(); strings.Contains(log, "canary") || strings.Contains(log, s.tokens[agent.RoleAgent]) || !strings.Contains(log, `"route":"/v1/decisions"`) {
		t.Error(log)
	}
}

func TestAConfigurationWithAHoleIsRefused(t *testing.T) {
	t.Parallel()
	_, err := httpapi.New(httpapi.Config{})
	for _, part := range []string{"Enforcer", "Registry", "Authenticate", "Prove", "JWKS", "Hosts", "Ready", "Record", "Now"} {
		if err == nil || !strings.Contains(err.Error(), part+" is required") {
			t.Errorf("%s is not named: %v", part, err)
		}
	}
}
