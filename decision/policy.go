package decision

import "time"

// PolicyStatus tells how the policies stand.
type PolicyStatus struct {
	Revision string `json:"revision"`
	// Earlier are the revisions that can be gone back to, the nearest first.
	Earlier []string `json:"earlier"`
	// Refused is why the last candidate was not put in force; empty when it was, or when there was none.
	Refused string `json:"refused,omitempty"`
	// Remembered and Evaluated count decisions since the revision is in force.
	Remembered uint64 `json:"remembered"`
	Evaluated  uint64 `json:"evaluated"`
	// MemoOff: remembered answers differed from evaluated ones, so every call is evaluated.
	MemoOff bool `json:"memo_off"`
	// Exceptions that the revision holds, ended ones too.
	Exceptions []Exception `json:"exceptions"`
}

// ShadowReport tells what a candidate would have done with the calls since it stands beside the policies in force.
type ShadowReport struct {
	Revision string    `json:"revision"`
	Since    time.Time `json:"since"`
	Until    time.Time `json:"until"`
	Calls    int       `json:"calls"`
	// Missed counts calls that came too fast for it.
	Missed int `json:"missed"`
	// Failed counts calls at which it failed; it would have denied them.
	Failed int          `json:"failed"`
	Flips  []ShadowFlip `json:"flips"` // the most widening first
}

// ShadowFlip is one way in which the candidate would have decided differently. None is the word where no rule had a verdict.
type ShadowFlip struct {
	From   string `json:"from"`
	To     string `json:"to"`
	Widens bool   `json:"widens"` // it lets more run
	Calls  int    `json:"calls"`
	// Tool and Rules are those of the first such call; Rules are the candidate's.
	Tool  string   `json:"tool"`
	Rules []string `json:"rules"`
}
