// Package queuetest holds what every queue.Store promises, as one suite and one benchmark that each implementation runs.
package queuetest
