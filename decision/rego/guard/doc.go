// Package guard tells, without an evaluation, that a policy package has no verdict for an input: each of its rules begins with conditions
// on single facts, one of which does not hold.
//
// A body is a conjunction that OPA works off in order. So a rule surely does not fire, and raises no error either, when a condition fails
// and nothing before it can raise one. What this package does not understand can be anything.
package guard
