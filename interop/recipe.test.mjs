// The main job on the wire: an unmodified official client, the built binary, the
// scripted model and an OpenAI-wire server.
import test, { after, before, describe } from "node:test";
import assert from "node:assert/strict";
import { HttpAgent } from "@ag-ui/client";
import { official, shadowStates, start, turn } from "./lib.mjs";

/** Each value is a prefix of the next: members and items are added, strings grow. */
function grows(from, to, at = "") {
  if (typeof from === "string" && typeof to === "string") {
    assert.ok(to.startsWith(from), `${at}: ${JSON.stringify(from)} is no prefix of ${JSON.stringify(to)}`);
  } else if (Array.isArray(from) && Array.isArray(to)) {
    assert.ok(to.length >= from.length, `${at} got shorter`);
    from.forEach((item, i) => grows(item, to[i], `${at}/${i}`));
  } else if (from && to && typeof from === "object" && typeof to === "object") {
    for (const name of Object.keys(from)) {
      assert.ok(Object.hasOwn(to, name), `${at}/${name} vanished`);
      grows(from[name], to[name], `${at}/${name}`);
    }
  } else assert.deepEqual(from, to, at);
}

/** The events of a run that writes a recipe, checked from end to end. */
function assertRecipeRun(run) {
  assert.deepEqual(run.warnings, [], "the client warned");
  assert.equal(run.runError, undefined);
  assert.deepEqual(run.types.slice(0, 3), ["RUN_STARTED", "STATE_SNAPSHOT", "CUSTOM"]);
  const predict = run.events[2];
  assert.equal(predict.name, "PredictState");
  assert.deepEqual(predict.value, [{ state_key: "recipe", tool: "update_recipe", tool_argument: "recipe" }]);

  const call = run.types.indexOf("TOOL_CALL_START");
  const end = run.types.indexOf("TOOL_CALL_END");
  const result = run.types.indexOf("TOOL_CALL_RESULT");
  assert.ok(call > 2 && call < end && end < result, "START < END < RESULT");
  assert.equal(run.events[call].toolCallName, "update_recipe");
  const inside = run.types.slice(call + 1, end);
  assert.ok(inside.every((t) => t === "TOOL_CALL_ARGS" || t === "STATE_DELTA"), `between START and END: ${inside}`);
  assert.equal(run.types[result + 1], "STATE_SNAPSHOT", "the result's snapshot follows it");
  assert.deepEqual(run.types.slice(-2), ["TEXT_MESSAGE_END", "RUN_FINISHED"]);
  assert.equal(run.types.filter((t) => t === "RUN_FINISHED").length, 1);

  const args = run.events.filter((e) => e.type === "TOOL_CALL_ARGS").map((e) => e.delta).join("");
  const { recipe } = JSON.parse(args);
  const states = shadowStates(run.events);
  assert.deepEqual(states.at(-1).recipe, recipe, "the state is what the model wrote");

  // Every event carries its position; state events say where they stand too.
  let last = 0;
  for (const { id, event } of run.frames) {
    assert.match(id, /^[^-]+-\d+$/);
    const seq = Number(id.split("-")[1]);
    assert.ok(seq > last, "positions grow");
    last = seq;
    if (event.type.startsWith("STATE_")) {
      assert.equal(event.metadata.lockstep.position, id);
      assert.equal(typeof event.metadata.lockstep.revision, "number");
    }
  }
  return { args, recipe, states, inside };
}

/**
 * The recipe grows while it is written. Fragments that arrive while an append is
 * under way become one (T2), so how many steps there are depends on the machine;
 * what does not: between two fragments the state shows what the arguments have.
 */
function assertGrowth({ events }, least = 3) {
  let args = "";
  const steps = []; // after each fragment: the recipe as it is shown
  const shown = shadowStates(events.filter((e) => e.type.startsWith("STATE_")));
  let state = -1;
  for (const e of events) {
    if (e.type.startsWith("STATE_")) state++;
    if (e.type === "TOOL_CALL_ARGS") args += e.delta;
    if (e.type === "STATE_DELTA") steps.push({ text: args, recipe: shown[state].recipe });
  }
  assert.ok(steps.length >= least, `the recipe came in ${steps.length} steps`);
  steps.reduce((a, b) => (grows(a.recipe, b.recipe, "/recipe"), b));
  for (const { text, recipe } of steps) {
    const ingredients = text.split('"ingredients"')[1]?.split('"instructions"')[0] ?? "";
    for (const name of ["title", "skill_level"]) {
      assert.equal(Boolean(recipe[name]), new RegExp(`"${name}": ?"[^"]`).test(text), `${name} from its first letter on`);
    }
    assert.equal(recipe.ingredients?.length ?? 0, ingredients.split("{").length - 1, "an ingredient from its brace on");
  }
}

