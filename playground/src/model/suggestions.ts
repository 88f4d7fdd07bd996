import type { AgentInfo } from "./api";

const known: Record<string, string[]> = {
  recipe: ["A classic Italian pasta carbonara", "Make it vegetarian", "Double the servings", "Give me all the ingredients"],
  recipe_structured: ["A quick pasta dish for two", "Something with chickpeas"],
  agentic_generative_ui: ["Give me a plan to make brownies", "Plan a trip to Mars"],
  task_planner: ["Plan a birthday party", "I prefer short meetings in the morning"],
  human_in_the_loop: ["Plan a weekend of hiking", "Plan how to bake a cake, one step with eggs"],
  tool_based_generative_ui: ["The moon shines bright", "I will always win", "The sea after the rain"],
  backend_tool_rendering: ["What is the weather in San Francisco?", "Weather in New York"],
  agentic_chat: ["Hello! What can you do?", "Change the background to a sunset"],
  predictive_state_updates: ["Write a story about a dragon called Atlantis", "Change the dragon's name to Lola", "Make it longer"],
  create_document: ["Write a short story about a lighthouse", "Make it longer"],
};

/** What one could ask an agent: of ours what they are made for, of others what they say they are. */
export function suggestions(agent: AgentInfo, begun: boolean): string[] {
  const list = known[agent.name];
  if (!list) return begun ? [] : ["What can you do?"];
  // Once there is something, what builds on it comes first.
  return begun ? [...list.slice(1), list[0]!].slice(0, 3) : list.slice(0, 4);
}

/** A name for people: `task_planner` is "Task planner". */
export const names: Record<string, string> = {
  recipe: "Recipe",
  recipe_structured: "Structured recipe",
  agentic_generative_ui: "Plan and progress",
  task_planner: "Task planner",
  human_in_the_loop: "Choose the steps",
  tool_based_generative_ui: "Haiku",
  backend_tool_rendering: "Weather",
  agentic_chat: "Chat",
  predictive_state_updates: "Document",
  create_document: "Document with approval",
};
