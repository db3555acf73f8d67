package whatif

import (
	"cmp"
	"context"
	"math"
	"slices"

	"ostiary/decision"
	"ostiary/decision/workbench/invariant"
	"ostiary/decision/workbench/reading"
	"ostiary/tool"
)

// VerifyReport says which invariants hold.
type VerifyReport struct {
	OK       bool     `json:"ok"`
	Revision string   `json:"revision"`
	Results  []Result `json:"results"`
}

// Result is what came of one invariant. It holds for the Cases that were covered; Complete says that these are all that the policies can tell
// apart, and Bounds why not.
type Result struct {
	Name        string    `json:"name"`
	Holds       bool      `json:"holds"`
	Complete    bool      `json:"complete"`
	Bounds      []string  `json:"bounds"`
	Cases       float64   `json:"cases"`
	Evaluations int       `json:"evaluations"` // of one package
	Failures    int       `json:"failures"`    // evaluations that failed, which denies
	Counters    []Counter `json:"counterexamples"`
}

// Counter is a call that breaks an invariant, with as little in it as does. Differs are the places that matter beside those of the invariant.
type Counter struct {
	Behavior decision.Behavior `json:"behavior"`
	Rules    []string          `json:"rules"`
	Differs  []Reading         `json:"differs"`
	Input    decision.Input    `json:"input"`
}

// Limits of a search.
const (
	// Budget is how many evaluations one invariant may take when nobody says otherwise.
	Budget      = 200_000
	maxCounters = 3
	maxBroken   = 50         // calls that break an invariant and are looked at
	maxSteps    = 20_000_000 // values that are put
	maxProbes   = 20_000
	maxPerPlace = 6                        // values of one place that are tried in pairs
	nobody      = decision.Passthrough + 1 // no rule has spoken yet
)

// Verify looks for calls that break invariants, with a budget of evaluations for each.
func (l *Lab) Verify(ctx context.Context, invariants []invariant.Invariant, budget int, progress func(done, total uint64)) (VerifyReport, error) {
	report := VerifyReport{OK: true, Revision: l.bench.Revision()}
	for _, inv := range invariants {
		s, err := l.plan(inv)
		if err != nil {
			return report, invariant.Refuse(inv.Name, err)
		}
		s.budget, s.progress = budget, progress
		if s.probe(ctx); s.broken == 0 {
			err = s.walk(ctx, 0, s.base, nobody)
		}
		if err = cmp.Or(err, ctx.Err()); err != nil {
			return report, err
		}
		r := s.result()
		report.OK = report.OK && r.Holds
		report.Results = append(report.Results, r)
	}
	return report, nil
}

// search walks all values of the places that are read, package by package, and leaves out what no further place can change.
type search struct {
	lab      *Lab
	inv      invariant.Invariant
	excepted bool // some rules may be lifted
	base     decision.Input
	dims     []reading.Dimension
	given    map[string]bool // places of the invariant
	packages [][]int         // that can be asked once the place of that number is filled
	rules    [][]rule        // that can be judged then
	places   map[int][]int   // of each package
	later    [][]int         // packages that come after a place
	cases    []float64       // below each place
	at       []int
	known    map[string]decision.Behavior
	budget   int
	progress func(done, total uint64)

	steps, deepest, evaluations, failures, broken int
	covered                                       float64
	stopped                                       string
	possible                                      bool // the sidecar makes some such call
	counters                                      []Counter
}

