package policies_test

import (
	"context"
	"strings"
	"testing"
)

// BenchmarkLargestScript judges as much of a shell command as policies are shown at most. It has to stay well below the 50 ms that an
// evaluation may take: past them the call is denied, where asking would do.
func BenchmarkLargestScript(b *testing.B) {
	e := engine(b)
	for i := 0; b.Loop(); i++ {
		in := coding(b, strings.Repeat("cp -a one/two.txt three/four-"+strings.Repeat("x", i%100+1)+".txt five six; ", 128))
		if len(in.Parsed.Commands) != 128 || in.Parsed.Unparsable {
			b.Fatalf("%d commands, unparsable %v", len(in.Parsed.Commands), in.Parsed.Unparsable)
		}
		if _, err := e.Decide(context.Background(), in); err != nil {
			b.Fatal(err)
		}
	}
}
