package wire

import (
	"github.com/go-json-experiment/json/jsontext"

	"ostiary/tool"
)

// ResultRequest reports what a tool returned: POST /v1/results, and POST /v1/sanitize, which needs no session and changes nothing.
type ResultRequest struct {
	SessionID    string         `json:"session_id,omitempty"`
	InvocationID string         `json:"invocation_id,omitempty"`
	Tool         tool.Name      `json:"tool,omitzero"`
	Result       *tool.Envelope `json:"result,omitempty"`
	// Content is a string or MCP content blocks; exactly one of Result and Content is given.
	Content           jsontext.Value `json:"content,omitzero"`
	StructuredContent jsontext.Value `json:"structured_content,omitzero"`
	ContentType       string         `json:"content_type,omitempty"`
	Origin            *Origin        `json:"origin,omitempty"`
	// RanInput is what really ran, where the caller knows; a difference from what was decided is told as executed_mismatch.
	RanInput jsontext.Value `json:"ran_input,omitzero"`
	// MaxLength bounds every text in bytes; absent means 4,096, 0 means no cut.
	MaxLength     *int `json:"max_length,omitzero"`
	ReturnSummary bool `json:"return_summary,omitzero"`
}

// Origin says where a result came from.
type Origin struct {
	URL string `json:"url,omitempty"`
}

// ResultResponse is the cleaned result.
type ResultResponse struct {
	InvocationID      string         `json:"invocation_id,omitempty"`
	Result            *tool.Envelope `json:"result"`
	Content           jsontext.Value `json:"content"`
	StructuredContent jsontext.Value `json:"structured_content,omitzero"`
	Tainted           bool           `json:"tainted"`
	Labels            []tool.Label   `json:"labels"`
	Findings          []Finding      `json:"findings"`
	Checked           []string       `json:"checked"`
	NotChecked        []string       `json:"not_checked"`
	Injection         Injection      `json:"injection"`
	Behavior          string         `json:"behavior"`
	Reason            string         `json:"reason,omitempty"`
	Review            *Review        `json:"review"`
	ExecutedMismatch  bool           `json:"executed_mismatch"`
}

// Finding is one thing that cleaning found. Offsets are bytes of the original UTF-8 string at Pointer (RFC 6901).
type Finding struct {
	Family     string  `json:"family"`
	Type       string  `json:"type"`
	Pointer    string  `json:"pointer"`
	Start      int     `json:"start"`
	End        int     `json:"end"`
	Action     string  `json:"action"`
	Confidence float64 `json:"confidence"`
}

// Injection is the injection detector's word.
type Injection struct {
	Flagged bool    `json:"flagged"`
	Score   float64 `json:"score"`
}

// MessageRequest tells what was said in a session: POST /v1/sessions/{id}/messages.
type MessageRequest struct {
	Role string `json:"role"`
	Text string `json:"text"`
	// UntrustedSpans are byte ranges of Text that the user pasted from elsewhere.
	UntrustedSpans [][2]int `json:"untrusted_spans,omitzero"`
}

// History is GET /v1/sessions/{id}/history: the session's events in order, without secrets.
type History struct {
	SessionID string           `json:"session_id"`
	Labels    []tool.Label     `json:"labels"`
	Events    []jsontext.Value `json:"events"`
}

// Problem is an RFC 9457 problem document.
type Problem struct {
	Type    string `json:"type"`
	Title   string `json:"title"`
	Status  int    `json:"status"`
	Kind    string `json:"kind"`
	Detail  string `json:"detail,omitempty"`
	Fix     string `json:"fix,omitempty"`
	Pointer string `json:"pointer,omitempty"`
	Request string `json:"request_id,omitempty"`
}
