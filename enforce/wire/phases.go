package wire

import "ostiary/tool"

// ConclusionRequest asks whether the agent may state a conclusion, and how: POST /v1/conclusions. The answer is a [Decision].
type ConclusionRequest struct {
	SessionID  string    `json:"session_id"`
	RequestID  string    `json:"request_id,omitempty"`
	Iteration  int       `json:"iteration,omitzero"`
	Verdict    string    `json:"verdict,omitempty"`
	Confidence *float64  `json:"confidence,omitempty"`
	Text       string    `json:"text"`
	Evidence   *Evidence `json:"evidence,omitempty"`
}

// ToolsRequest asks which tools the agent may be shown: POST /v1/tools:visible.
type ToolsRequest struct {
	Tools []tool.Name `json:"tools"`
}

// ToolsResponse divides the tools that were asked about, each list in the order of the question.
type ToolsResponse struct {
	Visible []tool.Name  `json:"visible"`
	Hidden  []HiddenTool `json:"hidden"`
}

// HiddenTool is a tool that a policy keeps from the agent's list.
type HiddenTool struct {
	Tool     tool.Name `json:"tool"`
	Reason   string    `json:"reason"`
	RuleRefs []string  `json:"rule_refs"`
}
