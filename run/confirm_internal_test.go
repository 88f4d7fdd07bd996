package run

import (
	"testing"

	"github.com/lockstep-go/lockstep/jsondoc"
)

// An answer's schema says of edited arguments what the tool's schema says, in
// every place that a reference leads to; where that cannot be said, any object is
// allowed, and the tool's own schema decides when the answer comes.
func TestAnswerSchema(t *testing.T) {
	const step = `{"type":"object","properties":{"text":{"type":"string"}},"required":["text"],"additionalProperties":false}`
	for name, c := range map[string]struct {
		arguments string
		open      bool // any arguments pass
	}{
		"plain":            {arguments: `{"type":"object","properties":{"steps":{"type":"array","items":` + step + `}},"additionalProperties":false}`},
		"with a dialect":   {arguments: `{"$schema":"https://json-schema.org/draft/2020-12/schema","type":"object","properties":{"steps":{"type":"array","items":` + step + `}}}`},
		"with $defs":       {arguments: `{"type":"object","properties":{"steps":{"type":"array","items":{"$ref":"#/$defs/step"}}},"$defs":{"step":` + step + `}}`},
		"with definitions": {arguments: `{"definitions":{"step":` + step + `},"type":"object","properties":{"steps":{"type":"array","items":{"$ref":"#/definitions/step"}}}}`},
		"of itself":        {arguments: `{"type":"object","properties":{"steps":{"type":"array","items":{"$ref":"#"}}}}`, open: true},
		"with a base":      {arguments: `{"$id":"https://example.com/a","type":"object","properties":{"steps":{"type":"array","items":{"$ref":"#/$defs/step"}}},"$defs":{"step":` + step + `}}`, open: true},
		"with an anchor":   {arguments: `{"type":"object","properties":{"steps":{"type":"array","items":{"$ref":"#step"}}},"$defs":{"step":{"$anchor":"step","type":"object"}}}`, open: true},
		"true":             {arguments: `true`, open: true},
		"none":             {open: true},
	} {
		t.Run(name, func(t *testing.T) {
			var arguments jsondoc.Value
			if c.arguments != "" {
				arguments = jsondoc.MustParse(c.arguments)
			}
			schema := answerSchema(arguments)
			for _, yes := range []string{`{"approved":true}`, `{"approved":false}`, `{"approved":true,"editedArgs":{"steps":[{"text":"a"}]}}`} {
				if err := fits(schema, jsondoc.MustParse(yes)); err != nil {
					t.Errorf("%s is refused: %v", yes, err)
				}
			}
			for _, no := range []string{`{}`, `{"approved":"yes"}`, `{"approved":true,"editedArgs":[]}`} {
				if err := fits(schema, jsondoc.MustParse(no)); err == nil {
					t.Errorf("%s passes", no)
				}
			}
			const wrong = `{"approved":true,"editedArgs":{"steps":[{"text":1}]}}`
			if err := fits(schema, jsondoc.MustParse(wrong)); (err == nil) != c.open {
				t.Errorf("%s: %v in %s", wrong, err, schema)
			}
		})
	}
}
