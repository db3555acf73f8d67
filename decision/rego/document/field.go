package document

import (
	"bytes"
	"encoding/binary"
	"math"
	"slices"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/open-policy-agent/opa/v1/ast"

	"ostiary/decision"
	"ostiary/tool"
)

// Field is a part of the input document that is read as one. No field of a document stands above another.
type Field struct {
	Path []string
	keys []*ast.Term // Path, as terms
	// Text appends what identifies the value: of two inputs with equal texts the values are equal. It begins with a byte that says whether
	// there is a value, and says itself where it ends.
	Text func(b []byte, in *decision.Input) []byte
	// Term is the value as policies see it; nil when it is absent.
	Term func(in *decision.Input) (*ast.Term, error)
}

const (
	absent  = 0
	present = 1
)

func newField(text func([]byte, *decision.Input) []byte, term func(*decision.Input) (*ast.Term, error), path ...string) Field {
	f := Field{Path: path, Text: text, Term: term}
	for _, p := range path {
		f.keys = append(f.keys, ast.StringTerm(p))
	}
	return f
}

func appendString(b []byte, s string) []byte {
	return append(binary.AppendUvarint(append(b, present), uint64(len(s))), s...)
}

func appendBool(b []byte, v bool) []byte {
	if v {
		return append(b, present, 1)
	}
	return append(b, present, 0)
}

func appendInt(b []byte, n int) []byte { return binary.AppendVarint(append(b, present), int64(n)) }

func textField[S ~string](get func(*decision.Input) S, path ...string) Field {
	return newField(func(b []byte, in *decision.Input) []byte { return appendString(b, string(get(in))) },
		func(in *decision.Input) (*ast.Term, error) { return ast.StringTerm(string(get(in))), nil }, path...)
}

func flagField(get func(*decision.Input) bool, path ...string) Field {
	return newField(func(b []byte, in *decision.Input) []byte { return appendBool(b, get(in)) },
		func(in *decision.Input) (*ast.Term, error) { return ast.BooleanTerm(get(in)), nil }, path...)
}

func countField(get func(*decision.Input) int, path ...string) Field {
	return newField(func(b []byte, in *decision.Input) []byte { return appendInt(b, get(in)) },
		func(in *decision.Input) (*ast.Term, error) { return ast.IntNumberTerm(get(in)), nil }, path...)
}

func listField[S ~string](get func(*decision.Input) []S, path ...string) Field {
	text := func(b []byte, in *decision.Input) []byte {
		list := get(in)
		b = appendInt(b, len(list))
		for _, s := range list {
			b = appendString(b, string(s))
		}
		return b
	}
	return newField(text, func(in *decision.Input) (*ast.Term, error) { return listTerm(get(in)), nil }, path...)
}

func listTerm[S ~string](list []S) *ast.Term {
	terms := make([]*ast.Term, len(list))
	for i, s := range list {
		terms[i] = ast.StringTerm(string(s))
	}
	return ast.ArrayTerm(terms...)
}

// where makes a field absent in inputs for which there says so.
func where(there func(*decision.Input) bool, f Field) Field {
	text, term := f.Text, f.Term
	f.Text = func(b []byte, in *decision.Input) []byte {
		if !there(in) {
			return append(b, absent)
		}
		return text(b, in)
	}
	f.Term = func(in *decision.Input) (*ast.Term, error) {
		if !there(in) {
			return nil, nil
		}
		return term(in)
	}
	return f
}

// confidence is told by its bits, so that no two numbers have one text.
func confidenceField() Field {
	return newField(func(b []byte, in *decision.Input) []byte {
		if in.Caller.Confidence == nil {
			return append(b, absent)
		}
		return binary.BigEndian.AppendUint64(append(b, present), math.Float64bits(*in.Caller.Confidence))
	}, func(in *decision.Input) (*ast.Term, error) {
		if in.Caller.Confidence == nil {
			return nil, nil
		}
		return ast.FloatNumberTerm(*in.Caller.Confidence), nil
	}, "caller", "confidence")
}

func findingsField() Field {
	text := func(b []byte, in *decision.Input) []byte {
		b = appendInt(b, len(in.Result.Findings))
		for _, family := range sortedKeys(in.Result.Findings) {
			b = appendInt(appendString(b, family), in.Result.Findings[family])
		}
		return b
	}
	return newField(text, func(in *decision.Input) (*ast.Term, error) {
		object := ast.NewObject()
		for _, family := range sortedKeys(in.Result.Findings) {
			object.Insert(ast.StringTerm(family), ast.IntNumberTerm(in.Result.Findings[family]))
		}
		return ast.NewTerm(object), nil
	}, "result", "findings")
}

