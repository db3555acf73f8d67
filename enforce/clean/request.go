package clean

import (
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"ostiary"
	"ostiary/enforce/wire"
	"ostiary/internal/strictjson"
)

// Check refuses a request that is not exactly one result, or one that contradicts itself.
func Check(req wire.ResultRequest) error {
	if (req.Result != nil) == (len(req.Content) > 0) {
		return &ostiary.Error{Kind: ostiary.KindInvalidField, Pointer: "", Msg: "give exactly one of result and content"}
	}
	if req.Result != nil {
		if err := req.Result.Check(); err != nil {
			return &ostiary.Error{Kind: ostiary.KindInvalidField, Pointer: "/result", Msg: err.Error()}
		}
	}
	if k := req.Content.Kind(); len(req.Content) > 0 && k != '"' && k != '[' {
		return &ostiary.Error{Kind: ostiary.KindInvalidField, Pointer: "/content", Msg: "content must be a string or a list of content blocks"}
	}
	if req.MaxLength != nil && *req.MaxLength < 0 {
		return &ostiary.Error{Kind: ostiary.KindInvalidField, Pointer: "/max_length", Msg: "max_length must not be negative"}
	}
	return nil
}

// RawText is what an untrusted result said, before cleaning: what was cut out of it must still be known as untrusted.
func RawText(req wire.ResultRequest) string {
	var b strings.Builder
	for _, doc := range []jsontext.Value{req.Content, req.StructuredContent} {
		appendStrings(&b, doc)
	}
	if req.Result != nil {
		appendStrings(&b, req.Result.Data)
		meta := req.Result.Meta
		meta.DurationMS, meta.OriginalLength, meta.ReturnedLength = 0, 0, 0 // measured, not said
		if doc, err := json.Marshal(around{req.Result.Warnings, req.Result.Error, meta}); err == nil {
			appendStrings(&b, doc)
		}
	}
	return b.String()
}

func appendStrings(b *strings.Builder, doc jsontext.Value) {
	if len(doc) == 0 {
		return
	}
	leaves, err := strictjson.Leaves(doc)
	if err != nil {
		return // the face has read it strictly already
	}
	for _, l := range leaves {
		if l.Kind == '"' || l.Kind == '0' {
			b.WriteString(l.Text + "\n")
		}
	}
}
