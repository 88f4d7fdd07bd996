package agent_test

import (
	"strings"
	"testing"

	"github.com/lockstep-go/lockstep/agent"
	"github.com/lockstep-go/lockstep/agent/agenttest"
)

type report struct {
	City  string   `json:"city" jsonschema:"its English name"`
	Rain  bool     `json:"rain,omitempty"`
	Hours []string `json:"hours"`
}

func TestFormatFor(t *testing.T) {
	f, err := agent.FormatFor[report]("report")
	if err != nil {
		t.Fatal(err)
	}
	hours, _ := f.Schema.At("/properties/hours/type")
	if f.Kind != "json" || f.Name != "report" || hours.Str() != "array" {
		t.Errorf("got %+v %s", f, f.Schema)
	}
	if _, err := agent.FormatFor[[]string]("list"); err == nil {
		t.Error("a list is no object")
	}
	if _, err := agent.FormatFor[struct{ C chan int }]("c"); err == nil {
		t.Error("a channel has no schema")
	}
}

func TestUnmarshal(t *testing.T) {
	for _, tt := range []struct {
		text string
		ok   bool
	}{
		{`{"city":"Oslo","hours":["8"]}`, true},
		{" \n{\"city\":\"Oslo\",\"hours\":[]}\n", true},
		{"```json\n{\"city\":\"Oslo\",\"hours\":[]}\n```", true},
		{"```\n{\"city\":\"Oslo\",\"hours\":[]}\n```\n", true},
		{"Here it is: {}", false},
		{`{"city":7,"hours":[]}`, false},
		{"```json\n{", false},
		{"", false},
	} {
		model := agenttest.New(agenttest.Turn(agenttest.Text(tt.text)))
		model.Chunk = 2
		response, err := model.Agent(agent.Config{}).RunText(t.Context(), "hi").Collect()
		if err != nil {
			t.Fatal(err)
		}
		var r report
		err = response.Unmarshal(&r)
		if (err == nil) != tt.ok || tt.ok && r.City != "Oslo" {
			t.Errorf("%q: %+v %v", tt.text, r, err)
		}
		if err != nil && !strings.HasPrefix(err.Error(), "agent: the answer") {
			t.Errorf("%q: %v", tt.text, err)
		}
	}
}
