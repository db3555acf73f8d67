package document

import (
	"bytes"
	"fmt"

	"github.com/go-json-experiment/json"
	"github.com/open-policy-agent/opa/v1/ast"

	"ostiary/decision"
)

// Project builds the document that holds the fields with these numbers and nothing else.
func Project(in *decision.Input, fields []Field, numbers []int) (ast.Value, error) {
	doc := ast.NewObject()
	for _, i := range numbers {
		value, err := fields[i].Term(in)
		if err != nil {
			return nil, fmt.Errorf("input document: %w", err)
		}
		if value != nil {
			insert(doc, fields[i].keys, value)
		}
	}
	return doc, nil
}

// insert puts a value at a place of a document.
func insert(doc ast.Object, place []*ast.Term, value *ast.Term) {
	for _, key := range place[:len(place)-1] {
		below := doc.Get(key)
		if below == nil {
			below = ast.NewTerm(ast.NewObject())
			doc.Insert(key, below)
		}
		doc = below.Value.(ast.Object) //nolint:forcetypeassert // nothing else was put here
	}
	doc.Insert(place[len(place)-1], value)
}

// Whole builds the whole document, from its JSON form.
func Whole(in *decision.Input) (ast.Value, error) {
	doc := *in
	if len(doc.Args) == 0 {
		doc.Args = []byte("{}") // so that rules may look into it
	}
	raw, err := json.Marshal(doc)
	if err != nil {
		return nil, fmt.Errorf("input document: %w", err)
	}
	return ast.ValueFromReader(bytes.NewReader(raw)) // keeps numbers exact
}
