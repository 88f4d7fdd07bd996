// Approvals with unmodified clients: by interrupt with the release of the 1.0
// protocol, and with the one before it; in the older way, by confirm_changes, as
// the AG-UI dojo's page does it.
import test, { after, before, describe } from "node:test";
import assert from "node:assert/strict";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { HttpAgent, buildResumeArray } from "@ag-ui/client";
import { HttpAgent as OlderAgent } from "ag-ui-client-0058";
import { official, shadowStates, start, turn } from "./lib.mjs";

let server;
let folder;
const args = () => ["serve", "--addr", "127.0.0.1:0", "--model", "scripted", "--store", `sqlite:${path.join(folder, "threads.db")}`];
before(async () => {
  folder = await mkdtemp(path.join(tmpdir(), "lockstep-approval-"));
  server = await start("lockstep", args());
});
after(async () => {
  assert.equal(await server.stop(), 0);
  await rm(folder, { recursive: true });
});

const releases = { "1.0": HttpAgent, "0.0.58": OlderAgent };
const client = (at, Agent, options = {}) => official(server.url + at, { threadId: crypto.randomUUID(), ...options }, Agent);
const get = async (url) => (await fetch(url)).json();

/** Checks what every run of these keeps, and returns the documents it showed. */
function clean(run, last = "RUN_FINISHED") {
  assert.deepEqual(run.warnings, []);
  assert.equal(run.types[0], "RUN_STARTED");
  assert.equal(run.types.at(-1), last);
  return shadowStates(run.events);
}

/** Has the agent propose a document, and returns the question. */
async function propose(one, text = "Create a document about a ship called Argo") {
  const run = await turn(one, text);
  const states = clean(run);
  assert.ok(states.length > 3, "the proposal streams");
  assert.deepEqual(run.types.slice(-3), ["STATE_SNAPSHOT", "MESSAGES_SNAPSHOT", "RUN_FINISHED"]);
  assert.ok(!run.types.includes("TOOL_CALL_RESULT"), "nothing has run");
  const { pendingInterrupts } = one.agent;
  assert.equal(pendingInterrupts.length, 1);
  const [question] = pendingInterrupts;
  assert.equal(question.reason, "tool_call");
  assert.ok(question.message.length > 0);
  assert.deepEqual(question.responseSchema.required, ["approved"]);
  const call = one.agent.messages.flatMap((m) => m.toolCalls ?? []).at(-1);
  assert.equal(call.id, question.toolCallId);
  return { run, question, call, proposed: structuredClone(one.agent.state) };
}

