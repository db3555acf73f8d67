// Package seen remembers decided calls, so that a repeated invocation gets the same answer and a result can be held against its call.
package seen