func (l *Lab) plan(inv invariant.Invariant) (*search, error) {
	s := &search{lab: l, inv: inv, excepted: len(l.bench.Exceptions()) > 0, given: map[string]bool{}, known: map[string]decision.Behavior{}, places: map[int][]int{}}
	s.base = decision.Input{Phase: decision.PhaseCall, Args: Value("{}"), Tool: decision.ToolFacts{Namespace: reading.Fresh, Name: reading.Fresh, AnnotationsSource: tool.FromOperator},
		Caller: decision.Caller{Agent: reading.Fresh, Tenant: reading.Fresh, Profile: "api"}}
	for _, c := range inv.When {
		d, err := c.Narrow(l.dimensionOr(c.Path))
		if err != nil {
			return nil, err
		}
		s.given[reading.Text(c.Path)] = true
		s.add(d)
	}
	if s.silenceMatters() {
		s.add(l.dimensionOr([]string{"caller", "profile"}))
	}
	left := make([]int, len(l.packages))
	for i := range left {
		left[i] = i
	}
	var order []int
	for len(left) > 0 { // what looks at the invariant's places first, then what can break it, then what needs the fewest more places
		best := slices.MinFunc(left, func(a, b int) int {
			return cmp.Or(cmp.Compare(s.looks(b), s.looks(a)), cmp.Compare(s.rank(a), s.rank(b)), cmp.Compare(s.cost(a), s.cost(b)), cmp.Compare(a, b))
		})
		for _, path := range l.packages[best].Reads {
			s.add(*l.dimension(path))
		}
		order = append(order, best)
		left = slices.DeleteFunc(left, func(p int) bool { return p == best })
	}
	s.schedule(order)
	return s, nil
}

// dimensionOr is the dimension of a place, or what stands there when no policy reads it.
func (l *Lab) dimensionOr(path []string) reading.Dimension {
	if d := l.dimension(path); d != nil {
		return *d
	}
	if reading.Text(path) == "caller.profile" {
		return reading.Dimension{Path: path, Values: []Value{Value(`"api"`), Value(`"hook"`)}}
	}
	return reading.Dimension{Path: path}
}

func (s *search) add(d reading.Dimension) {
	if s.place(d.Path) < 0 {
		s.dims = append(s.dims, d)
	}
}

func (s *search) place(path []string) int {
	return slices.IndexFunc(s.dims, func(d reading.Dimension) bool { return slices.Equal(d.Path, path) })
}

// silenceMatters reports whether a call of which no rule speaks could break the invariant.
func (s *search) silenceMatters() bool {
	return slices.Contains(s.inv.Never, decision.Ask) || slices.Contains(s.inv.Never, decision.Passthrough)
}

// looks counts the places of the invariant that a package looks at, but the phase, which all do.
func (s *search) looks(p int) int {
	n := 0
	for _, path := range s.lab.packages[p].Reads {
		if at := reading.Text(path); s.given[at] && at != "phase" {
			n++
		}
	}
	return n
}

// rank puts the packages first that can say what must never be.
func (s *search) rank(p int) int {
	if s.canSay(p, nobody) {
		return 0
	}
	return 1
}

// canSay reports whether a package can say something forbidden that is as strict as what was said.
func (s *search) canSay(p int, said decision.Behavior) bool {
	behaviors := s.lab.says[s.lab.packages[p].Name]
	return slices.ContainsFunc(s.inv.Never, func(n decision.Behavior) bool { return n <= said && behaviors[n] })
}

func (s *search) cost(p int) float64 {
	cost := 0.0
	for _, path := range s.lab.packages[p].Reads {
		if s.place(path) < 0 {
			cost += math.Log(float64(len(s.lab.dimension(path).Values)))
		}
	}
	return cost
}

// schedule says after which place each package can be asked, and each rule of the sidecar's be judged.
func (s *search) schedule(order []int) {
	n := len(s.dims)
	s.packages, s.rules, s.later, s.cases, s.at = make([][]int, n), make([][]rule, n), make([][]int, n), make([]float64, n+1), make([]int, n)
	for _, p := range order {
		last := 0
		for _, path := range s.lab.packages[p].Reads {
			at := s.place(path)
			s.places[p] = append(s.places[p], at)
			last = max(last, at)
		}
		s.packages[last] = append(s.packages[last], p)
	}
	for i := range n {
		for _, after := range s.packages[i+1:] {
			s.later[i] = append(s.later[i], after...)
		}
	}
	for _, r := range rules() {
		last := -1
		for _, path := range r.reads {
			at := s.place(path)
			if at < 0 {
				last = -1
				break
			}
			last = max(last, at)
		}
		if last >= 0 {
			s.rules[last] = append(s.rules[last], r)
		}
	}
	s.cases[n] = 1
	for i := n - 1; i >= 0; i-- {
		s.cases[i] = s.cases[i+1] * float64(len(s.dims[i].Values))
	}
}