describe("scripted model", () => {
  let server;
  before(async () => {
    server = await start("lockstep", ["serve", "--addr", "127.0.0.1:0", "--model", "scripted"]);
  });
  after(async () => {
    assert.equal(await server.stop(), 0, "serve ends with 0 on SIGTERM");
  });

  test("W1 W2 S4: the recipe grows while it is written", async () => {
    const client = official(server.url);
    const run = await turn(client, "I want to make a classic Italian pasta carbonara");
    const { states, inside } = assertRecipeRun(run);
    assertGrowth(run);
    assert.ok(inside.filter((t) => t === "STATE_DELTA").length >= 10, "arguments and deltas alternate");
    assert.deepEqual(client.agent.state, states.at(-1));
    assert.match(run.exchange.headers["content-type"], /^text\/event-stream/);
    const answer = client.agent.messages.at(-1);
    assert.equal(answer.role, "assistant");
    assert.ok(answer.content.length > 0);
  });

  test("S2 S7: state goes both ways", async () => {
    const client = official(server.url);
    await turn(client, "I want to make a classic Italian pasta carbonara");
    const edited = structuredClone(client.agent.state);
    edited.recipe.title = "Nonna's Carbonara";
    edited.recipe.ingredients.push({ icon: "🥔", name: "Potatoes", amount: "12" });
    client.agent.setState(edited);

    const question = await turn(client, "Give me all the ingredients");
    assert.ok(!question.types.includes("TOOL_CALL_START"), "a question calls no tool");
    assert.deepEqual(client.agent.state, edited, "and leaves the state alone");
    const answer = client.agent.messages.at(-1).content;
    for (const name of ["Potatoes", "12", "Spaghetti"]) assert.ok(answer.includes(name), `${name} is not in: ${answer}`);

    const change = await turn(client, "Make it vegetarian");
    assertRecipeRun(change);
    const after = client.agent.state.recipe;
    assert.ok(after.ingredients.some((i) => i.name === "Potatoes"), "the edit survives the next run");
    assert.ok(after.special_preferences.includes("Vegetarian"));
    assert.ok(!JSON.stringify(after.ingredients).match(/guanciale|bacon/i), "no meat left");
    assert.ok(after.title.includes("Nonna"), "the edited title is built on");
  });

  test("S2: what the client deletes is deleted", async () => {
    const client = official(server.url);
    await turn(client, "I want to make a classic Italian pasta carbonara");
    const fewer = structuredClone(client.agent.state);
    const gone = fewer.recipe.ingredients.pop();
    client.agent.setState(fewer);
    await turn(client, "Give me all the ingredients");
    assert.deepEqual(client.agent.state, fewer);
    assert.ok(!client.agent.messages.at(-1).content.includes(gone.name));
  });

  test("a first state of the client's own is the thread's state", async () => {
    const recipe = {
      title: "Make Your Recipe", skill_level: "Intermediate", cooking_time: "45 min", special_preferences: [],
      ingredients: [{ icon: "🥕", name: "Carrots", amount: "3 large, grated" }], instructions: ["Preheat the oven"],
    };
    const client = official(server.url, { initialState: { recipe, mine: { big: "9007199254740993", nothing: null } } });
    const run = await turn(client, "Give me all the ingredients");
    assert.deepEqual(run.events[1].snapshot, { recipe, mine: { big: "9007199254740993", nothing: null } });
    assert.ok(client.agent.messages.at(-1).content.includes("Carrots"));
  });

  test("protobuf, where the client asks for it by name", async () => {
    class Binary extends HttpAgent {
      requestInit(input) {
        const init = super.requestInit(input);
        init.headers = { ...init.headers, Accept: "application/vnd.ag-ui.event+proto" };
        return init;
      }
    }
    const agent = new Binary({ url: server.url });
    agent.addMessage({ id: crypto.randomUUID(), role: "user", content: "I want to make a classic Italian pasta carbonara" });
    const states = [];
    await agent.runAgent({}, { onStateChanged: ({ state }) => void states.push(structuredClone(state)) });
    assert.ok(states.length > 10, "the state grows");
    assert.ok(agent.state.recipe.ingredients.length > 2);
    assert.equal(agent.messages.at(-1).role, "assistant");
  });

  test("the same agent at /shared_state, with and without a last slash", async () => {
    for (const path of ["shared_state", "shared_state/"]) {
      const run = await turn(official(server.url + "/" + path), "Hello");
      assert.equal(run.types.at(-1), "RUN_FINISHED");
    }
  });

  test("bad input is refused with path and reason before any event", async () => {
    const json = { "content-type": "application/json" };
    const ok = { threadId: "t", runId: "r", messages: [] };
    const cases = [
      ["malformed JSON", "POST", "/", json, '{"threadId": "t",', 400],
      ["no threadId", "POST", "/", json, JSON.stringify({ ...ok, threadId: undefined }), 400, "threadId"],
      ["not an object", "POST", "/", json, "[1]", 400],
      ["messages of a wrong type", "POST", "/", json, JSON.stringify({ ...ok, messages: 5 }), 400, "/messages"],
      ["unknown path", "POST", "/nowhere", json, JSON.stringify(ok), 404],
      ["wrong content type", "POST", "/", { "content-type": "text/plain" }, JSON.stringify(ok), 415],
      ["10 MB", "POST", "/", json, JSON.stringify({ ...ok, state: { a: "x".repeat(10 << 20) } }), 413],
      ["deep nesting", "POST", "/", json, '{"threadId":"t","runId":"r","messages":[],"state":' + '{"":'.repeat(100000), 400],
    ];
    for (const [name, method, path, headers, body, status, where] of cases) {
      const res = await fetch(server.url + path, { method, headers, body });
      assert.equal(res.status, status, name);
      const answer = await res.json();
      assert.ok(answer.errors.length > 0 && answer.errors[0].message.length > 0, name);
      if (where) assert.ok(answer.errors[0].path.includes(where), `${name}: ${JSON.stringify(answer)}`);
    }
  });
});

