package demo

import (
	"context"
	"fmt"

	"github.com/lockstep-go/lockstep/agent"
	"github.com/lockstep-go/lockstep/jsondoc"
	"github.com/lockstep-go/lockstep/state"
	"github.com/lockstep-go/lockstep/tool"
	"github.com/lockstep-go/lockstep/tool/functool"
)

// Step is one step of a plan.
type Step struct {
	Description string `json:"description" jsonschema:"what to do, in a few words"`
	Status      string `json:"status" jsonschema:"pending or completed"`
}

// Plan is the state of the planning agent.
type Plan struct {
	Steps []Step `json:"steps"`
}

// PlanState makes state of what the tools return: a snapshot for a new plan, a
// patch for a step.
func PlanState() state.Config {
	return state.Config{
		Initial: jsondoc.Object(),
		Rules: []state.Rule{
			state.MapResultAsStateSnapshot("create_plan"),
			state.MapResultAsStateDelta("update_plan_step"),
		},
	}
}

func planAgent() agent.Config {
	return agent.Config{
		Name:        "agentic_generative_ui",
		Description: "Makes a plan and works through it, step by step",
		Instructions: `You plan and carry out tasks.
When you are asked for a plan, call create_plan with about five short steps, all pending. Then, one call after the other, set each step to completed with update_plan_step, beginning with index 0. When all are completed, say so in one sentence. Do not repeat the steps in your answer.`,
		Tools: []tool.Tool{
			functool.MustNew(functool.Config{Name: "create_plan", Description: "Makes a new plan of steps."},
				func(_ context.Context, in struct {
					Steps []any `json:"steps" jsonschema:"the steps, as texts or as objects with description and status"`
				}) (Plan, error) {
					return newPlan(in.Steps)
				}),
			functool.MustNew(functool.Config{Name: "update_plan_step", Description: "Changes one step of the plan."}, updateStep),
		},
	}
}

// newPlan reads steps as models write them: texts, or objects.
func newPlan(list []any) (Plan, error) {
	plan := Plan{Steps: []Step{}}
	for i, x := range list {
		switch x := x.(type) {
		case string:
			plan.Steps = append(plan.Steps, Step{Description: x, Status: "pending"})
		case map[string]any:
			s := Step{Status: "pending"}
			s.Description, _ = x["description"].(string)
			if status, ok := x["status"].(string); ok && status == "completed" {
				s.Status = status
			}
			if s.Description == "" {
				return plan, tool.Errorf("step %d has no description", i)
			}
			plan.Steps = append(plan.Steps, s)
		default:
			return plan, tool.Errorf("step %d is neither a text nor an object with a description", i)
		}
	}
	return plan, nil
}

type stepChange struct {
	Index       int    `json:"index" jsonschema:"which step, from 0"`
	Description string `json:"description,omitempty" jsonschema:"the step's new text"`
	Status      string `json:"status,omitempty" jsonschema:"pending or completed"`
}

// updateStep returns the change as an RFC 6902 patch.
func updateStep(ctx context.Context, in stepChange) (jsondoc.Patch, error) {
	var plan Plan
	if err := state.From(ctx).Decode(&plan); err != nil {
		return nil, err
	}
	if in.Index < 0 || in.Index >= len(plan.Steps) {
		return nil, tool.Errorf("there is no step %d; the plan has %d", in.Index, len(plan.Steps))
	}
	if in.Status != "" && in.Status != "pending" && in.Status != "completed" {
		return nil, tool.Errorf("status %q is neither pending nor completed", in.Status)
	}
	patch := jsondoc.Patch{}
	at := jsondoc.Path("steps", fmt.Sprint(in.Index))
	if in.Description != "" {
		patch = append(patch, jsondoc.Operation{Op: "replace", Path: at.Child("description"), Value: jsondoc.String(in.Description)})
	}
	if in.Status != "" {
		patch = append(patch, jsondoc.Operation{Op: "replace", Path: at.Child("status"), Value: jsondoc.String(in.Status)})
	}
	return patch, nil
}

// TaskStep is one step of the task planner's.
type TaskStep struct {
	Description       string `json:"description"`
	Status            string `json:"status,omitempty" jsonschema:"pending unless said otherwise"`
	EstimatedDuration string `json:"estimated_duration,omitempty" jsonschema:"such as 5 min"`
}

// TaskState feeds two members of the state from two tools.
func TaskState() state.Config {
	return state.Config{
		Schema: state.MustParseSchema(`{
			"steps": {"type": "array", "description": "The steps of the task"},
			"preferences": {"type": "object", "description": "What the user prefers"}
		}`),
		Predict: map[string]state.Prediction{
			"steps":       {Tool: "generate_task_steps", Argument: "steps"},
			"preferences": {Tool: "update_preferences", Argument: "preferences"},
		},
	}
}

func taskAgent() agent.Config {
	return agent.Config{
		Name:         "task_planner",
		Description:  "Plans tasks and remembers preferences, each in a member of the state of its own",
		Instructions: "You plan tasks. Call generate_task_steps with all steps when you are asked for a plan or for a change of it, and update_preferences with all preferences when the user names one. Then say in one sentence what you did.",
		Tools: []tool.Tool{
			functool.MustNew(functool.Config{Name: "generate_task_steps", Description: "Writes all steps of the task."},
				func(_ context.Context, in struct {
					Steps []TaskStep `json:"steps"`
				}) (string, error) {
					return fmt.Sprintf("Generated %d steps.", len(in.Steps)), nil
				}),
			functool.MustNew(functool.Config{Name: "update_preferences", Description: "Writes all of the user's preferences."},
				func(context.Context, struct {
					Preferences map[string]any `json:"preferences"`
				}) (string, error) {
					return "Preferences updated.", nil
				}),
		},
	}
}
