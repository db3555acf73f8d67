package ostiary_test

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"

	"ostiary"
)

func TestTheKindIsFoundHoweverDeepItIs(t *testing.T) {
	full := ostiary.Errorf(ostiary.KindQueueFull, "%d calls wait", 3)
	for name, c := range map[string]struct {
		err  error
		kind ostiary.Kind
	}{
		"no error":      {nil, ""},
		"itself":        {full, ostiary.KindQueueFull},
		"wrapped":       {fmt.Errorf("ask: %w", full), ostiary.KindQueueFull},
		"joined":        {errors.Join(io.EOF, full), ostiary.KindQueueFull},
		"the outermost": {ostiary.Wrap(ostiary.KindNotDurable, full, "x"), ostiary.KindNotDurable},
		"somebody's":    {io.EOF, ostiary.KindInternal},
	} {
		if got := ostiary.KindOf(c.err); got != c.kind {
			t.Errorf("%s: %q, want %q", name, got, c.kind)
		}
	}
	if !errors.Is(fmt.Errorf("ask: %w", full), &ostiary.Error{Kind: ostiary.KindQueueFull}) || errors.Is(full, &ostiary.Error{Kind: ostiary.KindConsumed}) {
		t.Error("errors.Is does not go by the kind")
	}
	if !errors.Is(ostiary.Wrap(ostiary.KindUpstream, io.EOF, "x"), io.EOF) {
		t.Error("the cause is lost")
	}
}

func TestWhatIsSaidHoldsNoCause(t *testing.T) {
	secret := errors.New("password=hunter2")
	e := &ostiary.Error{Kind: ostiary.KindInvalidField, Msg: "m", Fix: "f", Pointer: "/p", Err: secret}
	said := ostiary.Public(fmt.Errorf("outer secret: %w", e))
	if said.Err != nil || said.Kind != e.Kind || said.Msg != "m" || said.Fix != "f" || said.Pointer != "/p" {
		t.Errorf("%+v", said)
	}
	if strings.Contains(said.Error(), "hunter2") || !strings.Contains(e.Error(), "hunter2") || !strings.Contains(e.Error(), "/p") {
		t.Errorf("said %q, logged %q", said, e)
	}
	if said := ostiary.Public(secret); said.Kind != ostiary.KindInternal || strings.Contains(said.Error(), "hunter2") {
		t.Errorf("%+v", said)
	}
	if fixed := e.WithFix("g"); fixed.Fix != "g" || e.Fix != "f" {
		t.Error("WithFix must leave its receiver alone")
	}
}
