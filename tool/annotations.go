package tool

// Annotations are a tool's policy facts as they were declared; nil means "not declared", which is not "false" (A2, B3).
type Annotations struct {
	ReadOnly      *bool `json:"read_only,omitzero" yaml:"read_only"`
	Idempotent    *bool `json:"idempotent,omitzero" yaml:"idempotent"`
	Destructive   *bool `json:"destructive,omitzero" yaml:"destructive"`
	OpenWorld     *bool `json:"open_world,omitzero" yaml:"open_world"`
	SensitiveSink *bool `json:"sensitive_sink,omitzero" yaml:"sensitive_sink"`
}

// Risk is the resolved form of Annotations: the only one that policies see.
type Risk struct {
	ReadOnly      bool `json:"read_only"`
	Idempotent    bool `json:"idempotent"`
	Destructive   bool `json:"destructive"`
	OpenWorld     bool `json:"open_world"`
	SensitiveSink bool `json:"sensitive_sink"`
}

// Resolve gives every undeclared annotation its most dangerous value (A2). A tool declared read-only is taken at its word where it says
// nothing else of destruction: reading destroys nothing.
func (a Annotations) Resolve() Risk {
	readOnly := is(a.ReadOnly, false)
	return Risk{
		ReadOnly:      readOnly,
		Idempotent:    is(a.Idempotent, false),
		Destructive:   is(a.Destructive, !readOnly),
		OpenWorld:     is(a.OpenWorld, true),
		SensitiveSink: is(a.SensitiveSink, true),
	}
}

// Worsen applies a caller's hints: they can make a call more dangerous, never safer.
func (r Risk) Worsen(hint Annotations) Risk {
	return Risk{
		ReadOnly:      r.ReadOnly && is(hint.ReadOnly, true),
		Idempotent:    r.Idempotent && is(hint.Idempotent, true),
		Destructive:   r.Destructive || is(hint.Destructive, false),
		OpenWorld:     r.OpenWorld || is(hint.OpenWorld, false),
		SensitiveSink: r.SensitiveSink || is(hint.SensitiveSink, false),
	}
}

func is(declared *bool, otherwise bool) bool {
	if declared == nil {
		return otherwise
	}
	return *declared
}
