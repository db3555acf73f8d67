package httpapi

import (
	"crypto/sha256"
	"fmt"
	"testing"
	"time"
)

func TestKeptAnswersAreBounded(t *testing.T) {
	t.Parallel()
	now := time.Unix(0, 0)
	sum := sha256.Sum256(nil)
	for name, c := range map[string]struct{ answers, size, most int }{"in number": {maxAnswers + 10, 1, maxAnswers}, "in bytes": {20, answerBytes / 8, 8}} {
		a := newAnswers()
		body := make([]byte, c.size)
		for i := range c.answers {
			key := fmt.Sprint(i)
			k, first := a.claim(key, sum, now)
			if !first {
				t.Fatal("a new key was known")
			}
			a.settle(key, k, &kept{status: 200, body: body})
		}
		if len(a.known) != c.most || len(a.order) != c.most || a.bytes != c.most*c.size {
			t.Errorf("%s: %d keys, %d bytes", name, len(a.known), a.bytes)
		}
		if _, first := a.claim("0", sum, now); !first {
			t.Errorf("%s: the oldest was kept", name)
		}
		if _, first := a.claim(fmt.Sprint(c.answers-1), sum, now); first {
			t.Errorf("%s: the newest was forgotten", name)
		}
		if a.claim("later", sum, now.Add(answerLife+1)); len(a.order) != 0 {
			t.Errorf("%s: %d answers outlive their time", name, len(a.order))
		}
	}
}

func TestARequestUnderWayIsNeverForgotten(t *testing.T) {
	t.Parallel()
	a := newAnswers()
	sum := sha256.Sum256(nil)
	now := time.Unix(0, 0)
	slow, _ := a.claim("slow", sum, now)
	if again, first := a.claim("slow", sum, now.Add(2*answerLife)); first || again != slow {
		t.Error("it was given away")
	}
	a.settle("slow", slow, nil)
	if _, first := a.claim("slow", sum, now); !first {
		t.Error("a failed request keeps its key")
	}
}
