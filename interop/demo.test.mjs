// The demo agents, as the AG-UI dojo's pages use them, with an unmodified client.
import test, { after, before } from "node:test";
import assert from "node:assert/strict";
import { official, shadowStates, start, turn } from "./lib.mjs";

let server;
before(async () => {
  server = await start("lockstep", ["serve", "--addr", "127.0.0.1:0", "--model", "scripted"]);
});
after(async () => {
  assert.equal(await server.stop(), 0);
});

const tool = (name, properties) => ({
  name,
  description: name,
  parameters: { type: "object", properties },
});

function clean(run) {
  assert.deepEqual(run.warnings, []);
  assert.equal(run.types[0], "RUN_STARTED");
  assert.equal(run.types.at(-1), "RUN_FINISHED");
  return shadowStates(run.events);
}

test("agentic_generative_ui: a snapshot for the plan, a delta for each step", async () => {
  const client = official(server.url + "/agentic_generative_ui");
  const hello = await turn(client, "Hi");
  clean(hello);
  assert.match(client.agent.messages.at(-1).content, /Hello/);
  const run = await turn(client, "Give me a plan to make brownies");
  const states = clean(run);
  const plans = states.filter((s) => s.steps?.length > 0);
  assert.ok(plans[0].steps.every((s) => s.status === "pending" && s.description.length > 0));
  assert.ok(client.agent.state.steps.every((s) => s.status === "completed"));
  const deltas = run.events.filter((e) => e.type === "STATE_DELTA");
  assert.equal(deltas.length, plans[0].steps.length);
  deltas.forEach((d, i) => assert.deepEqual(d.delta, [{ op: "replace", path: `/steps/${i}/status`, value: "completed" }]));
});

test("task_planner: two members of the state from two tools", async () => {
  const client = official(server.url + "/task_planner");
  const states = clean(await turn(client, "Plan a birthday party"));
  assert.ok(states.some((s, i) => i > 0 && s.steps.length === 1), "the steps grow one by one");
  assert.ok(client.agent.state.steps.length > 1);
  const steps = client.agent.state.steps;
  clean(await turn(client, "I prefer short meetings"));
  assert.deepEqual(client.agent.state.steps, steps);
  assert.ok(Object.keys(client.agent.state.preferences).length > 0);
});

test("recipe_structured: a client without state gets structured state that grows, then a summary", async () => {
  const client = official(server.url + "/recipe_structured");
  const run = await turn(client, "I want to make a classic Italian pasta carbonara");
  const states = clean(run);
  assert.ok(run.types.filter((t) => t === "STATE_DELTA").length > 3, "the state grows");
  assert.ok(!run.types.some((t) => t.startsWith("TOOL_CALL")));
  const final = structuredClone(client.agent.state.recipe);
  assert.deepEqual(Object.keys(final), ["title", "cuisine", "ingredients", "steps", "prep_time_minutes", "cook_time_minutes", "skill_level"]);
  assert.ok(final.title.length > 0 && final.ingredients.length > 0 && final.steps.length > 0);
  assert.deepEqual(states.at(-1).recipe, final);
  const text = run.types.indexOf("TEXT_MESSAGE_START");
  assert.ok(run.types.lastIndexOf("STATE_SNAPSHOT") < text && run.types.indexOf("STATE_DELTA") < run.types.lastIndexOf("STATE_SNAPSHOT"), "the snapshot is between the phases");
  const said = (r) => r.events.filter((e) => e.type === "TEXT_MESSAGE_CONTENT").map((e) => e.delta).join("");
  assert.ok(said(run).length > 0 && !said(run).includes("{"), `the state's text is withheld, the summary is not: ${said(run)}`);

  const question = await turn(client, "How long does it take?");
  clean(question);
  assert.deepEqual(client.agent.state.recipe, final, "a question changes nothing");
  assert.match(said(question), /35 minutes/);
});

test("recipe_structured: a part of the state is enough", async () => {
  const client = official(server.url + "/recipe_structured", { initialState: { recipe: { title: "Lentil soup" } } });
  clean(await turn(client, "Hi"));
  assert.equal(client.agent.state.recipe.title, "Lentil soup");
});

test("backend_tool_rendering: the server's tool answers", async () => {
  const client = official(server.url + "/backend_tool_rendering");
  const run = await turn(client, "Weather in San Francisco");
  clean(run);
  assert.ok(!run.types.some((t) => t.startsWith("STATE_")), "no state is kept, none is sent");
  const result = run.events.find((e) => e.type === "TOOL_CALL_RESULT");
  const weather = JSON.parse(result.content);
  for (const name of ["temperature", "conditions", "humidity", "wind_speed", "feels_like"]) assert.ok(name in weather, name);
  const call = client.agent.messages.find((m) => m.toolCalls)?.toolCalls[0];
  assert.equal(JSON.parse(call.function.arguments).location, "San Francisco");
});

test("human_in_the_loop: the client's tool is left to it, its answer goes on", async () => {
  const client = official(server.url + "/human_in_the_loop");
  const step = { type: "object", properties: { description: { type: "string" }, status: { type: "string", enum: ["enabled", "disabled", "executing"] } } };
  const tools = [tool("generate_task_steps", { steps: { type: "array", items: step } })];
  const run = await turn(client, "Please plan a trip to Mars in five steps", { tools });
  clean(run);
  assert.ok(!run.types.includes("TOOL_CALL_RESULT"));
  const call = client.agent.messages.at(-1).toolCalls[0];
  const { steps } = JSON.parse(call.function.arguments);
  assert.ok(steps.length > 1 && steps.every((s) => s.status === "enabled"));
  client.agent.addMessage({
    id: crypto.randomUUID(), role: "tool", toolCallId: call.id,
    content: JSON.stringify({ accepted: true, steps: steps.slice(0, 2) }),
  });
  const next = await turn(client, undefined, { tools });
  clean(next);
  assert.equal(client.agent.messages.at(-1).role, "assistant");
  assert.ok(client.agent.messages.at(-1).content.length > 0);
});

test("tool_based_generative_ui: the haiku's call is left unanswered", async () => {
  const client = official(server.url + "/tool_based_generative_ui");
  const lines = { type: "array", items: { type: "string" } };
  const tools = [tool("generate_haiku", { japanese: lines, english: lines, image_name: { type: "string" }, gradient: { type: "string" } })];
  const run = await turn(client, "The moon shines bright", { tools });
  clean(run);
  const call = client.agent.messages.flatMap((m) => m.toolCalls ?? []).at(-1);
  const haiku = JSON.parse(call.function.arguments);
  assert.equal(haiku.japanese.length, 3);
  assert.equal(haiku.english.length, 3);
});

test("agentic_chat: context and the page's tools", async () => {
  const client = official(server.url + "/agentic_chat");
  const run = await turn(client, "Hi, I am duaa", { context: [{ description: "Name of the user", value: "Bob" }] });
  clean(run);
  assert.match(client.agent.messages.at(-1).content, /Hello/i);
  const tools = [tool("change_background", { background: { type: "string" } })];
  const paint = await turn(client, "Change the background to blue", { tools });
  clean(paint);
  assert.ok(client.agent.messages.at(-1).toolCalls?.[0].function.name === "change_background");
});