for (const cut of [0, 1, 3, 7, -1]) {
  describe(`OpenAI wire, cut ${cut}`, () => {
    let model, server;
    before(async () => {
      // A model takes its time between two chunks; a burst comes in one or two steps.
      const pause = cut < 0 ? "0" : "2ms";
      model = await start("fakeopenai", ["--cut", String(cut), "--pause", pause, "--key", "test-key-marker"]);
      server = await start("lockstep", ["serve", "--addr", "127.0.0.1:0"], {
        OPENAI_BASE_URL: model.url, OPENAI_API_KEY: "test-key-marker", OPENAI_MODEL: "fake",
      });
    });
    after(async () => {
      assert.equal(await server.stop(), 0);
      await model.stop();
      assert.ok(!server.log.join("\n").includes("test-key-marker"), "no key in the log");
    });

    test("create, modify, ask", async () => {
      const client = official(server.url);
      const created = await turn(client, "I want to make a classic Italian pasta carbonara");
      assertRecipeRun(created);
      assertGrowth(created, cut < 0 ? 1 : 3);

      const edited = structuredClone(client.agent.state);
      edited.recipe.ingredients.push({ icon: "🥔", name: "Potatoes", amount: "12" });
      client.agent.setState(edited);
      assertRecipeRun(await turn(client, "Make it vegetarian"));
      const after = structuredClone(client.agent.state);
      assert.ok(after.recipe.ingredients.some((i) => i.name === "Potatoes"), "the model saw the edit");
      assert.ok(after.recipe.special_preferences.includes("Vegetarian"));

      const question = await turn(client, "What is guanciale?");
      assert.ok(!question.types.includes("TOOL_CALL_START"));
      assert.deepEqual(client.agent.state, after);
    });
  });
}

describe("a model that is not there", () => {
  test("RUN_ERROR with a code, nothing leaks, the next run is accepted", async () => {
    const server = await start("lockstep", ["serve", "--addr", "127.0.0.1:0"], {
      OPENAI_BASE_URL: "http://127.0.0.1:9/v1", OPENAI_API_KEY: "test-key-marker", OPENAI_MODEL: "fake",
    });
    try {
      const client = official(server.url);
      for (let i = 0; i < 2; i++) {
        const run = await turn(client, "carbonara");
        assert.equal(run.types.at(-1), "RUN_ERROR");
        assert.equal(run.runError.code, "model_error");
        assert.ok(!/127\.0\.0\.1|refused|marker|dial/.test(JSON.stringify(run.events)), "the error's own text stays inside");
      }
    } finally {
      await server.stop();
    }
  });
});
