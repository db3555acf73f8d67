// Package inject finds text that speaks to the model instead of to its user.
//
// # How
//
// The words of every decode view become hits of concepts (lexicon.txt: what
// overrides, what is overridden, who is addressed, where to send things). A
// rule (rules.txt) is a conjunction of concepts within a distance, so that it
// holds for wordings nobody has listed. Structures need no words: chat-template
// tokens, fake turns, role JSON.
//
// # Two tiers
//
// Strict rules redact the sentence and flag the text. Loose ones raise the
// score only. A strict rule whose words stand quoted in text about attacks
// counts as loose: quoting lowers a finding, it never removes it.
package inject
