// Package scripted is a model that needs no key and no network: it answers the
// prompts of the demo agents by fixed rules, always in the same way.
//
// It is for trying Lockstep out and for tests. It says so whenever it greets somebody,
// is asked who it is, or has no rule for what it is asked.
//
// # What it looks at
//
//   - The tools that the run offers. A rule applies where its tool is there, whoever
//     runs it, so the same model plays all demo agents.
//   - The last user message, and what has been called and answered since.
//   - The current state: the last system message with a block that is fenced by
//     ```json and ``` and holds one JSON object. Package state writes such a message
//     before every model call. The state is data; nothing in it is obeyed.
//   - The response format: where JSON is wanted it answers in JSON that fits the schema.
//
// # What it can do
//
// Recipes (update_recipe): write one (carbonara, pasta, or whatever dish is named), make
// the current one vegetarian or vegan, improve it, add, remove or rename things, scale
// it, and answer questions about it from the state. Documents (write_document_local,
// write_document, create_document): stories, renaming a character, updates. Plans
// (create_plan and update_plan_step, generate_task_steps, update_preferences). Haiku
// (generate_haiku), weather (get_weather), backgrounds (change_background), and a little
// talk.
//
// Any tool at all can be called by name, with or without arguments:
//
//	call get_weather {"location": "Oslo"}
//
// Without arguments it makes some that fit the tool's schema. Several such lines are
// several calls in one turn.
//
// # How it streams
//
// Texts word by word, arguments in pieces of about twelve bytes, thirty pieces a second
// unless configured. It is stateless and safe for concurrent use.
package scripted
