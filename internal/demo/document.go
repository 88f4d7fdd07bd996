package demo

import (
	"context"

	"github.com/lockstep-go/lockstep/agent"
	"github.com/lockstep-go/lockstep/jsondoc"
	"github.com/lockstep-go/lockstep/state"
	"github.com/lockstep-go/lockstep/tool"
	"github.com/lockstep-go/lockstep/tool/functool"
)

// WriteState predicts the document while it is written and asks for its approval
// in the way that the dojo's page expects.
func WriteState() state.Config {
	return state.Config{
		Initial:        jsondoc.MustParse(`{"document":""}`),
		Predict:        map[string]state.Prediction{"document": {Tool: "write_document_local", Argument: "document"}},
		ConfirmChanges: true,
		Confirmation:   state.DocumentWriterConfirmation{},
	}
}

func writeAgent() agent.Config {
	return agent.Config{
		Name:         "predictive_state_updates",
		Description:  "Writes and edits a document, and asks before it is changed",
		Instructions: "You write documents in Markdown. Call write_document_local with the whole document, also when only a part of it changes; keep changes small. Do not write the document into your answer.",
		Tools: []tool.Tool{
			functool.MustNew(functool.Config{Name: "write_document_local", Description: "Writes the whole document, in Markdown."},
				func(context.Context, struct {
					Document string `json:"document" jsonschema:"the whole document"`
				}) (string, error) {
					return "Document written.", nil
				}),
		},
	}
}

// CreateState makes one member of all arguments, and asks by interrupt.
func CreateState() state.Config {
	return state.Config{
		Initial:             jsondoc.Object(),
		Predict:             map[string]state.Prediction{"document": {Tool: "create_document", Argument: "*"}},
		RequireConfirmation: true,
		Confirmation:        state.DocumentWriterConfirmation{},
	}
}

func createAgent() agent.Config {
	return agent.Config{
		Name:         "create_document",
		Description:  "Creates a document with a title and properties, and waits for your approval",
		Instructions: "You create documents. Call create_document with the title, the whole content in Markdown, and properties such as author and language as metadata. Call it again with all of them for a change. Do not write the document into your answer.",
		Tools: []tool.Tool{
			functool.MustNew(functool.Config{Name: "create_document", Description: "Creates the document, or replaces it."},
				func(context.Context, struct {
					Title    string         `json:"title"`
					Content  string         `json:"content" jsonschema:"Markdown"`
					Metadata map[string]any `json:"metadata"`
				}) (string, error) {
					return "Document created.", nil
				}),
		},
	}
}
