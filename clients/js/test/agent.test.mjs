// LockstepAgent against the real binary. Each test has a thread of its own.
import test, { after, before, describe } from "node:test";
import assert from "node:assert/strict";
import { LockstepAgent, LockstepError, markOf } from "../dist/index.js";
import { recorder, serve, until, wire } from "../testing/server.mjs";

let server;
before(async () => (server = await serve()));
after(async () => assert.equal(await server.stop(), 0));

const pasta = "I want to make a classic Italian pasta carbonara";
// The scripted model takes its time between two pieces; several tests share it.
const together = { concurrency: 6 };
const recipeAgent = (options = {}) => new LockstepAgent({ url: `${server.url}/shared_state`, ...options });
const posted = (agent) => {
  const bodies = [];
  const inner = agent.fetch;
  agent.fetch = (url, init) => {
    if (init.method === "POST" && init.body) bodies.push(JSON.parse(init.body));
    return inner(url, init);
  };
  return bodies;
};

/** Something that is waited for until the test opens it. */
function gate() {
  let open;
  const opened = new Promise((resolve) => (open = resolve));
  return { open, opened };
}

describe("runs", together, () => {
  test("a run is what it is with the official agent, and leaves a position", async () => {
    const agent = recipeAgent();
    assert.equal(agent.position, undefined);
    const bodies = posted(agent);
    const seen = recorder(agent);
    const { newMessages } = await agent.send(pasta);
    assert.equal(seen.types[0], "RUN_STARTED");
    assert.equal(seen.types.at(-1), "RUN_FINISHED");
    assert.match(agent.state.recipe.title, /carbonara/i);
    assert.ok(newMessages.some((m) => m.role === "assistant"));
    assert.equal(agent.isRunning, false);
    assert.match(agent.position, /^[^-]+-\d+$/);
    assert.equal(agent.revision, markOf(seen.events.findLast((e) => e.type === "STATE_SNAPSHOT")).revision);
    assert.deepEqual(bodies[0].forwardedProps, { lockstep: { attach: true } });

    const before = agent.position;
    await agent.send("Make it vegetarian", { forwardedProps: { mine: 1, lockstep: { supersede: true } } });
    assert.deepEqual(bodies[1].forwardedProps, { mine: 1, lockstep: { attach: true, base: before, supersede: true } });
  });

  test("S2: an edit of the local state travels with the next run and stays", async () => {
    const agent = recipeAgent();
    await agent.send(pasta);
    agent.setState({ ...agent.state, recipe: { ...agent.state.recipe, title: "My carbonara" } });
    await agent.send("Give me all the ingredients");
    assert.equal(agent.state.recipe.title, "My carbonara");
  });

  test("T3: a run goes on over connections that break, each event once", async (t) => {
    const line = await wire(server.url);
    t.after(() => line.close());
    const agent = new LockstepAgent({ url: `${line.url}/shared_state`, retry: { first: 5 } });
    const seen = recorder(agent);
    for (const [needle, ask] of [["TOOL_CALL_ARGS", pasta], ["RUN_STARTED", "Make it vegetarian"], ["TOOL_CALL_RESULT", "Make it spicy"]]) {
      line.cutAfter(needle);
      const n = seen.events.length;
      await agent.send(ask);
      const events = seen.events.slice(n);
      assert.equal(events[0].type, "RUN_STARTED", needle);
      assert.equal(events.at(-1).type, "RUN_FINISHED", needle);
      assert.deepEqual(seen.errors, []);
      // What was shown is exactly the log: the arguments parse, and no position comes twice.
      const args = events.filter((e) => e.type === "TOOL_CALL_ARGS").map((e) => e.delta).join("");
      assert.deepEqual(JSON.parse(args).recipe, agent.state.recipe, needle);
      const positions = events.map((e) => markOf(e)?.position).filter(Boolean);
      assert.equal(new Set(positions).size, positions.length);
    }
    const hydrated = await recipeAgent({ threadId: agent.threadId }).hydrate();
    assert.deepEqual(hydrated.state, agent.state);
    assert.deepEqual(hydrated.messages, agent.messages);
    assert.equal(hydrated.position, agent.position);
  });

  test("without attach a run ends with its connection", async (t) => {
    const line = await wire(server.url);
    t.after(() => line.close());
    const agent = new LockstepAgent({ url: `${line.url}/shared_state`, attach: false });
    const bodies = posted(agent);
    line.cutAfter("TOOL_CALL_ARGS");
    const errors = [];
    await agent.send(pasta, {}, { onRunFailed: ({ error }) => (errors.push(error), { stopPropagation: true }) });
    assert.equal(errors.length, 1);
    assert.deepEqual(bodies[0].forwardedProps, {});
  });

  test("abortRun stops the run at the server; predictions are taken back", async () => {
    const agent = recipeAgent();
    const seen = recorder(agent);
    agent.subscribe({ onToolCallArgsEvent: ({ toolCallBuffer }) => void (toolCallBuffer.length > 40 && agent.abortRun()) });
    await agent.send(pasta);
    assert.equal(seen.types.at(-1), "RUN_FINISHED");
    assert.equal(seen.events.at(-1).outcome.type, "cancelled");
    assert.deepEqual(seen.errors, []);
    const before = seen.events.find((e) => e.type === "STATE_SNAPSHOT").snapshot;
    assert.deepEqual(agent.state, before);
    assert.equal(await agent.stopRun(), false);
  });

  // The stop and the run are two requests, and may come to the server in either order.
  for (const late of ["request", "answer"]) {
    test(`abortRun stops a run that the server does not know yet, the stop's answer coming ${late === "request" ? "before the run" : "after its first event"}`, async (t) => {
      const agent = recipeAgent();
      const following = agent.follow();
      t.after(() => following.stop());
      await until("the stream", () => agent.connection.status === "live");
      const seen = recorder(agent);
      const inner = agent.fetch;
      const refused = gate();
      const begun = gate();
      const asked = [];
      agent.fetch = async (url, init) => {
        if (init.method === "POST") await refused.opened;
        if (init.method !== "DELETE") return inner(url, init);
        const answer = await inner(url, init);
        asked.push(answer.status);
        refused.open();
        if (late === "answer" && asked.length === 1) await begun.opened;
        return answer;
      };
      agent.subscribe({ onRunStartedEvent: () => begun.open() });
      const run = agent.send(pasta);
      await until("the run to be posted", () => agent.ownRun);
      agent.abortRun();
      await run;
      await until("the answer to the second one", () => asked.length === 2);
      assert.deepEqual(asked, [404, 204]);
      assert.equal(seen.events.at(-1).outcome?.type, "cancelled");
      assert.equal((await agent.peek()).activeRun, null);
    });
  }

  test("abortRun, called twice, leaves a request to itself that does not come through", async (t) => {
    const agent = recipeAgent();
    const following = agent.follow();
    t.after(() => following.stop());
    await until("the stream", () => agent.connection.status === "live");
    const inner = agent.fetch;
    const answered = gate();
    agent.fetch = (url, init) => {
      if (init.method !== "POST") return inner(url, init).finally(() => init.method === "DELETE" && answered.open());
      return new Promise((_, reject) => init.signal.addEventListener("abort", () => reject(init.signal.reason)));
    };
    const run = agent.send(pasta).catch((e) => e);
    await until("the run to be posted", () => agent.ownRun);
    agent.abortRun();
    await answered.opened;
    await until("the stop to wait", () => agent.ownRun.unwanted);
    agent.abortRun();
    await run;
    assert.equal(agent.isRunning, false);
  });

  test("a refusal is an error with the server's words", async () => {
    const agent = new LockstepAgent({ url: `${server.url}/nobody` });
    await assert.rejects(
      agent.runAgent(),
      (e) => e instanceof LockstepError && e.status === 404 && e.problems[0].path === "/nobody" && /no agent/.test(e.message),
    );
    await assert.rejects(agent.capabilities(), (e) => e.status === 404);
  });
});

