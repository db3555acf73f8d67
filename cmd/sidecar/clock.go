//go:build !testseam

package main

import "time"

// now is the clock of everything but deadlines.
func now() time.Time { return time.Now() }
