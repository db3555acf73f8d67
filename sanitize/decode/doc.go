// Package decode makes the views that detectors read: text with its disguises
// undone, and a map from every byte of a view back to whole runes of the
// original.
//
// The main view drops what is drawn as nothing, reads tag characters and
// compatibility forms as what they show, resolves entities and terminal
// sequences, and turns look-alike letters in mixed words into Latin ones.
// Encoded parts (base64, hex, percent, escapes, spaced letters) get views of
// their own when they decode to prose. All of it takes linear time, and plain
// ASCII is not copied.
package decode
