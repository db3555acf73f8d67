package document

import (
	"bytes"
	"fmt"

	"github.com/go-json-experiment/json"
	"github.com/open-policy-agent/opa/v1/ast"

	"ostiary/decision"
)

// Values are the field values of one input, each made when it is first asked for. They are for one goroutine.
type Values struct {
	in     *decision.Input
	fields []Field
	made   []made
}

// made is the value of a field, once it was asked for.
type made struct {
	term *ast.Term
	err  error
	done bool
}

// NewValues returns the values of an input, numbered as the fields are.
func NewValues(in *decision.Input, fields []Field) *Values {
	return &Values{in: in, fields: fields, made: make([]made, len(fields))}
}

// Term is the value of a field as policies see it; nil when it is absent.
func (v *Values) Term(field int) (*ast.Term, error) {
	m := &v.made[field]
	if !m.done {
		m.term, m.err = v.fields[field].Term(v.in)
		m.done = true
	}
	return m.term, m.err
}

// Project builds the document that holds the fields with these numbers and nothing else.
func (v *Values) Project(numbers []int) (ast.Value, error) {
	doc := ast.NewObject()
	for _, i := range numbers {
		value, err := v.Term(i)
		if err != nil {
			return nil, fmt.Errorf("input document: %w", err)
		}
		if value != nil {
			insert(doc, v.fields[i].keys, value)
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
