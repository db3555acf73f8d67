package mcpproxy

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"ostiary/enforce/wire"
	"ostiary/tool"
)

const twoTools = `{"tools":[{"name":"wipe","description":"a"},{"name":"read", "description":"b"}],"nextCursor":"c"}`

func TestAToolThatPolicyHidesIsNotListed(t *testing.T) {
	r := newRig(t, sidecarFuncs{visible: func(names []tool.Name) (wire.ToolsResponse, error) {
		if len(names) != 2 || names[0] != (tool.Name{Namespace: "srv", Name: "wipe"}) {
			t.Errorf("asked about %v", names)
		}
		return wire.ToolsResponse{Visible: slices.DeleteFunc(slices.Clone(names), func(n tool.Name) bool { return n.Name == "wipe" })}, nil
	}}, func(c *Config) { c.Name = "srv" })
	r.send(says(1, "tools/list", "result", twoTools))
	got := r.want(`"id":1`)
	if strings.Contains(got, "wipe") || !strings.Contains(got, `"name":"read"`) || !strings.Contains(got, `"nextCursor":"c"`) {
		t.Errorf("got %s", got)
	}
}

// No other member of a tool's entry may keep its name from being read.
func TestAnEntryThatIsOddElsewhereIsHiddenAllTheSame(t *testing.T) {
	for _, entry := range []string{`{"name":"wipe","annotations":{"readOnlyHint":"yes"}}`, `{"name":"wipe","annotations":[]}`, `{"name":7}`, `8`, `{"title":"wipe"}`, `{"name":"wipe\u0000"}`, `{"n\u0061me":"wipe"}`} {
		r := newRig(t, sidecarFuncs{visible: func(names []tool.Name) (wire.ToolsResponse, error) {
			return wire.ToolsResponse{Visible: slices.DeleteFunc(slices.Clone(names), func(n tool.Name) bool { return strings.HasPrefix(n.Name, "wipe") })}, nil
		}}, nil)
		r.send(says(1, "tools/list", "result", `{"tools":[`+entry+`,{"name":"read"}]}`))
		if got := r.want(`"id":1`); !strings.Contains(got, `"tools":[{"name":"read"}]`) {
			t.Errorf("%s: got %s", entry, got)
		}
	}
}

func TestAListThatPolicyLeavesWholeStaysAsItIs(t *testing.T) {
	many := `{"tools":[{"name":"a"}` + strings.Repeat(`,{"name":"b"}`, 1500) + `]}`
	for _, list := range []string{`{"tools":[{"name":"wipe","description":"a"},{"name":"read","description":"b"}],"nextCursor":"c"}`, `{"tools":[]}`, many} {
		r := newRig(t, sidecarFuncs{visible: func(names []tool.Name) (wire.ToolsResponse, error) {
			if len(names) > 1000 {
				t.Errorf("%d tools in one question", len(names))
			}
			return wire.ToolsResponse{Visible: names}, nil
		}}, nil)
		r.send(says(1, "tools/list", "result", list))
		if got := r.want(`"id":1`); !strings.Contains(got, list) {
			t.Errorf("%.80s: got %.200s", list, got)
		}
	}
}

func TestWithoutPolicysWordNoToolIsListed(t *testing.T) {
	r := newRig(t, sidecarFuncs{visible: func([]tool.Name) (wire.ToolsResponse, error) { return wire.ToolsResponse{}, errors.New("broken") }}, nil)
	r.send(says(1, "tools/list", "result", twoTools))
	if got := r.want(`"id":1`); strings.Contains(got, `"read"`) || !strings.Contains(got, `"error"`) {
		t.Errorf("got %s", got)
	}
}
