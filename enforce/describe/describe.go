package describe

import (
	"fmt"
	"slices"
	"strings"

	"ostiary/decision"
	"ostiary/internal/strictjson"
	"ostiary/queue"
	"ostiary/tool"
)

// Tier says how bad a mistake could be.
func Tier(r tool.Risk, reasons []decision.Reason) queue.Tier {
	severe := slices.ContainsFunc(reasons, func(why decision.Reason) bool {
		return why.Severity == "high" && strings.HasPrefix(why.ID, "provenance.")
	})
	switch {
	case severe || r.Destructive && r.SensitiveSink:
		return queue.TierHigh
	case r.Destructive || r.SensitiveSink || !r.ReadOnly:
		return queue.TierMedium
	default:
		return queue.TierLow
	}
}

// Badges are the chips beside an item: tainted, undeclared, untrusted_value.
func Badges(in decision.Input) []string {
	out := []string{}
	if in.Session.Tainted {
		out = append(out, "tainted")
	}
	if in.Tool.AnnotationsSource == tool.Undeclared {
		out = append(out, "undeclared")
	}
	if slices.ContainsFunc(in.Provenance.Args, decision.ArgOrigin.Untrusted) {
		out = append(out, "untrusted_value")
	}
	return out
}

// Summary is one sentence of what will happen; target may be empty.
func Summary(name tool.Name, r tool.Risk, target string) string {
	var effects []string
	if r.Destructive {
		effects = append(effects, "may destroy or overwrite")
	}
	if r.SensitiveSink {
		effects = append(effects, "may send data out")
	}
	if len(effects) == 0 && !r.ReadOnly {
		effects = append(effects, "changes something")
	}
	text := "Run " + name.String()
	if target != "" {
		text += " on " + target
	}
	if len(effects) > 0 {
		text += "; it " + strings.Join(effects, " and ")
	}
	return text
}

// targetRoles are the roles that say what a call acts on, the most telling first.
var targetRoles = []tool.Role{tool.RoleRecipient, tool.RoleAccount, tool.RoleURL, tool.RolePath, tool.RoleShell, tool.RoleSQL, tool.RoleIdentifier}

// Target returns the argument that says what a call acts on, quoted and cut; "" when none does. masked takes secrets out of a value.
func Target(leaves []strictjson.Leaf, role func(pointer string) tool.Role, masked func(strictjson.Leaf) string) string {
	for _, want := range targetRoles {
		for _, leaf := range leaves {
			if leaf.Kind == '"' && leaf.Text != "" && role(leaf.Pointer) == want {
				return quote(masked(leaf), want == tool.RolePath)
			}
		}
	}
	return ""
}

// maxTarget bounds a target, in runes.
const maxTarget = 60

// quote writes a target with everything but ASCII escaped, cut to maxTarget; of a path the end tells more than the beginning.
func quote(s string, keepEnd bool) string {
	runes := []rune(s)
	switch {
	case len(runes) <= maxTarget:
		return fmt.Sprintf("%+q", s)
	case keepEnd:
		return "…" + strings.Trim(fmt.Sprintf("%+q", string(runes[len(runes)-maxTarget:])), `"`)
	default:
		return strings.Trim(fmt.Sprintf("%+q", string(runes[:maxTarget])), `"`) + "…"
	}
}
