package web_test

import (
	"context"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"

	"ostiary"
	"ostiary/web"
)

// panicDesk fails in a way that nobody thought of.
type panicDesk struct{ *fakeDesk }

func (panicDesk) Health(context.Context) []web.Check { panic("hunter2") }

func TestAPanicIsLoggedWithItsRequest(t *testing.T) {
	b := open(t)
	b.serve(t, panicDesk{b.desk})
	res, body := b.call(t, "GET", "/api/health", "", append(bearer("viewer"), "X-Request-ID", "here-1")...)
	if want(t, res, body, 500, ostiary.KindInternal); strings.Contains(body, "hunter2") {
		t.Errorf("the caller is told of the panic: %s", body)
	}
	b.server.Close() // what is logged is complete now
	for line := range strings.Lines(b.log.String()) {
		var record struct {
			Msg     string `json:"msg"`
			Request string `json:"request_id"`
			Stack   string `json:"stack"`
		}
		if err := json.Unmarshal([]byte(line), &record); err != nil {
			t.Fatal(err)
		}
		if record.Msg == "console panic" {
			if record.Request != "here-1" || !strings.Contains(record.Stack, "panicDesk") {
				t.Errorf("the stack cannot be joined to its request: %s", line)
			}
			return
		}
	}
	t.Error("the panic is not in the log")
}
