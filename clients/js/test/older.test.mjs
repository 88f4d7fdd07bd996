// The same agent on the line of the official client before 1.0, which CopilotKit
// ships: its name leads to that version, in a process of its own.
import test, { after, before } from "node:test";
import assert from "node:assert/strict";
import { register } from "node:module";
import { recorder, serve, until, wire } from "../testing/server.mjs";

register(
  "data:text/javascript," +
    encodeURIComponent(`export function resolve(name, context, next) {
      return next(name === "@ag-ui/client" ? "@ag-ui/client-0" : name, context);
    }`),
);
const { LockstepAgent } = await import("../dist/index.js");

let server;
before(async () => (server = await serve()));
after(async () => assert.equal(await server.stop(), 0));

const pasta = "I want to make a classic Italian pasta carbonara";

test("it is the older client, which names no protocol version", async () => {
  const bodies = [];
  const agent = new LockstepAgent({
    url: `${server.url}/shared_state`,
    fetch: (url, init) => (bodies.push(JSON.parse(init.body)), fetch(url, init)),
  });
  await agent.send("hello");
  assert.equal(bodies[0].protocolVersion, undefined);
});

test("T3: runs, follows, edits and goes on over connections that break", async (t) => {
  const line = await wire(server.url);
  t.after(() => line.close());
  const mine = new LockstepAgent({ url: `${line.url}/shared_state`, retry: { first: 5 } });
  const theirs = new LockstepAgent({ url: `${server.url}/shared_state`, threadId: mine.threadId });
  const seen = recorder(theirs);
  const following = theirs.follow();
  line.cutAfter("TOOL_CALL_ARGS");
  await mine.send(pasta);
  await until("the other viewer", () => theirs.position === mine.position);
  assert.match(mine.state.recipe.title, /Carbonara/);
  assert.deepEqual(theirs.state, mine.state);
  assert.deepEqual(theirs.messages, mine.messages);
  assert.deepEqual(seen.errors, []);
  assert.equal((await mine.edit({ recipe: { title: "Ours" } })).status, "applied");
  await until("the edit", () => theirs.state.recipe.title === "Ours");
  await following.stop();
  const third = new LockstepAgent({ url: `${server.url}/shared_state`, threadId: mine.threadId });
  await third.connectAgent();
  assert.deepEqual(third.state, theirs.state);
});

test("abortRun ends in success, as clients before 1.0 know no other end", async () => {
  const agent = new LockstepAgent({ url: `${server.url}/shared_state` });
  const seen = recorder(agent);
  agent.subscribe({ onToolCallArgsEvent: ({ toolCallBuffer }) => void (toolCallBuffer.length > 40 && agent.abortRun()) });
  await agent.send(pasta);
  assert.equal(seen.types.at(-1), "RUN_FINISHED");
  assert.deepEqual(seen.errors, []);
});