// walk fills the places from one on; said is the strictest that was said so far.
func (s *search) walk(ctx context.Context, place int, in decision.Input, said decision.Behavior) error {
	s.deepest = max(s.deepest, place)
	for i, v := range s.dims[place].Values {
		if s.stopped != "" || ctx.Err() != nil {
			return ctx.Err()
		}
		s.progress(uint64(s.evaluations), uint64(s.budget))
		if s.steps++; s.steps > maxSteps*s.budget {
			s.stopped = "too many cases"
			return nil
		}
		next := in
		if err := reading.Put(&next, s.dims[place].Path, v); err != nil {
			return err
		}
		s.at[place] = i
		if !s.together(s.at, place, &next) || slices.ContainsFunc(s.rules[place], func(r rule) bool { return !r.holds(&next) }) {
			s.covered += s.cases[place+1] // there are no such calls
			continue
		}
		s.possible = s.possible || place >= len(s.given)-1
		now := said
		for _, p := range s.packages[place] {
			now = min(now, s.ask(ctx, p, &next))
		}
		switch {
		case s.stopped != "":
			return nil
		case !s.open(place, now):
			s.covered += s.cases[place+1]
		case place == len(s.dims)-1:
			s.covered++
			s.judge(ctx, next, now)
		default:
			if err := s.walk(ctx, place+1, next, now); err != nil {
				return err
			}
		}
	}
	return nil
}

// together reports whether a part that may be absent is there, or is not, for all places in it up to one.
func (s *search) together(at []int, place int, in *decision.Input) bool {
	part := s.dims[place].Path[0]
	for i, d := range s.dims[:place+1] {
		if d.Path[0] == part && (reading.Get(in, d.Path) == nil) != (d.Values[at[i]] == nil) {
			return false
		}
	}
	return true
}

// open reports whether the invariant can still be broken, by what was said or by what comes after a place.
func (s *search) open(place int, said decision.Behavior) bool {
	if slices.Contains(s.inv.Never, said) || said == nobody && s.silenceMatters() {
		return true
	}
	return slices.ContainsFunc(s.later[place], func(p int) bool { return s.canSay(p, said) })
}

// ask is the strictest that a package says; nobody when it is silent.
func (s *search) ask(ctx context.Context, p int, in *decision.Input) decision.Behavior {
	key := []byte{byte(p), byte(p >> 8)}
	for _, at := range s.places[p] {
		key = append(key, byte(s.at[at]), byte(s.at[at]>>8))
	}
	if b, ok := s.known[string(key)]; ok {
		return b
	}
	if s.evaluations++; s.evaluations > s.budget {
		s.evaluations, s.stopped = s.budget, "the budget of evaluations"
		return nobody
	}
	verdicts, err := s.lab.bench.Ask(ctx, p, in)
	b, spoke := decision.Combine(verdicts)
	switch {
	case err != nil:
		s.failures++
		b = decision.Deny
	case !spoke:
		b = nobody
	}
	s.known[string(key)] = b
	return b
}

func (s *search) breaks(in *decision.Input, said decision.Behavior) bool {
	if said == nobody {
		said = silence(in)
	}
	return slices.Contains(s.inv.Never, said)
}

func (s *search) result() Result {
	r := Result{Name: s.inv.Name, Holds: len(s.counters) == 0, Cases: s.covered, Evaluations: s.evaluations, Failures: s.failures, Bounds: []string{}, Counters: s.counters}
	if r.Counters == nil {
		r.Counters = []Counter{}
	}
	if s.stopped != "" && r.Holds {
		r.Bounds = append(r.Bounds, "stopped by "+s.stopped)
	}
	for _, d := range s.dims[:s.deepest+1] {
		if d.Bound != "" {
			r.Bounds = append(r.Bounds, reading.Text(d.Path)+": "+d.Bound)
		}
	}
	if s.excepted {
		r.Bounds = append(r.Bounds, "exceptions are not looked at")
	}
	if !s.possible {
		r.Bounds = append(r.Bounds, "the sidecar makes no such call at all")
	}
	r.Complete = r.Holds && len(r.Bounds) == 0
	return r
}
