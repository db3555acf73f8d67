package wire

import (
	"fmt"

	"github.com/go-json-experiment/json"

	"ostiary/queue"
)

// ReviewOf points to an item.
func ReviewOf(item queue.Item) *Review {
	return &Review{ID: item.ID, State: string(item.State), URL: "/v1/reviews/" + item.ID, ExpiresAt: item.ExpiresAt}
}

// Attach adds the review behind a decision, and what the reviewer answered in place of a ruling.
func (d *Decision) Attach(item queue.Item) {
	d.Review = ReviewOf(item)
	if item.State == queue.Responded {
		d.ContentBlocks = append(d.ContentBlocks, ContentBlock{Type: "text", Text: item.Rulings[len(item.Rulings)-1].Text})
	}
}

// AttachConclusion adds the text of an approved conclusion as the reviewer saw it, with the mark where it needs one.
func (d *Decision) AttachConclusion(item queue.Item) error {
	var shown struct {
		Text string `json:"text"`
	}
	if err := json.Unmarshal(item.Input, &shown); err != nil {
		return fmt.Errorf("conclusion of %s: %w", item.ID, err)
	}
	d.ContentBlocks = append(d.ContentBlocks, ContentBlock{Type: "text", Text: shown.Text})
	return nil
}
