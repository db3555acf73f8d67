package whatif

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/open-policy-agent/opa/v1/ast"

	"ostiary"
	"ostiary/agent"
	"ostiary/decision"
	"ostiary/decision/rego"
	"ostiary/decision/workbench/reading"
	"ostiary/internal/strictjson"
	"ostiary/tool"
)

// Value is a JSON value; nil is an absent one.
type Value = reading.Value

// Lab is one state of the policies, with the places of the input that they read.
type Lab struct {
	bench    *rego.Bench
	packages []rego.Package
	reads    []reading.Dimension
	about    map[string]reading.About              // by policy and id
	says     map[string]map[decision.Behavior]bool // by policy
}

// timeout of one evaluation: longer than the sidecar's, so that a busy machine changes no answer.
const timeout = 5 * time.Second

// Open reads and compiles the policies. Their own tests need not pass.
func Open(ctx context.Context, cfg rego.Config) (*Lab, error) {
	src, err := rego.ReadSources(cfg)
	if err != nil {
		return nil, err
	}
	return open(ctx, src)
}

// OpenFiles compiles the policies with these files, by name, in the place of the operator's directory.
func OpenFiles(ctx context.Context, cfg rego.Config, files map[string]string) (*Lab, error) {
	src, err := rego.ReadCandidate(cfg, files)
	if err != nil {
		return nil, err
	}
	return open(ctx, src)
}

func open(ctx context.Context, src rego.Sources) (l *Lab, err error) {
	l = &Lab{}
	if l.bench, err = rego.OpenBench(ctx, src, timeout); err != nil {
		return nil, err
	}
	modules := map[string]*ast.Module{}
	for name, source := range src.Modules {
		if modules[name], err = rego.Parse(name, source); err != nil {
			return nil, err
		}
	}
	found := reading.Find(modules, src.Data)
	l.about, l.says = reading.FindAbout(modules), reading.FindSays(modules)
	l.packages = l.bench.Packages()
	for i, p := range l.packages {
		layer, _, _ := strings.Cut(p.Name, ".")
		if name, ok := strings.CutPrefix(layer, "tenant_"); ok { // it speaks of that tenant's calls alone
			tenant := []string{"caller", "tenant"}
			found.Constant(tenant, reading.Quote(name))
			l.packages[i].Reads = append(slices.Clone(p.Reads), tenant)
		}
	}
	for _, p := range l.packages {
		for _, path := range p.Reads {
			if l.dimension(path) == nil {
				l.reads = append(l.reads, found.Dimension(path))
			}
		}
	}
	slices.SortFunc(l.reads, func(a, b reading.Dimension) int { return strings.Compare(reading.Text(a.Path), reading.Text(b.Path)) })
	return l, nil
}

func (l *Lab) dimension(path []string) *reading.Dimension {
	i := slices.IndexFunc(l.reads, func(d reading.Dimension) bool { return slices.Equal(d.Path, path) })
	if i < 0 {
		return nil
	}
	return &l.reads[i]
}

// answer is what a call comes to: what the rules say, or what holds when none speaks.
type answer struct {
	behavior decision.Behavior
	byRule   bool
	outcome  decision.Outcome
	err      error
}

func (l *Lab) ask(ctx context.Context, in *decision.Input) answer {
	out, err := l.bench.Decide(ctx, *in)
	if err != nil {
		return answer{behavior: decision.Deny, err: err}
	}
	if !out.Spoke {
		return answer{behavior: silence(in), outcome: out}
	}
	return answer{behavior: out.Behavior, byRule: true, outcome: out}
}

// silence is what holds when no rule speaks: a result goes out, a tool is shown, a conclusion stated, and a call follows the caller's profile.
func silence(in *decision.Input) decision.Behavior {
	switch in.Phase {
	case decision.PhaseResult:
		return decision.Passthrough
	case decision.PhaseList, decision.PhaseConclusion:
		return decision.Allow
	case decision.PhaseCall:
	}
	return agent.Identity{Profile: agent.Profile(in.Caller.Profile)}.DefaultBehavior()
}

// ReadInput reads an input document strictly; what it leaves out has its zero value.
func ReadInput(raw []byte) (decision.Input, error) {
	var in decision.Input
	if err := strictjson.Decode(raw, &in); err != nil {
		return in, err
	}
	return in, checkInput(&in)
}

func checkInput(in *decision.Input) error {
	if !slices.Contains([]decision.Phase{decision.PhaseCall, decision.PhaseResult, decision.PhaseConclusion}, in.Phase) {
		return &ostiary.Error{Kind: ostiary.KindInvalidField, Pointer: "/phase", Msg: fmt.Sprintf("phase is %q, want call or result", in.Phase)}
	}
	if _, err := agent.ParseProfile(in.Caller.Profile); err != nil {
		return &ostiary.Error{Kind: ostiary.KindInvalidField, Pointer: "/caller/profile", Msg: err.Error()}
	}
	return nil
}

// rule is something that holds of every document that the sidecar makes.
type rule struct {
	reads [][]string
	holds func(*decision.Input) bool
}

var (
	annotations = func(name string) []string { return []string{"tool", "annotations", name} }
	undeclared  = tool.Annotations{}.Resolve()
)

// rules are what the sidecar itself sees to (docs/policies.md, The input document).
func rules() []rule {
	source, phase, tainted, labels := []string{"tool", "annotations_source"}, []string{"phase"}, []string{"session", "tainted"}, []string{"session", "labels"}
	declared := func(is func(tool.Risk) bool) func(*decision.Input) bool {
		return func(in *decision.Input) bool {
			return in.Tool.AnnotationsSource != tool.Undeclared || is(in.Tool.Annotations) == is(undeclared)
		}
	}
	out := []rule{
		{[][]string{tainted, labels}, func(in *decision.Input) bool {
			return in.Session.Tainted == slices.Contains(in.Session.Labels, tool.LabelUntrusted)
		}},
		{[][]string{source, annotations("read_only")}, declared(func(r tool.Risk) bool { return r.ReadOnly })},
		{[][]string{source, annotations("destructive")}, declared(func(r tool.Risk) bool { return r.Destructive })},
		{[][]string{source, annotations("open_world")}, declared(func(r tool.Risk) bool { return r.OpenWorld })},
		{[][]string{source, annotations("sensitive_sink")}, declared(func(r tool.Risk) bool { return r.SensitiveSink })},
		{[][]string{source, annotations("idempotent")}, declared(func(r tool.Risk) bool { return r.Idempotent })},
		{[][]string{{"evidence", "status"}, {"evidence", "warnings"}}, func(in *decision.Input) bool { return in.Evidence == nil || in.Evidence.Status != "" }},
	}
	for _, name := range []string{"status", "labels", "findings"} {
		out = append(out, rule{[][]string{phase, {"result", name}}, func(in *decision.Input) bool { return (in.Result != nil) == (in.Phase == decision.PhaseResult) }})
	}
	return out
}
