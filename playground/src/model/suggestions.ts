import { label } from "../json/pointer";
import type { AgentInfo } from "./api";

/** What begins a conversation with an agent, and what goes on with it. */
const known: Record<string, { first: string[]; next: string[] }> = {
  recipe: {
    first: ["A classic Italian pasta carbonara", "A quick curry with chickpeas", "Pancakes for a Sunday morning"],
    next: ["Make it vegetarian", "Double the servings", "Give me all the ingredients"],
  },
  recipe_structured: { first: ["A quick pasta dish for two", "Something with chickpeas"], next: ["Make it vegetarian"] },
  agentic_generative_ui: { first: ["Give me a plan to make brownies", "Plan a trip to Mars"], next: ["Plan a garden party"] },
  task_planner: { first: ["Plan a birthday party", "I prefer short meetings in the morning"], next: ["I prefer short meetings in the morning", "Plan a move to another town"] },
  human_in_the_loop: { first: ["Plan a weekend of hiking", "Plan how to bake a cake, one step with eggs"], next: ["Plan a picnic"] },
  tool_based_generative_ui: { first: ["The moon shines bright", "I will always win", "The sea after the rain"], next: ["The moon shines bright", "The first day of spring"] },
  backend_tool_rendering: { first: ["What is the weather in San Francisco?", "Weather in New York"], next: ["Weather in Lisbon", "Weather in New York"] },
  agentic_chat: { first: ["Hello! What can you do?", "Change the background to a sunset"], next: ["Change the background to a sunset", "Change the background to white"] },
  predictive_state_updates: { first: ["Write a story about a dragon called Atlantis", "Write a letter to a lighthouse keeper"], next: ["Change the dragon's name to Lola", "Make it longer"] },
  create_document: { first: ["Write a short story about a fox called Mira", "Draft a letter to the neighbours"], next: ["Make it longer", "Make it shorter"] },
};

/** What one could ask an agent: of ours what they are made for. */
export function suggestions(agent: AgentInfo, begun: boolean): string[] {
  const own = known[agent.name];
  if (!own) return begun ? [] : ["What can you do?"];
  return begun ? own.next : own.first;
}

const names: Record<string, string> = {
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

/** An agent's name for people: of one that is not known here, made of its own. */
export function nameOf(agent: AgentInfo): string {
  return names[agent.name] ?? label(agent.name);
}
