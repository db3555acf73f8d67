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

func TestAListThatPolicyDoesNotTouchStaysAsItIs(t *testing.T) {
	for _, list := range []string{twoTools, `{"tools":[]}`, `{"tools":[{"name":"no name of ours\u0000"},{"name":7},8]}`} {
		r := newRig(t, sidecarFuncs{}, nil)
		r.send(says(1, "tools/list", "result", list))
		got := r.want(`"id":1`)
		for _, part := range []string{"tools"} {
			if !strings.Contains(got, part) || strings.Contains(got, "withheld") {
				t.Errorf("%s: got %s", list, got)
			}
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