describe("attaching", together, () => {
  test("T3: to follow in the middle of one's own run shows nothing twice", async (t) => {
    const line = await wire(server.url);
    t.after(() => line.close());
    const agent = new LockstepAgent({ url: `${line.url}/shared_state` });
    const seen = recorder(agent);
    line.holdAt("TEXT_MESSAGE_START"); // late in the run, which is over at the server by then
    const run = agent.send(pasta);
    await until("the call to be over", () => seen.types.includes("TOOL_CALL_RESULT"));
    const asked = [];
    const inner = agent.fetch;
    agent.fetch = (url, init) => (asked.push(url), inner(url, init));
    const following = agent.follow();
    await until("the thread to be at rest", async () => (await (await fetch(`${server.url}/shared_state/threads/${agent.threadId}`)).json()).activeRun === null);
    assert.deepEqual(asked, [], "the run's own answer brings it");
    line.release();
    await run;
    await until("the stream", () => agent.connection.status === "live");
    assert.equal(seen.types.filter((type) => type === "RUN_FINISHED").length, 1);
    const { messages, state } = await agent.peek();
    assert.deepEqual([agent.messages, agent.state], [messages, state]);
    await agent.edit({ note: "after" });
    await until("the edit", () => agent.state.note === "after");
    await following.stop();
  });

  test("an edit's answer may come before its event: reached waits for it", async (t) => {
    const line = await wire(server.url);
    t.after(() => line.close());
    const first = recipeAgent();
    await first.edit({ note: "one" });
    const agent = new LockstepAgent({ url: `${line.url}/shared_state`, threadId: first.threadId });
    await agent.hydrate();
    const following = agent.follow();
    await until("the stream", () => agent.connection.status === "live");
    line.holdAt("STATE_SNAPSHOT");
    const outcome = await agent.edit({ note: "two" });
    assert.equal(agent.state.note, "one");
    let done = false;
    const reached = agent.reached(outcome.position).then(() => (done = true));
    await new Promise((resolve) => setTimeout(resolve)); // what it has to do, it has done
    assert.equal(done, false);
    line.release();
    await reached;
    assert.equal(agent.state.note, "two");
    await agent.reached(outcome.position); // at once
    line.holdAt("STATE_SNAPSHOT");
    const { position } = await agent.edit({ note: "three" });
    const over = agent.reached(position);
    await following.stop();
    await over; // nobody brings it any more
    assert.equal(agent.state.note, "two");
  });

  test("T3: connectAgent shows an idle thread and ends", async () => {
    const first = recipeAgent();
    await first.send(pasta);
    const second = recipeAgent({ threadId: first.threadId });
    await second.connectAgent();
    assert.deepEqual(second.state, first.state);
    assert.deepEqual(second.messages, first.messages);
    assert.equal(second.position, first.position);
    await second.connectAgent(); // again, with a position: still the whole thread
    assert.deepEqual(second.messages, first.messages);
  });

  test("connectAgent shows a running run to its end", async () => {
    const first = recipeAgent();
    const run = first.send(pasta);
    await until("the first delta", () => first.state.recipe);
    const second = recipeAgent({ threadId: first.threadId });
    const seen = recorder(second);
    await second.connectAgent();
    await run;
    assert.equal(seen.types.at(-1), "RUN_FINISHED");
    assert.deepEqual(second.state, first.state);
    assert.deepEqual(second.messages, first.messages);
  });

  test("follow shows what others do, across runs, and one's own runs once", async () => {
    const mine = recipeAgent();
    const theirs = recipeAgent({ threadId: mine.threadId });
    const seen = recorder(mine);
    const following = mine.follow();
    assert.throws(() => mine.follow(), LockstepError);
    await until("the connection", () => mine.connection.status === "live");
    await theirs.send(pasta);
    await until("the first run", () => mine.position === theirs.position);
    assert.deepEqual(mine.state, theirs.state);
    assert.deepEqual(mine.messages, theirs.messages);

    await mine.send("Make it vegetarian");
    await until("the connection again", () => mine.connection.status === "live");
    assert.deepEqual(await theirs.hydrate().then((h) => h.state), mine.state);
    await theirs.send("Give me all the ingredients");
    await until("the third run", () => mine.position === theirs.position);
    assert.deepEqual(mine.messages, theirs.messages);
    assert.equal(seen.types.filter((t) => t === "RUN_STARTED").length, 3);
    assert.equal(seen.types.filter((t) => t === "RUN_FINISHED").length, 3);
    assert.equal(new Set(mine.messages.map((m) => m.id)).size, mine.messages.length);

    await following.stop();
    assert.equal(mine.connection.status, "idle");
    await theirs.send("hello");
    assert.notEqual(mine.position, theirs.position);
    mine.follow().stop();
  });

  test("T3: follow goes on over connections that break, without a gap or a repetition", async (t) => {
    const line = await wire(server.url);
    t.after(() => line.close());
    const mine = new LockstepAgent({ url: `${line.url}/shared_state`, retry: { first: 5, most: 20 } });
    const theirs = recipeAgent({ threadId: mine.threadId });
    const seen = recorder(mine);
    const states = [];
    mine.onConnection((c) => states.push(c.status));
    const following = mine.follow();
    await until("the connection", () => mine.connection.status === "live");
    line.cutAfter("TOOL_CALL_ARGS");
    await theirs.send(pasta);
    await until("the end of the run", () => mine.position === theirs.position);
    assert.ok(states.includes("waiting"));
    assert.deepEqual(mine.messages, theirs.messages);
    const args = seen.events.filter((e) => e.type === "TOOL_CALL_ARGS").map((e) => e.delta).join("");
    assert.deepEqual(JSON.parse(args).recipe, theirs.state.recipe);

    line.down = true;
    await until("it to notice", () => mine.connection.status === "waiting");
    await theirs.send("Make it vegetarian");
    line.down = false;
    await until("the second run", () => mine.position === theirs.position);
    assert.deepEqual(mine.state, theirs.state);
    assert.deepEqual(mine.messages, theirs.messages);
    assert.equal(seen.types.filter((t) => t === "RUN_STARTED").length, 2);
    await following.stop();
  });

  test("T3: what is too old to be told event by event comes as snapshots, in the middle of a run too", async (t) => {
    const line = await wire(server.url);
    t.after(() => line.close());
    const retry = { first: 20, most: 100, attempts: 10_000 };
    const own = new LockstepAgent({ url: `${line.url}/task_planner`, retry });
    const viewer = new LockstepAgent({ url: `${line.url}/task_planner`, threadId: own.threadId, retry });
    const theirs = new LockstepAgent({ url: `${server.url}/task_planner`, threadId: own.threadId });
    const [ownSeen, viewerSeen] = [recorder(own), recorder(viewer)];
    const following = [viewer.follow(), theirs.follow()];
    t.after(() => Promise.all(following.map((f) => f.stop())));
    await until("both viewers", () => viewer.connection.status === "live" && theirs.connection.status === "live");

    // Both are shown the beginning of a run, and then nothing for a while.
    const run = own.send("Plan a birthday party");
    await until("the run", () => own.state.steps?.length > 0 && viewer.state.steps?.length > 0);
    line.down = true;
    await until("the run's end", () => theirs.messages.at(-1)?.content && !theirs.isRunning);
    for (const text of ["I prefer short meetings", "I like tea", "Plan a picnic"]) await theirs.send(text);
    const oldest = await until("compaction", async () => {
      const { oldest } = await theirs.peek();
      return Number(oldest.split("-")[1]) > Number(own.position.split("-")[1]) && oldest;
    });
    assert.notEqual(oldest, own.position);
    line.down = false;
    await run;
    await until("the viewer", () => viewer.position === theirs.position);
    assert.deepEqual(viewer.state, theirs.state);
    assert.deepEqual(viewer.messages, theirs.messages);
    assert.deepEqual(own.state, theirs.state);
    assert.deepEqual(own.messages, theirs.messages);
    for (const seen of [ownSeen, viewerSeen]) {
      assert.deepEqual(seen.errors, []);
      assert.equal(seen.types.at(-1), "RUN_FINISHED");
    }
    // What was open was closed before the snapshots.
    const closed = ownSeen.types.lastIndexOf("TOOL_CALL_END");
    assert.ok(closed > 0 && closed < ownSeen.types.lastIndexOf("STATE_SNAPSHOT"));
  });

  test("a run of one's own while another's is shown: busy is told, and following goes on", async () => {
    const theirs = recipeAgent();
    const run = theirs.send(pasta);
    await until("the first delta", () => theirs.state.recipe);
    const mine = recipeAgent({ threadId: theirs.threadId });
    const following = mine.follow();
    await until("their state", () => mine.state.recipe);
    const outcome = await mine.send("hello", {}, { onRunFailed: () => ({ stopPropagation: true }) }).then(
      () => "sent",
      (e) => e,
    );
    await run;
    await until("the thread to be the same", async () => (await theirs.hydrate()).position === mine.position);
    assert.deepEqual(mine.state, theirs.state);
    if (outcome instanceof LockstepError) assert.equal(outcome.status, 409);
    await following.stop();
  });

  test("a server that refuses ends following; the error is there", async () => {
    const agent = new LockstepAgent({ url: `${server.url}/nobody` });
    await agent.follow().ended;
    assert.equal(agent.connection.status, "failed");
    assert.equal(agent.connection.error.status, 404);
  });

  test("a clone is a stranger: same place, no follower", async () => {
    const agent = recipeAgent();
    await agent.send(pasta);
    const following = agent.follow();
    const copy = agent.clone();
    assert.equal(copy.position, agent.position);
    assert.equal(copy.connection.status, "idle");
    await copy.send("Give me all the ingredients");
    await until("the copy's run", () => agent.position === copy.position);
    assert.deepEqual(agent.messages, copy.messages);
    await following.stop();
  });
});