for (const [release, Agent] of Object.entries(releases)) {
  describe(`interrupts, ${release}`, () => {
    for (const [how, sameRun] of [["under a new run's id", false], ["under the paused run's id", true]]) {
      test(`approved ${how}: the tool runs, the state stays`, async () => {
        const one = client("/create_document", Agent);
        const { run, question, call, proposed } = await propose(one);
        const resume = buildResumeArray(one.agent.pendingInterrupts, { [question.id]: { status: "resolved", payload: { approved: true } } });
        const done = await turn(one, undefined, { resume, ...(sameRun ? { runId: run.events[0].runId } : {}) });
        const states = clean(done);
        assert.equal(done.events[0].runId === run.events[0].runId, sameRun);
        assert.ok(!done.types.some((t) => ["TOOL_CALL_START", "TOOL_CALL_ARGS", "TOOL_CALL_END"].includes(t)));
        assert.deepEqual(done.events.filter((e) => e.type === "TOOL_CALL_RESULT").map((e) => e.toolCallId), [call.id]);
        for (const state of states) assert.deepEqual(state, proposed);
        assert.deepEqual(one.agent.state, proposed);
        assert.deepEqual(one.agent.pendingInterrupts, []);
        assert.equal(one.agent.messages.at(-1).role, "assistant");
        assert.ok(one.agent.messages.at(-1).content.length > 0);

        const next = await turn(one, "Hi");
        clean(next);
        assert.deepEqual(one.agent.state, proposed);
      });
    }

    for (const [how, answer] of Object.entries({
      rejected: { status: "resolved", payload: { approved: false } },
      cancelled: { status: "cancelled" },
    })) {
      test(`${how}: the proposal goes, and does not come back`, async () => {
        const one = client("/create_document", Agent);
        const { question } = await propose(one);
        const resume = buildResumeArray(one.agent.pendingInterrupts, { [question.id]: answer });
        const done = await turn(one, undefined, { resume });
        for (const state of clean(done)) assert.ok(!("document" in state), JSON.stringify(state));
        assert.deepEqual(one.agent.pendingInterrupts, []);
        assert.ok(!("document" in one.agent.state));
        const next = await turn(one, "Hi");
        for (const state of clean(next)) assert.ok(!("document" in state));
      });
    }

    test("edited: the tool and the state get what the person wrote", async () => {
      const one = client("/create_document", Agent);
      const { question, call } = await propose(one);
      const editedArgs = { ...JSON.parse(call.function.arguments), title: "Mine", metadata: { big: "9007199254740993", none: null } };
      const done = await turn(one, undefined, { resume: [{ interruptId: question.id, status: "resolved", payload: { approved: true, editedArgs } }] });
      clean(done);
      assert.deepEqual(one.agent.state.document, editedArgs);
    });

    test("the client asks for an answer before anything is sent; the server does where one gets there", async () => {
      const one = client("/create_document", Agent);
      const { question, proposed } = await propose(one);
      const requests = one.wire.length;
      await assert.rejects(turn(one, "Hi"), /interrupt/i);
      assert.equal(one.wire.length, requests, "no request was made");

      // A client that does not know of the question: a page that was loaded anew.
      const other = client("/create_document", Agent, { threadId: one.agent.threadId });
      const refused = await turn(other, "Hi").catch((error) => error);
      const error = other.wire[0].text;
      assert.match(error, /"code":"APPROVAL_RESUME_REQUIRED"/, String(refused));
      const { interrupts, state } = await get(`${server.url}/create_document/threads/${one.agent.threadId}`);
      assert.equal(interrupts.length, 1);
      assert.equal(interrupts[0].id, question.id);
      assert.deepEqual(state, proposed);

      // A malformed answer changes nothing, and leaves the client its question.
      const bad = await turn(one, undefined, { resume: [{ interruptId: question.id, status: "resolved", payload: { approved: "yes" } }] }).catch((e) => e);
      assert.ok(bad);
      assert.match(one.wire.at(-1).text, /"code":"APPROVAL_RESUME_INVALID"/);
      assert.equal(one.agent.pendingInterrupts.length, 1);
      const done = await turn(one, undefined, { resume: [{ interruptId: question.id, status: "resolved", payload: { approved: true } }] });
      clean(done);
      assert.deepEqual(one.agent.state, proposed);
      assert.deepEqual(one.agent.pendingInterrupts, []);
    });

    test("the same answer again is the same answer, another is not found", async () => {
      const one = client("/create_document", Agent);
      const { question, proposed } = await propose(one);
      const resume = [{ interruptId: question.id, status: "resolved", payload: { approved: true } }];
      clean(await turn(one, undefined, { resume }));
      const again = await turn(one, undefined, { resume });
      clean(again);
      assert.deepEqual(again.types, ["RUN_STARTED", "STATE_SNAPSHOT", "MESSAGES_SNAPSHOT", "RUN_FINISHED"]);
      assert.deepEqual(one.agent.state, proposed);
      await turn(one, undefined, { resume: [{ interruptId: question.id, status: "resolved", payload: { approved: false } }] }).catch(() => {});
      assert.match(one.wire.at(-1).text, /"code":"APPROVAL_RESUME_NOT_FOUND"/);
    });

    test("an answer with a new question: the tool runs and the question is answered", async () => {
      const one = client("/create_document", Agent);
      const { question, call, proposed } = await propose(one);
      const done = await turn(one, "Hi", { resume: [{ interruptId: question.id, status: "resolved", payload: { approved: true } }] });
      clean(done);
      assert.deepEqual(done.events.filter((e) => e.type === "TOOL_CALL_RESULT").map((e) => e.toolCallId), [call.id]);
      assert.deepEqual(one.agent.state, proposed);
    });
  });
}

test("a client that attaches is told of the question, and its answer counts", async () => {
  const one = client("/create_document", HttpAgent);
  const { question, proposed } = await propose(one);
  const { threadId } = one.agent;
  // What a page does with an attach: an official agent whose request is a GET.
  const attach = new HttpAgent({
    url: `${server.url}/create_document/threads/${threadId}/events?protocolVersion=1.0&live=false`,
    threadId,
    fetch: (url, { signal }) => fetch(url, { signal }),
  });
  await attach.runAgent();
  assert.deepEqual(attach.pendingInterrupts.map((i) => i.id), [question.id]);
  assert.deepEqual(attach.state, proposed);
  assert.equal(attach.messages.length, one.agent.messages.length);

  const other = client("/create_document", HttpAgent, { threadId, initialMessages: attach.messages, initialState: attach.state });
  clean(await turn(other, undefined, { resume: [{ interruptId: question.id, status: "resolved", payload: { approved: true } }] }));
  assert.deepEqual(other.agent.state, proposed);
  const { threads } = await get(`${server.url}/create_document/threads`);
  assert.deepEqual(threads.find((t) => t.threadId === threadId).interrupts, []);
});

test("a question survives a restart of the server", async () => {
  const one = client("/create_document", HttpAgent);
  const { question, proposed } = await propose(one);
  assert.equal(await server.stop(), 0);
  server = await start("lockstep", args());
  const other = client("/create_document", HttpAgent, { threadId: one.agent.threadId, initialMessages: one.agent.messages, initialState: one.agent.state });
  const { threads } = await get(`${server.url}/create_document/threads`);
  assert.equal(threads.find((t) => t.threadId === one.agent.threadId).interrupts[0].id, question.id);
  const done = await turn(other, undefined, { resume: [{ interruptId: question.id, status: "resolved", payload: { approved: true } }] });
  clean(done);
  assert.equal(done.types.filter((t) => t === "TOOL_CALL_RESULT").length, 1);
  assert.deepEqual(other.agent.state, proposed);
});

