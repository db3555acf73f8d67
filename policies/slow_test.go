package policies_test

import (
	"context"
	"strings"
	"testing"
	"time"
)

// TestTheLargestScriptIsJudgedInTime holds that what policies are shown of a shell command at most can be judged within the 50 ms that an
// evaluation has: past it the call is denied, where asking would do.
func TestTheLargestScriptIsJudgedInTime(t *testing.T) {
	e := engine(t)
	fastest := time.Hour
	for i := range 5 { // the machine may be loaded: the fastest tells
		in := coding(t, strings.Repeat("cp -a one/two.txt three/four-"+strings.Repeat("x", i+1)+".txt five six; ", 128))
		if len(in.Parsed.Commands) != 128 || in.Parsed.Unparsable {
			t.Fatalf("%d commands, unparsable %v", len(in.Parsed.Commands), in.Parsed.Unparsable)
		}
		start := time.Now()
		if _, err := e.Decide(context.Background(), in); err != nil {
			t.Fatal(err)
		}
		fastest = min(fastest, time.Since(start))
	}
	t.Logf("128 commands are judged in %s", fastest)
	if fastest > 40*time.Millisecond {
		t.Errorf("128 commands take %s, want well below 50ms", fastest)
	}
}