describe("the thread", together, () => {
  test("hydrate loads it, and null says that there is none", async () => {
    const first = recipeAgent();
    assert.equal(await first.hydrate(), null);
    await first.send(pasta);
    const second = recipeAgent({ threadId: first.threadId });
    const got = await second.hydrate();
    assert.equal(got.activeRun, null);
    assert.deepEqual(got.predicted, []);
    assert.deepEqual(second.state, first.state);
    assert.equal(second.position, first.position);
    // What was loaded goes on from there.
    const seen = recorder(second);
    const following = second.follow();
    await until("the connection", () => second.connection.status === "live");
    await first.send("Give me all the ingredients");
    await until("the run", () => second.position === first.position);
    assert.equal(seen.types.filter((t) => t === "RUN_STARTED").length, 1);
    assert.deepEqual(second.messages, first.messages);
    await following.stop();
  });

  test("capabilities name the agent and the schema of its state", async () => {
    const c = await recipeAgent().capabilities();
    assert.equal(c.identity.name, "recipe");
    assert.equal(c.custom.stateSchema.properties.recipe.type, "object");
    assert.deepEqual(await recipeAgent().getCapabilities(), c);
  });

  test("edit: a patch and a merge, seen by who follows; undo takes back what the agent did", async (t) => {
    const mine = recipeAgent();
    const theirs = recipeAgent({ threadId: mine.threadId });
    const following = theirs.follow();
    t.after(() => following.stop());
    await mine.send(pasta);
    const title = mine.state.recipe.title;
    const done = await mine.edit([{ op: "replace", path: "/recipe/title", value: "Ours" }]);
    assert.equal(done.status, "applied");
    assert.equal(done.merged, false);
    assert.equal(mine.state.recipe.title, "Ours", "without a follower the new state is fetched");
    assert.equal(mine.position, done.position);
    await until("the other viewer", () => theirs.position === done.position);
    assert.deepEqual(theirs.state, mine.state);

    assert.equal((await theirs.edit({ recipe: { servings: 4 } })).status, "applied");
    await mine.hydrate();
    assert.equal(mine.state.recipe.servings, 4);

    const undone = await mine.undo();
    assert.equal(undone.status, "undone");
    assert.equal(mine.state.recipe.title, "Ours", "edits are not taken back");
    assert.ok(undone.conflicts.some((c) => c.path.startsWith("/recipe")));
    assert.equal(mine.state.recipe.ingredients, undefined);
    const again = await mine.undo();
    assert.equal(again.status, "refused");
    assert.match(again.reason, /left to undo/);
    assert.notEqual(title, "Ours");
  });

  test("edit: a conflict says where, and what is there now", async () => {
    const mine = recipeAgent();
    await mine.edit({ recipe: { title: "A", servings: 2 } });
    const base = mine.position;
    const theirs = recipeAgent({ threadId: mine.threadId });
    await theirs.hydrate();
    await theirs.edit([{ op: "replace", path: "/recipe/title", value: "B" }]);
    const kept = await mine.edit([{ op: "replace", path: "/recipe/servings", value: 3 }], base);
    assert.equal(kept.status, "applied");
    assert.equal(kept.merged, true);
    const refused = await mine.edit([{ op: "replace", path: "/recipe/title", value: "C" }], base);
    assert.equal(refused.status, "conflict");
    assert.deepEqual(refused.conflicts, [{ path: "/recipe/title" }]);
    assert.equal(refused.state.recipe.title, "B");
    assert.equal((await mine.edit([{ op: "replace", path: "/recipe/title", value: "C" }], refused.position)).status, "applied");
    assert.equal(mine.state.recipe.title, "C");
  });

  test("edit: what breaks the schema or does not apply is invalid, with the place", async () => {
    const agent = recipeAgent();
    const broken = await agent.edit({ recipe: "a text" });
    assert.equal(broken.status, "invalid");
    assert.equal(broken.errors[0].path, "/recipe");
    const missing = await agent.edit([{ op: "replace", path: "/no/such/place", value: 1 }]);
    assert.equal(missing.status, "invalid");
    assert.ok(missing.errors[0].message.length > 0);
  });

  test("the list of threads, and forgetting one", async () => {
    const agent = new LockstepAgent({ url: `${server.url}/task_planner` });
    await agent.send("Plan a birthday party");
    const info = (await agent.threads()).threads.find((t) => t.threadId === agent.threadId);
    assert.equal(info.title, "Plan a birthday party");
    assert.equal(info.activeRun, null);
    assert.ok(!Number.isNaN(Date.parse(info.updated)));
    assert.equal(await agent.deleteThread(), true);
    assert.equal(agent.position, undefined);
    assert.equal(await agent.hydrate(), null);
    await assert.rejects(new LockstepAgent({ url: server.url, threadId: ".." }).hydrate(), LockstepError);
  });

  test("history is the log up to what is shown", async () => {
    const agent = recipeAgent();
    const seen = recorder(agent);
    await agent.send(pasta);
    const log = [];
    for await (const one of agent.history()) log.push(one);
    assert.deepEqual(log.map((l) => l.event.type), seen.types);
    assert.equal(log.at(-1).position, agent.position);
    const rest = [];
    for await (const one of agent.history(log[3].position)) rest.push(one);
    assert.deepEqual(rest, log.slice(4));
  });
});