func sortedKeys(m map[string]int) []string {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}

func provenanceField() Field {
	text := func(b []byte, in *decision.Input) []byte {
		b = appendInt(b, len(in.Provenance.Args))
		for _, a := range in.Provenance.Args {
			b = appendString(appendString(appendString(appendString(b, a.Pointer), a.Role), string(a.Origin)), a.Source)
		}
		return b
	}
	return newField(text, func(in *decision.Input) (*ast.Term, error) {
		terms := make([]*ast.Term, len(in.Provenance.Args))
		for i, a := range in.Provenance.Args {
			pairs := [][2]*ast.Term{
				{ast.StringTerm("pointer"), ast.StringTerm(a.Pointer)}, {ast.StringTerm("role"), ast.StringTerm(a.Role)}, {ast.StringTerm("origin"), ast.StringTerm(string(a.Origin))},
			}
			if a.Source != "" {
				pairs = append(pairs, [2]*ast.Term{ast.StringTerm("source"), ast.StringTerm(a.Source)})
			}
			terms[i] = ast.ObjectTerm(pairs...)
		}
		return ast.ArrayTerm(terms...), nil
	}, "provenance", "args")
}

func commandsField() Field {
	text := func(b []byte, in *decision.Input) []byte {
		b = appendInt(b, len(in.Parsed.Commands))
		for _, c := range in.Parsed.Commands {
			b = appendBool(appendString(appendString(b, c.Name), c.Via), c.Dynamic)
			b = appendInt(b, len(c.Args))
			for _, a := range c.Args {
				b = appendString(b, a)
			}
			b = appendInt(b, len(c.Redirects))
			for _, r := range c.Redirects {
				b = appendString(appendString(b, r.Op), r.Path)
			}
		}
		return b
	}
	return newField(text, func(in *decision.Input) (*ast.Term, error) {
		terms := make([]*ast.Term, len(in.Parsed.Commands))
		for i, c := range in.Parsed.Commands {
			terms[i] = commandTerm(c)
		}
		return ast.ArrayTerm(terms...), nil
	}, "parsed", "commands")
}

func commandTerm(c decision.Command) *ast.Term {
	redirects := make([]*ast.Term, len(c.Redirects))
	for i, r := range c.Redirects {
		redirects[i] = ast.ObjectTerm([2]*ast.Term{ast.StringTerm("op"), ast.StringTerm(r.Op)}, [2]*ast.Term{ast.StringTerm("path"), ast.StringTerm(r.Path)})
	}
	return ast.ObjectTerm(
		[2]*ast.Term{ast.StringTerm("name"), ast.StringTerm(c.Name)}, [2]*ast.Term{ast.StringTerm("args"), listTerm(c.Args)},
		[2]*ast.Term{ast.StringTerm("dynamic"), ast.BooleanTerm(c.Dynamic)}, [2]*ast.Term{ast.StringTerm("redirects"), ast.ArrayTerm(redirects...)},
		[2]*ast.Term{ast.StringTerm("via"), ast.StringTerm(c.Via)},
	)
}

// Args is the value at a place below args; with no path it is all of args. The arguments must be strict JSON (internal/strictjson), in
// which no name occurs twice.
func Args(path ...string) Field {
	return newField(func(b []byte, in *decision.Input) []byte {
		value, ok := below(in.Args, path)
		if !ok {
			return append(b, absent)
		}
		return appendString(b, string(value))
	}, func(in *decision.Input) (*ast.Term, error) {
		value, ok := below(in.Args, path)
		if !ok {
			return nil, nil
		}
		v, err := ast.ValueFromReader(bytes.NewReader(value)) // keeps numbers exact
		return ast.NewTerm(v), err
	}, append([]string{"args"}, path...)...)
}

// below finds the value at a path of member names; it reports false when there is none.
func below(doc jsontext.Value, path []string) (jsontext.Value, bool) {
	if len(doc) == 0 {
		doc = jsontext.Value("{}") // so that rules may look into it
	}
	if len(path) == 0 {
		return doc, true
	}
	dec := jsontext.NewDecoder(bytes.NewReader(doc), jsontext.AllowDuplicateNames(true))
	for _, name := range path {
		if dec.PeekKind() != '{' {
			return nil, false
		}
		if _, err := dec.ReadToken(); err != nil || !enter(dec, name) {
			return nil, false
		}
	}
	value, err := dec.ReadValue()
	return value, err == nil
}

// enter moves to the value of a member of the object that dec stands in.
func enter(dec *jsontext.Decoder, name string) bool {
	for dec.PeekKind() == '"' {
		key, err := dec.ReadToken()
		if err != nil {
			return false
		}
		if key.String() == name {
			return true
		}
		if dec.SkipValue() != nil {
			return false
		}
	}
	return false
}

