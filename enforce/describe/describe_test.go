package describe_test

import (
	"strings"
	"testing"

	"ostiary/decision"
	"ostiary/enforce/describe"
	"ostiary/internal/strictjson"
	"ostiary/queue"
	"ostiary/tool"
)

func TestATierFollowsTheHarmThatIsPossible(t *testing.T) {
	severe := []decision.Reason{{ID: "provenance.untrusted_argument", Severity: "high"}}
	for _, c := range []struct {
		risk    tool.Risk
		reasons []decision.Reason
		want    queue.Tier
	}{
		{tool.Risk{ReadOnly: true}, nil, queue.TierLow},
		{tool.Risk{}, nil, queue.TierMedium},
		{tool.Risk{ReadOnly: true, SensitiveSink: true}, nil, queue.TierMedium},
		{tool.Risk{Destructive: true}, []decision.Reason{{ID: "sinks.destructive", Severity: "high"}}, queue.TierMedium},
		{tool.Risk{Destructive: true, SensitiveSink: true}, nil, queue.TierHigh},
		{tool.Risk{ReadOnly: true}, severe, queue.TierHigh},
	} {
		if got := describe.Tier(c.risk, c.reasons); got != c.want {
			t.Errorf("%+v %v: %s, want %s", c.risk, c.reasons, got, c.want)
		}
	}
}

func TestASummaryNamesTheTargetAndTheHarm(t *testing.T) {
	leaves, err := strictjson.Leaves([]byte(`{"body":"hi","path":"/a/very/long/path/that/does/not/fit/into/one/line/of/a/summary/of/sixty/runes.txt","to":"ann\u202e@example.com"}`))
	if err != nil {
		t.Fatal(err)
	}
	plain := func(l strictjson.Leaf) string { return l.Text }
	got := describe.Summary(tool.Name{Namespace: "mail", Name: "send"}, tool.Risk{SensitiveSink: true}, describe.Target(leaves, tool.RoleOf, plain))
	if got != `Run mail.send on "ann\u202e@example.com"; it may send data out` {
		t.Errorf("got %s", got)
	}
	if path := describe.Target(leaves[:2], tool.RoleOf, plain); !strings.HasPrefix(path, "…") || !strings.HasSuffix(path, "sixty/runes.txt") {
		t.Errorf("got %s", path)
	}
	if none := describe.Target(leaves[:1], tool.RoleOf, plain); none != "" {
		t.Errorf("got %s", none)
	}
}
