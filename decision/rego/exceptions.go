package rego

import (
	"encoding/json"
	"fmt"
	"path"
	"time"

	"ostiary"
	"ostiary/decision"
	"ostiary/tool"
)

// Exceptions reads the document data.ostiary.exceptions, which fits its schema.
func (s Sources) Exceptions() ([]decision.Exception, error) {
	var doc struct {
		List []struct {
			Rule   string    `json:"rule"`
			Tool   tool.Name `json:"tool"`
			Below  []string  `json:"below"`
			Owner  string    `json:"owner"`
			Reason string    `json:"reason"`
			Until  string    `json:"until"`
		} `json:"list"`
	}
	raw, err := json.Marshal(s.Data["exceptions"])
	if err != nil {
		return nil, fmt.Errorf("policy exceptions: %w", err)
	}
	if err := json.Unmarshal(raw, &doc); err != nil {
		return nil, fmt.Errorf("policy exceptions: %w", err)
	}
	list := []decision.Exception{}
	for _, one := range doc.List {
		until, err := time.Parse(time.RFC3339, one.Until)
		if err != nil {
			until, err = time.Parse(time.DateOnly, one.Until)
		}
		if err != nil {
			return nil, ostiary.Wrap(ostiary.KindConfigInvalid, err, "the exception for "+one.Rule+` ends at no time: write "2027-01-31"`)
		}
		e := decision.Exception{Rule: one.Rule, Tool: one.Tool, Owner: one.Owner, Reason: one.Reason, Until: until}
		for _, dir := range one.Below {
			e.Below = append(e.Below, path.Clean(dir))
		}
		list = append(list, e)
	}
	return list, nil
}
