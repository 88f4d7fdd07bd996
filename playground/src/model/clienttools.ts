import type { Message, Tool } from "@ag-ui/client";

/** A call of a tool, and what became of it. */
export interface Call {
  id: string;
  name: string;
  /** JSON text, unfinished while it is written. */
  text: string;
  result?: string;
}

const text = (description: string) => ({ type: "string", description });

const steps: Tool = {
  name: "generate_task_steps",
  description: "Shows the steps of a plan to the user, who chooses which of them to go ahead with.",
  parameters: {
    type: "object",
    properties: {
      steps: {
        type: "array",
        description: "All steps, each in a few words",
        items: {
          type: "object",
          properties: { description: text("What to do, in the imperative"), status: { type: "string", enum: ["enabled"], description: "Always enabled" } },
          required: ["description", "status"],
        },
      },
    },
    required: ["steps"],
  },
};

const haiku: Tool = {
  name: "generate_haiku",
  description: "Shows a haiku as a card.",
  parameters: {
    type: "object",
    properties: {
      japanese: { type: "array", items: { type: "string" }, description: "The three lines in Japanese" },
      english: { type: "array", items: { type: "string" }, description: "The three lines in English" },
      gradient: text("A CSS gradient that fits the poem's mood, for the card's background"),
    },
    required: ["japanese", "english", "gradient"],
  },
};

const background: Tool = {
  name: "change_background",
  description: "Changes the background of the conversation.",
  parameters: { type: "object", properties: { background: text("A CSS background: a colour or a gradient") }, required: ["background"] },
};

/** The tools that this page offers, by the agent that they are for. */
const offers: Record<string, Tool[]> = {
  human_in_the_loop: [steps],
  tool_based_generative_ui: [haiku],
  agentic_chat: [background],
};

export function toolsFor(agent: string): Tool[] {
  return offers[agent] ?? [];
}

/** All calls of a conversation, with their results, in order. */
export function calls(messages: readonly Message[]): Call[] {
  const results = new Map<string, string>();
  for (const m of messages) {
    if (m.role === "tool") results.set(m.toolCallId, typeof m.content === "string" ? m.content : JSON.stringify(m.content));
  }
  return messages.flatMap((m) =>
    m.role === "assistant"
      ? (m.toolCalls ?? []).map((c) => {
          const result = results.get(c.id);
          return { id: c.id, name: c.function.name, text: c.function.arguments, ...(result === undefined ? {} : { result }) };
        })
      : [],
  );
}

/** The calls that came after the newest user message and that nobody has answered. */
export function unanswered(messages: readonly Message[]): Call[] {
  const from = messages.findLastIndex((m) => m.role === "user");
  return calls(messages.slice(from + 1)).filter((c) => c.result === undefined);
}

/** Reads a call's arguments, also while they are still written: what is complete of them. */
export function argumentsOf(call: Call): Record<string, unknown> {
  for (const tail of closings(call.text)) {
    try {
      const value: unknown = JSON.parse(tail);
      if (typeof value === "object" && value !== null) return value as Record<string, unknown>;
    } catch {
      // Cut at another place.
    }
  }
  return {};
}

/** The text, and the text closed after its last values, the longest first. */
function* closings(source: string): Generator<string> {
  yield source;
  const open: string[] = [];
  let inString = false;
  const cuts: string[] = [];
  for (let i = 0; i < source.length; i++) {
    const c = source[i]!;
    if (inString) {
      if (c === "\\") i++;
      else if (c === '"') inString = false;
      continue;
    }
    if (c === '"') inString = true;
    else if (c === "{" || c === "[") {
      open.push(c === "{" ? "}" : "]");
      cuts.push(source.slice(0, i + 1) + open.toReversed().join(""));
    }
    else if (c === "}" || c === "]") open.pop();
    else if (c === ",") cuts.push(source.slice(0, i) + open.toReversed().join(""));
  }
  const close = open.toReversed().join("");
  yield source + (inString ? '"' : "") + close;
  // A key without a value yet: what was before it.
  yield* cuts.slice(-4).reverse();
}