// Fields are all parts of the input document but those below args.
func Fields() []Field {
	evidence := func(in *decision.Input) bool { return in.Evidence != nil }
	result := func(in *decision.Input) bool { return in.Result != nil }
	return []Field{
		textField(func(in *decision.Input) decision.Phase { return in.Phase }, "phase"),
		textField(func(in *decision.Input) string { return in.Tool.Namespace }, "tool", "namespace"),
		textField(func(in *decision.Input) string { return in.Tool.Name }, "tool", "name"),
		textField(func(in *decision.Input) string { return in.Tool.DefinitionDigest }, "tool", "definition_digest"),
		flagField(func(in *decision.Input) bool { return in.Tool.Annotations.ReadOnly }, "tool", "annotations", "read_only"),
		flagField(func(in *decision.Input) bool { return in.Tool.Annotations.Idempotent }, "tool", "annotations", "idempotent"),
		flagField(func(in *decision.Input) bool { return in.Tool.Annotations.Destructive }, "tool", "annotations", "destructive"),
		flagField(func(in *decision.Input) bool { return in.Tool.Annotations.OpenWorld }, "tool", "annotations", "open_world"),
		flagField(func(in *decision.Input) bool { return in.Tool.Annotations.SensitiveSink }, "tool", "annotations", "sensitive_sink"),
		textField(func(in *decision.Input) string { return string(in.Tool.AnnotationsSource) }, "tool", "annotations_source"),
		flagField(func(in *decision.Input) bool { return in.Tool.Drifted }, "tool", "drifted"),
		textField(func(in *decision.Input) string { return in.Caller.Agent }, "caller", "agent"),
		textField(func(in *decision.Input) string { return in.Caller.Tenant }, "caller", "tenant"),
		textField(func(in *decision.Input) string { return in.Caller.Profile }, "caller", "profile"),
		confidenceField(),
		where(func(in *decision.Input) bool { return in.Caller.Verdict != "" }, textField(func(in *decision.Input) string { return in.Caller.Verdict }, "caller", "verdict")),
		flagField(func(in *decision.Input) bool { return in.Caller.ReportsConfidence }, "caller", "reports_confidence"),
		where(evidence, textField(func(in *decision.Input) string { return in.Evidence.Status }, "evidence", "status")),
		where(evidence, listField(func(in *decision.Input) []string { return in.Evidence.Warnings }, "evidence", "warnings")),
		listField(func(in *decision.Input) []tool.Label { return in.Session.Labels }, "session", "labels"),
		flagField(func(in *decision.Input) bool { return in.Session.Tainted }, "session", "tainted"),
		countField(func(in *decision.Input) int { return in.Session.ErrorStreak }, "session", "error_streak"),
		flagField(func(in *decision.Input) bool { return in.Session.IterationOver }, "session", "iteration_over"),
		flagField(func(in *decision.Input) bool { return in.Session.OverBudget }, "session", "over_budget"),
		flagField(func(in *decision.Input) bool { return in.Session.Carried }, "session", "carried"),
		flagField(func(in *decision.Input) bool { return in.Request.Known }, "request", "known"),
		provenanceField(),
		where(result, textField(func(in *decision.Input) string { return string(in.Result.Status) }, "result", "status")),
		where(result, listField(func(in *decision.Input) []tool.Label { return in.Result.Labels }, "result", "labels")),
		where(result, findingsField()),
		listField(func(in *decision.Input) []string { return in.Parsed.Paths }, "parsed", "paths"),
		listField(func(in *decision.Input) []string { return in.Parsed.Hosts }, "parsed", "hosts"),
		listField(func(in *decision.Input) []string { return in.Parsed.Files }, "parsed", "files"),
		commandsField(),
		flagField(func(in *decision.Input) bool { return in.Parsed.Unparsable }, "parsed", "unparsable"),
		listField(func(in *decision.Input) []string { return in.Parsed.SQL.Verbs }, "parsed", "sql", "verbs"),
		flagField(func(in *decision.Input) bool { return in.Parsed.SQL.Multi }, "parsed", "sql", "multi"),
		flagField(func(in *decision.Input) bool { return in.Parsed.SQL.Unbounded }, "parsed", "sql", "unbounded"),
		flagField(func(in *decision.Input) bool { return in.Parsed.SQL.Unparsable }, "parsed", "sql", "unparsable"),
		countField(func(in *decision.Input) int { return in.Clock.MinuteOfWeek }, "clock", "minute_of_week"),
		flagField(func(in *decision.Input) bool { return in.Clock.WorkHours }, "clock", "work_hours"),
	}
}
