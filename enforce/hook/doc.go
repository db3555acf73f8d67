// Package hook answers the hooks of coding agents: one event on standard input, that client's own answer on standard output.
//
// Every client fails open in its own way (a deny with one member too many, an exit code it does not know, a hook that is late), so each
// has its own encoder in a [dialect] and there is no shared answer. Whatever goes wrong here before a tool runs is told in the form that
// this client takes as a block; silence is reserved for "no opinion".
package hook
