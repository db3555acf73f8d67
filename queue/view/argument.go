package view

// Argument is one scalar of the arguments, ready to be shown.
type Argument struct {
	Pointer string `json:"pointer"` // RFC 6901
	Type    string `json:"type"`    // string, number, boolean, null, and for empty containers object, array
	Role    string `json:"role,omitempty"`
	Origin  string `json:"origin,omitempty"`
	Bytes   int    `json:"bytes"`
	Runes   int    `json:"runes"`
	Runs    []Run  `json:"runs"`
}

// Run is a stretch of one kind of text. Text runs hold what is shown as it stands; every other kind is shown as a chip with its Code
// (such as "U+202E"). Concatenating the Text of all runs gives the value back.
type Run struct {
	Kind string `json:"kind"`
	Text string `json:"text"`
	Code string `json:"code,omitempty"`
}
