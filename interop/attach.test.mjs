// T3: official clients, of three releases, that attach to a thread and stay on its
// one body whatever happens there. The only thing that is not theirs is connect,
// which the protocol leaves to the application: here it is a GET.
import { after, before, describe, test } from "node:test";
import assert from "node:assert/strict";
import { isDeepStrictEqual } from "node:util";
import * as current from "@ag-ui/client";
import * as older from "ag-ui-client-0058";
import * as newer from "ag-ui-client-0059";
import { start } from "./lib.mjs";

let server;
before(async () => {
  server = await start("lockstep", ["serve", "--addr", "127.0.0.1:0", "--model", "scripted"]);
});
after(async () => {
  assert.equal(await server.stop(), 0);
});

/** An official agent that attaches: nothing but the request is ours. */
const attaching = ({ HttpAgent, runHttpRequest, transformHttpEventStream }, query) =>
  class extends HttpAgent {
    connect({ threadId }) {
      this.hangUp = new AbortController();
      const url = `${this.url}/threads/${threadId}/events${query}`;
      return transformHttpEventStream(runHttpRequest(() => fetch(url, { signal: this.hangUp.signal })));
    }
  };

/** Attaches to a thread, and checks that the client got through all of it. */
async function attached(Agent, path, threadId) {
  const agent = new Agent({ url: server.url + path, threadId });
  const types = [];
  const warnings = [];
  const warn = console.warn;
  console.warn = (...words) => void warnings.push(words.join(" ")); // a patch that does not apply
  let failed;
  let over = false;
  const body = agent
    .connectAgent({}, { onEvent: ({ event }) => void types.push(event.type) })
    .catch((error) => void (failed = error))
    .finally(() => (over = true));
  return {
    agent,
    types,
    /** Waits until the client holds what the server says, and is on the stream still. */
    async settled() {
      let held;
      await until(async () => {
        held = await (await fetch(`${server.url}${path}/threads/${threadId}`)).json();
        assert.ok(!over, `the body is over: ${failed?.stack ?? types.join(" ")}`);
        return !held.activeRun && isDeepStrictEqual(agent.state, held.state) && isDeepStrictEqual(agent.messages.map(plain), held.messages.map(plain));
      }, () => `${JSON.stringify([agent.state, agent.messages.map(plain)])}\nis not\n${JSON.stringify([held.state, held.messages.map(plain)])}`);
      assert.deepEqual(warnings, []);
    },
    async leave() {
      agent.hangUp.abort();
      await body;
      console.warn = warn;
    },
  };
}

/** A message without what a client may add. */
const plain = ({ id, role, content, toolCalls, toolCallId }) =>
  JSON.parse(JSON.stringify({ id, role, content: content || undefined, calls: toolCalls?.map((c) => [c.id, c.function.arguments]), toolCallId }));

async function until(holds, what) {
  for (const end = Date.now() + 30_000; !(await holds()); ) {
    if (Date.now() > end) throw new Error(`it does not come: ${what()}`);
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}

/** Somebody else's run, which goes on whoever leaves. Resolves at its end. */
function somebody(path, threadId, text, extra = {}) {
  const seen = [];
  const done = (async () => {
    const response = await fetch(server.url + path, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({
        threadId, runId: crypto.randomUUID(), protocolVersion: "1.0",
        messages: text ? [{ id: crypto.randomUUID(), role: "user", content: text }] : [],
        forwardedProps: { lockstep: { attach: true } },
        ...extra,
      }),
    });
    assert.equal(response.status, 200);
    let text_ = "";
    const decoder = new TextDecoder();
    for await (const chunk of response.body) {
      text_ += decoder.decode(chunk, { stream: true });
      const frames = text_.split("\n\n");
      text_ = frames.pop();
      for (const frame of frames) {
        const data = frame.split("\n").find((line) => line.startsWith("data: "));
        if (data) seen.push(JSON.parse(data.slice(6)));
      }
    }
    return seen;
  })();
  const reaches = (type, n = 1) => until(() => seen.filter((e) => e.type === type).length >= n, () => `${type} in ${seen.map((e) => e.type)}`);
  return { done, seen, reaches };
}

const edit = (path, threadId, patch) =>
  fetch(`${server.url}${path}/threads/${threadId}/state`, {
    method: "PATCH",
    headers: { "content-type": "application/merge-patch+json" },
    body: JSON.stringify(patch),
  }).then((response) => assert.equal(response.status, 200));

const releases = {
  "1.0.0": attaching(current, "?protocolVersion=1.0"),
  "0.0.58": attaching(older, ""),
  "0.0.59": attaching(newer, ""),
};
const pasta = "I want to make a classic Italian pasta carbonara";

for (const [release, Agent] of Object.entries(releases)) {
  describe(`T3: ${release} stays on the stream`, { concurrency: false }, () => {
    test("idle, then an edit of another tab, a whole run, and an undo", async () => {
      const path = "/shared_state";
      const threadId = crypto.randomUUID();
      await somebody(path, threadId, "Hello").done;
      const viewer = await attached(Agent, path, threadId);
      await viewer.settled();
      await edit(path, threadId, { recipe: { title: "Mine" } });
      await viewer.settled();
      assert.equal(viewer.agent.state.recipe.title, "Mine");
      await somebody(path, threadId, pasta).done;
      await viewer.settled();
      assert.ok(viewer.types.includes("STATE_DELTA"), "the recipe came while it was written");
      assert.equal((await fetch(`${server.url}${path}/threads/${threadId}/undo`, { method: "POST" })).status, 200);
      await viewer.settled();
      assert.equal(viewer.agent.state.recipe.title, "Mine");
      await viewer.leave();
    });

    test("in the middle of a call, with an edit of another tab beside it", async () => {
      const path = "/shared_state";
      const threadId = crypto.randomUUID();
      const run = somebody(path, threadId, pasta);
      await run.reaches("STATE_DELTA", 3);
      const viewer = await attached(Agent, path, threadId);
      await until(() => viewer.types.includes("TOOL_CALL_ARGS"), () => viewer.types.join(" "));
      await edit(path, threadId, { note: "from the other tab" });
      await run.done;
      await viewer.settled();
      assert.equal(viewer.agent.state.note, "from the other tab");
      await viewer.leave();
    });

    test("in the middle of a message", async () => {
      const path = "/agentic_chat";
      const threadId = crypto.randomUUID();
      const run = somebody(path, threadId, "Hello");
      await run.reaches("TEXT_MESSAGE_CONTENT", 2);
      const viewer = await attached(Agent, path, threadId);
      await run.done;
      await viewer.settled();
      assert.equal(viewer.types.filter((t) => t === "TEXT_MESSAGE_END").length, 1);
      await viewer.leave();
    });

    test("while a proposal waits, with an edit beside it and the answer of another tab", async () => {
      const path = "/create_document";
      const threadId = crypto.randomUUID();
      const paused = await somebody(path, threadId, "Write a story about a ship called Argo").done;
      const [question] = paused.at(-1).outcome.interrupts;
      const viewer = await attached(Agent, path, threadId);
      await viewer.settled();
      assert.equal(viewer.agent.state.document.content.includes("Argo"), true, "what is proposed is shown");
      await edit(path, threadId, { beside: true });
      await viewer.settled();
      const resume = [{ interruptId: question.id, status: "resolved", payload: { approved: true } }];
      await somebody(path, threadId, "", { resume }).done;
      await viewer.settled();
      assert.equal(viewer.agent.state.beside, true);
      await viewer.leave();
    });
  });
}
