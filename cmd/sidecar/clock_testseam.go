//go:build testseam

package main

import (
	"os"
	"sync"
	"time"
)

// offset is read once from OSTIARY_CLOCK_OFFSET, a duration such as 2h.
var offset = sync.OnceValue(func() time.Duration {
	d, err := time.ParseDuration(os.Getenv("OSTIARY_CLOCK_OFFSET"))
	if err != nil {
		return 0
	}
	return d
})

// now is the clock of everything but deadlines; test builds can move it.
func now() time.Time { return time.Now().Add(offset()) }
