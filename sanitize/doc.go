// Package sanitize cleans what tools return before a session or a model sees
// it, and says what it found and what it checked.
//
// # Shape
//
// A [Cleaner] is a list of [Detector] values and the limits they run under.
// Each string goes through the same steps: it is bounded, a decode view with
// an offset map is made, every detector reads the original and the view and
// answers with [Match] values, overlapping matches are merged, and the edits
// are applied once. Offsets in a [Finding] are bytes of the original string.
//
// # Failing closed
//
// Text and JSON return either a complete answer or an error that matches
// [ErrWithheld]: over a limit, past the deadline, or a detector that panicked.
// On an error there is no content to pass on.
//
// # Layers
//
// The package holds no rules. Detectors live in subpackages, which import this
// one and never each other; package shipped assembles the set that ships.
package sanitize
