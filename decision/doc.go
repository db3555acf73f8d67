// Package decision says what policy is asked and what it answers: the input document, the verdicts of single rules, and the decision that
// follows from them. It knows no policy engine.
package decision
