package state

import "github.com/lockstep-go/lockstep/jsondoc"

// ConfirmationStrategy words what people read around an approval. The stock
// ones are DefaultConfirmation, RecipeConfirmation, DocumentWriterConfirmation
// and TaskPlannerConfirmation; embed one to change a single text. Methods are
// called concurrently.
type ConfirmationStrategy interface {
	// Prompt asks for the approval of a proposal.
	Prompt(p Proposal) string
	// Approved is said once the proposal has been carried out. Empty: the model
	// speaks for itself.
	Approved(p Proposal) string
	// Rejected is said once the proposal has been taken back. Empty: the model
	// speaks for itself.
	Rejected(p Proposal) string
}

// DefaultConfirmation fits any agent. It speaks of changes only where the proposal
// has some; of any other call, such as one that sends a mail, it names the tool.
type DefaultConfirmation struct{}

func (DefaultConfirmation) Prompt(p Proposal) string {
	if !p.Changes {
		return "Run " + p.Tool + "?"
	}
	return "Approve the changes that " + p.Tool + " proposes?"
}
func (DefaultConfirmation) Approved(p Proposal) string {
	if !p.Changes {
		return p.Tool + " has run."
	}
	return "The changes have been made."
}
func (DefaultConfirmation) Rejected(p Proposal) string {
	if !p.Changes {
		return p.Tool + " was not run. What should I do instead?"
	}
	return "Nothing has been changed. What should I do instead?"
}

// ConfirmationTexts is a strategy of fixed texts. An empty Ask is
// DefaultConfirmation's question; an empty Yes or No lets the model speak.
type ConfirmationTexts struct{ Ask, Yes, No string }

func (c ConfirmationTexts) Prompt(p Proposal) string {
	if c.Ask == "" {
		return DefaultConfirmation{}.Prompt(p)
	}
	return c.Ask
}
func (c ConfirmationTexts) Approved(Proposal) string { return c.Yes }
func (c ConfirmationTexts) Rejected(Proposal) string { return c.No }

// RecipeConfirmation is for agents that write recipes.
type RecipeConfirmation struct{}

func (RecipeConfirmation) Prompt(p Proposal) string {
	if title := firstText(p.Arguments, "/recipe/title", "/title"); title != "" {
		return "Shall the recipe become “" + title + "”, as shown?"
	}
	return "Shall the recipe be changed as shown?"
}
func (RecipeConfirmation) Approved(Proposal) string { return "The recipe is updated. Enjoy!" }
func (RecipeConfirmation) Rejected(Proposal) string {
	return "The recipe stays as it was. What would you like to have different?"
}

// DocumentWriterConfirmation is for agents that edit a document.
type DocumentWriterConfirmation struct{}

func (DocumentWriterConfirmation) Prompt(Proposal) string {
	return "Shall the document be changed as shown?"
}
func (DocumentWriterConfirmation) Approved(Proposal) string { return "The document is updated." }
func (DocumentWriterConfirmation) Rejected(Proposal) string {
	return "The document stays as it was. How should it read instead?"
}

// TaskPlannerConfirmation is for agents that plan tasks.
type TaskPlannerConfirmation struct{}

func (TaskPlannerConfirmation) Prompt(p Proposal) string {
	if steps, ok := p.Arguments.Get("steps"); ok && steps.Kind() == jsondoc.KindArray {
		return "Shall I go ahead with this plan of " + itoa(steps.Len()) + " steps?"
	}
	return "Shall I go ahead with this plan?"
}
func (TaskPlannerConfirmation) Approved(Proposal) string { return "The plan is set." }
func (TaskPlannerConfirmation) Rejected(Proposal) string {
	return "The plan is dropped. What should it look like instead?"
}

func firstText(v jsondoc.Value, places ...jsondoc.Pointer) string {
	for _, p := range places {
		if t, ok := v.At(p); ok && t.Str() != "" {
			return t.Str()
		}
	}
	return ""
}
