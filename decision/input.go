package decision

import (
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"ostiary/tool"
)

// Phase is the moment a policy is asked about.
type Phase string

// Phases of policy.md §1.
const (
	PhaseList       Phase = "list" // may the agent be shown the tool?
	PhaseCall       Phase = "call"
	PhaseResult     Phase = "result"
	PhaseConclusion Phase = "conclusion"
)

// Input is the document that policies read; its JSON form is closed (policies/schema/input.json).
type Input struct {
	Phase      Phase          `json:"phase"`
	Tool       ToolFacts      `json:"tool"`
	Args       jsontext.Value `json:"args"`
	Caller     Caller         `json:"caller"`
	Evidence   *Evidence      `json:"evidence,omitempty"`
	Session    SessionFacts   `json:"session"`
	Request    RequestFacts   `json:"request"`
	Provenance Provenance     `json:"provenance"`
	Result     *ResultFacts   `json:"result,omitempty"`
	Parsed     Parsed         `json:"parsed"`
	Clock      Clock          `json:"clock"`
}

// ToolFacts is what policy knows of the tool.
type ToolFacts struct {
	Namespace         string      `json:"namespace"`
	Name              string      `json:"name"`
	DefinitionDigest  string      `json:"definition_digest"`
	Annotations       tool.Risk   `json:"annotations"`
	AnnotationsSource tool.Source `json:"annotations_source"`
	// Drifted: the declaration is another one than when the agent first called the tool.
	Drifted bool `json:"drifted"`
}

// Caller is who calls, and how sure it says it is. Confidence and verdict are absent when not reported; absent is not low.
type Caller struct {
	Agent             string   `json:"agent"`
	Tenant            string   `json:"tenant"`
	Profile           string   `json:"profile"`
	Confidence        *float64 `json:"confidence,omitempty"`
	Verdict           string   `json:"verdict,omitempty"`
	ReportsConfidence bool     `json:"reports_confidence"`
}

// Evidence is what the caller says its confidence rests on (A21).
type Evidence struct {
	Status   string   `json:"status"`
	Warnings []string `json:"warnings"`
}

// SessionFacts is what the session has been through.
type SessionFacts struct {
	Labels        []tool.Label `json:"labels"`
	Tainted       bool         `json:"tainted"`
	ErrorStreak   int          `json:"error_streak"`
	IterationOver bool         `json:"iteration_over"`
	OverBudget    bool         `json:"over_budget"`
	// Carried: the provenance index was lost in an unclean stop, so everything counts as untrusted at sinks.
	Carried bool `json:"carried"`
}

// RequestFacts is what is known of the user's own words.
type RequestFacts struct {
	Known bool `json:"known"`
}

// Origin says where an argument value came from.
type Origin string

// Origins of a value (sanitize.md §3).
const (
	OriginUser      Origin = "user"
	OriginUntrusted Origin = "untrusted"
	OriginModel     Origin = "model"
	OriginEndorsed  Origin = "endorsed"
)

// Provenance lists where each scalar of the arguments came from.
type Provenance struct {
	Args []ArgOrigin `json:"args"`
}

// ArgOrigin is the origin of one scalar; Source is the invocation whose result carried an untrusted value.
type ArgOrigin struct {
	Pointer string `json:"pointer"`
	Role    string `json:"role"`
	Origin  Origin `json:"origin"`
	Source  string `json:"source,omitempty"`
}

// Untrusted reports whether the value came from an untrusted result and nobody endorsed it.
func (o ArgOrigin) Untrusted() bool { return o.Origin == OriginUntrusted }

// ResultFacts is what cleaning found in a result.
type ResultFacts struct {
	Status   tool.Status    `json:"status"`
	Labels   []tool.Label   `json:"labels"`
	Findings map[string]int `json:"findings"`
}

// Parsed holds what is found in the arguments by parsing, never by matching text.
type Parsed struct {
	Paths []string `json:"paths"`
	Hosts []string `json:"hosts"`
	// Files are the paths that the call names as files: arguments that are paths, files of a patch, words and redirections of commands.
	Files []string `json:"files"`
	// Commands are the programs that shell commands of the call run, in the order of the text, each wrapper before what it runs.
	Commands []Command `json:"commands"`
	// Unparsable: a shell command is no valid shell, or larger than what policy can be shown; Commands then lacks some.
	Unparsable bool `json:"unparsable"`
	SQL        SQL  `json:"sql"`
}

// Command is one program that a shell command runs.
type Command struct {
	// Name is the base name of the program; empty when only the shell will know it.
	Name string `json:"name"`
	// Args are its words; one that is not constant is empty.
	Args []string `json:"args"`
	// Dynamic: what runs is known only when it runs, be it the program, the script of a shell or a program that an interpreter reads.
	Dynamic   bool       `json:"dynamic"`
	Redirects []Redirect `json:"redirects"`
	// Via is how it comes to run: plain, pipe (it reads one), substitution, sh -c, heredoc, or the name of the wrapper.
	Via string `json:"via"`
}

// Redirect is a redirection of a command to or from a file; a path that is not constant is empty.
type Redirect struct {
	Op   string `json:"op"`
	Path string `json:"path"`
}

// SQL is what the SQL texts of a call do.
type SQL struct {
	// Verbs are the different verbs of the statements, in lower case and sorted.
	Verbs []string `json:"verbs"`
	// Multi: some text holds more than one statement.
	Multi bool `json:"multi"`
	// Unbounded: an UPDATE or DELETE has no WHERE, or one that no column takes part in.
	Unbounded bool `json:"unbounded"`
	// Unparsable: some text could be read in two ways, or not at all.
	Unparsable bool `json:"unparsable"`
}

// Clock is the time as policies may see it: low in cardinality, so that decisions stay comparable.
type Clock struct {
	MinuteOfWeek int  `json:"minute_of_week"`
	WorkHours    bool `json:"work_hours"`
}

// FactsOf is what policy knows of a declaration.
func FactsOf(r tool.Resolved) ToolFacts {
	return ToolFacts{Namespace: r.Namespace, Name: r.Name, DefinitionDigest: r.Digest, Annotations: r.Risk, AnnotationsSource: r.Source}
}

// ClockAt is a time in the location that work hours are told in.
func ClockAt(now time.Time) Clock {
	day, hour := int(now.Weekday()), now.Hour()
	return Clock{MinuteOfWeek: (day*24+hour)*60 + now.Minute(), WorkHours: day >= 1 && day <= 5 && hour >= 8 && hour < 18}
}