for (const [release, Agent] of Object.entries(releases)) {
  describe(`confirm_changes as the dojo's page does it, ${release}`, () => {
    const page = () => client("/predictive_state_updates", Agent, { initialState: { document: "" } });

    /** Has the agent write, and returns the call that the page's dialogue answers. */
    async function write(one, text) {
      const held = structuredClone(one.agent.state.document);
      const run = await turn(one, text);
      const states = clean(run);
      assert.equal(states[0].document, held, "the run begins with what the page has");
      assert.notEqual(run.outcome?.type ?? run.outcome, "interrupt");
      assert.deepEqual(one.agent.pendingInterrupts, [], "no interrupt: a stock client would not go on without a resume");
      const [call, dialogue] = run.events.filter((e) => e.type === "TOOL_CALL_START");
      assert.equal(call.toolCallName, "write_document_local");
      assert.equal(dialogue.toolCallName, "confirm_changes");
      assert.deepEqual(run.events.filter((e) => e.type === "TOOL_CALL_RESULT").map((e) => e.toolCallId), [call.toolCallId]);
      assert.ok(run.events.some((e) => e.type === "CUSTOM" && e.name === "function_approval_request"));
      return { call, dialogue, written: one.agent.state.document, states };
    }

    /** What the page does when a button is pressed. */
    async function decide(one, dialogue, accepted, document) {
      one.agent.setState({ document });
      one.agent.addMessage({ id: crypto.randomUUID(), role: "tool", toolCallId: dialogue.toolCallId, content: JSON.stringify({ accepted }) });
      const run = await turn(one);
      const states = clean(run);
      assert.equal(one.agent.messages.at(-1).role, "assistant", "the page waits for a short text");
      assert.ok(one.agent.messages.at(-1).content.length > 0);
      return { run, states };
    }

    const results = (one, call) => one.agent.messages.filter((m) => m.role === "tool" && m.toolCallId === call.toolCallId).map((m) => m.content);

    test("confirm, then reject, then confirm", async () => {
      const one = page();
      const first = await write(one, "Give me a story for a dragon called Atlantis in document");
      assert.match(first.written, /Atlantis/);
      const growing = first.states.map((s) => s.document);
      growing.forEach((d, i) => assert.ok(i === 0 || d.startsWith(growing[i - 1]), "the document grows"));
      assert.deepEqual(results(one, first.call), ["Waiting for approval."]);
      const yes = await decide(one, first.dialogue, true, first.written);
      assert.equal(one.agent.state.document, first.written);
      assert.ok(!yes.run.types.includes("TOOL_CALL_RESULT"), "the result takes the placeholder's place");
      assert.deepEqual(results(one, first.call), ["Document written."]);

      const second = await write(one, "Change dragon name to Lola");
      assert.match(second.written, /Lola/);
      const no = await decide(one, second.dialogue, false, first.written);
      for (const s of no.states) assert.equal(s.document, first.written, "the rejected document is not sent back");
      assert.equal(one.agent.state.document, first.written);

      const third = await write(one, "Change dragon name to Lola");
      await decide(one, third.dialogue, true, third.written);
      assert.match(one.agent.state.document, /Lola/);
      clean(await turn(one, "Hi"));
      assert.match(one.agent.state.document, /Lola/);
    });

    test("a message instead of an answer is a no", async () => {
      const one = page();
      const { call, dialogue } = await write(one, "Give me a story for a dragon called Atlantis in document");
      one.agent.setState({ document: "" });
      const run = await turn(one, "Hi");
      for (const s of clean(run)) assert.equal(s.document, "");
      assert.equal(results(one, call).length, 1);
      assert.notEqual(results(one, call)[0], "Waiting for approval.");
      const { interrupts } = await get(`${server.url}/predictive_state_updates/threads/${one.agent.threadId}`);
      assert.deepEqual(interrupts, []);
      assert.ok(dialogue);
    });

    test("a page that was loaded anew finds the dialogue, and its answer counts", async () => {
      const one = page();
      const { dialogue, written } = await write(one, "Give me a story for a dragon called Atlantis in document");
      const thread = await get(`${server.url}/predictive_state_updates/threads/${one.agent.threadId}`);
      assert.deepEqual(thread.interrupts.map((i) => i.id), [dialogue.toolCallId]);
      const other = client("/predictive_state_updates", Agent, { threadId: one.agent.threadId, initialMessages: thread.messages, initialState: thread.state });
      await decide(other, dialogue, true, written);
      assert.equal(other.agent.state.document, written);
      // The first page answers too, late and otherwise: nothing comes of it.
      one.agent.addMessage({ id: crypto.randomUUID(), role: "tool", toolCallId: dialogue.toolCallId, content: '{"accepted":false}' });
      clean(await turn(one));
      assert.equal(one.agent.state.document, written);
    });
  });
}
