package workbench

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/open-policy-agent/opa/v1/ast"
	"github.com/open-policy-agent/opa/v1/storage"
	"github.com/open-policy-agent/opa/v1/storage/inmem"

	"ostiary/decision/rego"
)

// Bench holds the shipped policies and an operator's. Nothing changes it once it is open.
type Bench struct {
	src     rego.Sources    // everything that could be read
	own     map[string]bool // the files that are looked at; the others only help to compile them
	modules map[string]*ast.Module
	tests   map[string]*ast.Module
	faults  []Finding // of reading: data that does not fit, files that are no Rego
}

// Open reads the sources. The operator's files are looked at; with shipped, or without an operator's directory, ours are.
func Open(cfg rego.Config, shipped bool) (*Bench, error) {
	operator := rego.Sources{}
	var err error
	if cfg.OperatorDir != "" {
		if operator, err = rego.ReadOperator(cfg.OperatorDir); err != nil {
			return nil, err
		}
	}
	return open(cfg, operator, shipped || cfg.OperatorDir == "")
}

// OpenFiles reads the sources with these files, by name, in the place of the operator's directory.
func OpenFiles(cfg rego.Config, files map[string]string) (*Bench, error) {
	operator, err := rego.OperatorFiles(files)
	if err != nil {
		return nil, err
	}
	return open(cfg, operator, false)
}

func open(cfg rego.Config, operator rego.Sources, shipped bool) (b *Bench, err error) {
	b = &Bench{own: map[string]bool{}, modules: map[string]*ast.Module{}, tests: map[string]*ast.Module{}}
	cfg.OperatorDir = ""
	if b.src, err = rego.ReadSources(cfg); err != nil {
		b.faults = append(b.faults, dataFault(err))
		cfg.Settings = nil // the rest is judged by the data that we ship
		if b.src, err = rego.ReadSources(cfg); err != nil {
			return nil, err
		}
	}
	if shipped {
		b.choose(b.src)
	}
	b.choose(operator)
	maps.Copy(b.src.Modules, operator.Modules)
	maps.Copy(b.src.Tests, operator.Tests)
	b.parse(b.src.Modules, b.modules)
	b.parse(b.src.Tests, b.tests)
	return b, nil
}

func (b *Bench) choose(src rego.Sources) {
	for _, files := range []map[string]string{src.Modules, src.Tests} {
		for name := range files {
			b.own[name] = true
		}
	}
}

// parse reads files; what is no Rego is a fault.
func (b *Bench) parse(files map[string]string, into map[string]*ast.Module) {
	for _, name := range slices.Sorted(maps.Keys(files)) {
		m, err := rego.Parse(name, files[name])
		if err != nil {
			b.faults = append(b.faults, compileFindings(err, name)...)
		} else if m != nil {
			into[name] = m
		}
	}
}

// operators reports whether a file is the operator's, and not ours.
func (b *Bench) operators(name string) bool {
	return !strings.HasPrefix(name, rego.Shipped)
}

func (b *Bench) store() storage.Store {
	return inmem.NewFromObjectWithOpts(map[string]any{"ostiary": b.src.Data}, inmem.OptRoundTripOnWrite(false))
}

// Finding is one thing that is wrong, and what to do.
type Finding struct {
	ID      string `json:"id"` // stable; lint's can be silenced by it
	File    string `json:"file,omitempty"`
	Line    int    `json:"line,omitempty"`
	Message string `json:"message"`
	Fix     string `json:"fix,omitempty"`
	Warning bool   `json:"warning,omitempty"` // does not keep the policies from being put in force
}

// Report lists what was found.
type Report struct {
	OK       bool      `json:"ok"`
	Files    int       `json:"files"` // that were looked at
	Findings []Finding `json:"findings"`
}

// report sorts findings by place and drops what is said twice.
func (b *Bench) report(findings []Finding, strict bool) Report {
	slices.SortStableFunc(findings, func(x, y Finding) int {
		return cmp.Or(strings.Compare(x.File, y.File), cmp.Compare(x.Line, y.Line), strings.Compare(x.ID, y.ID), strings.Compare(x.Message, y.Message))
	})
	r := Report{OK: true, Files: len(b.own), Findings: slices.CompactFunc(findings, func(x, y Finding) bool {
		return x.File == y.File && x.Line == y.Line && x.Message == y.Message
	})}
	for _, f := range r.Findings {
		r.OK = r.OK && f.Warning && !strict
	}
	if r.Findings == nil {
		r.Findings = []Finding{}
	}
	return r
}

func place(file string, line int) string {
	if file == "" {
		return ""
	}
	return fmt.Sprintf("%s:%d: ", file, line)
}
