// lockstep verify, record and replay against servers that are none of ours: the
// official encoders of two generations, over HTTP; and what the official client
// says of the same streams.
import test, { after, before, describe } from "node:test";
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { createServer } from "node:http";
import os from "node:os";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { EventEncoder } from "@ag-ui/encoder";
import { EventEncoder as OlderEncoder } from "ag-ui-encoder-0058";
import { frames, official, start, turn } from "./lib.mjs";

const binary = path.resolve(path.dirname(fileURLToPath(import.meta.url)), "..", "bin", "lockstep");

/** Runs the binary and returns its exit code and what it said. */
function lockstep(...args) {
  return new Promise((resolve) => {
    const env = { PATH: process.env.PATH, HOME: process.env.HOME };
    const child = execFile(binary, args, { env, timeout: 60000 }, (error, stdout, stderr) => {
      resolve({ code: error ? error.code : 0, stdout, stderr });
    });
    child.stdin.end();
  });
}

/** Serves the events that make(input) returns, as an encoder writes them. */
async function serve(Encoder, make) {
  const server = createServer(async (request, response) => {
    let body = "";
    for await (const chunk of request) body += chunk;
    const encoder = new Encoder({ accept: request.headers.accept });
    response.writeHead(200, { "content-type": encoder.getContentType() });
    for (const event of make(JSON.parse(body))) {
      response.write(typeof event === "string" ? event : encoder.encode(event));
    }
    response.end();
  });
  await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    url: `http://127.0.0.1:${server.address().port}/`,
    stop: () => new Promise((resolve) => (server.closeAllConnections(), server.close(resolve))),
  };
}

let runs = 0;
/** A run with everything that clients of both generations know. */
function common({ threadId, runId, state }) {
  const n = ++runs;
  return [
    { type: "RUN_STARTED", threadId, runId },
    { type: "STATE_SNAPSHOT", snapshot: { ...state, steps: [] } },
    { type: "STEP_STARTED", stepName: "plan" },
    { type: "TEXT_MESSAGE_START", messageId: `m${n}`, role: "assistant" },
    { type: "TEXT_MESSAGE_CONTENT", messageId: `m${n}`, delta: "Größe: 🍝\r\n\"quoted\"", timestamp: 1700000000000 },
    { type: "TEXT_MESSAGE_END", messageId: `m${n}` },
    { type: "TOOL_CALL_START", toolCallId: `c${n}`, toolCallName: "plan", parentMessageId: `m${n}` },
    { type: "TOOL_CALL_ARGS", toolCallId: `c${n}`, delta: '{"steps":' },
    { type: "STATE_DELTA", delta: [{ op: "add", path: "/steps/-", value: { name: "one", note: null } }] },
    { type: "TOOL_CALL_ARGS", toolCallId: `c${n}`, delta: "[]}" },
    { type: "TOOL_CALL_END", toolCallId: `c${n}` },
    { type: "TOOL_CALL_RESULT", messageId: `r${n}`, toolCallId: `c${n}`, content: "ok" },
    { type: "TEXT_MESSAGE_CHUNK", messageId: `k${n}`, delta: "chunk" },
    { type: "CUSTOM", name: "PredictState", value: [] },
    { type: "RAW", event: { any: null } },
    { type: "ACTIVITY_SNAPSHOT", messageId: `a${n}`, activityType: "PLAN", content: { done: 0 } },
    { type: "ACTIVITY_DELTA", messageId: `a${n}`, activityType: "PLAN", patch: [{ op: "replace", path: "/done", value: 1 }] },
    { type: "STEP_FINISHED", stepName: "plan" },
    { type: "RUN_FINISHED", threadId, runId },
  ];
}

/** What only 1.0 has, put before the end. */
function modern(input) {
  const events = common(input);
  events.splice(-1, 0,
    { type: "REASONING_START", messageId: `z${runs}` },
    { type: "REASONING_MESSAGE_START", messageId: `z${runs}`, role: "reasoning" },
    { type: "REASONING_MESSAGE_CONTENT", messageId: `z${runs}`, delta: "hm" },
    { type: "REASONING_MESSAGE_END", messageId: `z${runs}` },
    { type: "REASONING_END", messageId: `z${runs}` },
    { type: "SUBAGENT_STARTED", subagentRunId: `s${runs}`, name: "helper" },
    { type: "STATE_DELTA", subagentRunId: `s${runs}`, delta: [{ op: "replace", path: "/steps/0/note", value: "done" }] },
    { type: "SUBAGENT_FINISHED", subagentRunId: `s${runs}`, outcome: { type: "success" } });
  Object.assign(events.at(-1), { outcome: { type: "success" }, usage: [{ inputTokens: 1 }] });
  events[0].protocolVersion = "1.0";
  return events;
}

let folder;
before(async () => void (folder = await mkdtemp(path.join(os.tmpdir(), "lockstep-verify-"))));
after(() => rm(folder, { recursive: true }));

describe("streams of the official encoders have no fault", () => {
  for (const [name, Encoder, make] of [
    ["1.0.0", EventEncoder, modern],
    ["0.0.58", OlderEncoder, common],
  ]) {
    test(name, async () => {
      const server = await serve(Encoder, make);
      try {
        const live = await lockstep("verify", server.url, "--message", "Hi", "--message", "Again", "--message", "And again");
        assert.deepEqual(live, { code: 0, stdout: "", stderr: live.stderr });
        assert.match(live.stderr, /run 3, .*RUN_FINISHED.*\nno faults\n$/s);

        // Recorded, checked, and replayed to an unmodified client.
        const file = path.join(folder, `${name}.jsonl`);
        const recorded = await lockstep("record", server.url, "--message", "Hi", "--out", file);
        assert.equal(recorded.code, 0, recorded.stderr);
        const kept = await lockstep("verify", file);
        assert.deepEqual(kept, { code: 0, stdout: "", stderr: kept.stderr });
        const events = (await readFile(file, "utf8")).trim().split("\n").map((l) => JSON.parse(l).event).filter(Boolean);
        const replay = await start("lockstep", ["replay", file, "--speed", "0"]);
        try {
          const client = official(replay.url + "/any");
          const run = await turn(client, "Hi");
          assert.deepEqual(run.warnings, []);
          assert.equal(run.outcome, "success");
          assert.equal(run.events[0].threadId, client.agent.threadId);
          assert.equal(run.events[0].runId, run.exchange.request.runId);
          assert.deepEqual(run.events.slice(1, -1), events.slice(1, -1));
          assert.equal(client.agent.state.steps.length, 1);
        } finally {
          assert.equal(await replay.stop(), 0);
        }
      } finally {
        await server.stop();
      }
    });
  }
});

// Each fault, with what the official client does about it: it rejects the run,
// logs a warning, or says nothing at all.
describe("verify finds what the official client rejects, warns of or passes over", () => {
  const replace = (type, change) => (events) => events.map((e) => (e.type === type ? { ...e, ...change } : e));
  const drop = (type) => (events) => events.filter((e) => e.type !== type);
  const put = (type, ...more) => (events) => events.flatMap((e) => (e.type === type ? [...more, e] : [e]));
  for (const [name, damage, client, line] of [
    ["an unknown member", replace("STEP_STARTED", { index: 1 }), "warns", /STEP_STARTED: unknown: unknown member at \/index$/],
    ["an unknown type", put("STEP_FINISHED", { type: "STATE_UPDATE" }), "warns", /STATE_UPDATE: unknown: unknown event type/],
    ["a retired type", put("STEP_FINISHED", { type: "THINKING_START" }, { type: "THINKING_END" }), "warns", /THINKING_START: unknown: retired/],
    ["an unknown operation", replace("STATE_DELTA", { delta: [{ op: "set", path: "/a", value: 1 }] }), "warns", /STATE_DELTA: unknown: unknown op at \/delta\/0$/],
    ["a patch that does not apply", replace("STATE_DELTA", { delta: [{ op: "replace", path: "/nowhere", value: 1 }] }), "warns", /STATE_DELTA: patch: .*replace "\/nowhere".* at \/delta\/0$/],
    ["an activity's patch that does not apply", replace("ACTIVITY_DELTA", { patch: [{ op: "remove", path: "/x" }] }), "warns", /ACTIVITY_DELTA: patch: /],
    ["a version that is none", replace("RUN_STARTED", { protocolVersion: "1" }), "warns", /RUN_STARTED: unknown: .* at \/protocolVersion$/],
    ["no terminal event", drop("RUN_FINISHED"), "says nothing", /end: terminal: run ".*" ends without/],
    ["state that begins with a delta", drop("STATE_SNAPSHOT"), "warns", /STATE_DELTA: snapshot: /],
    ["another run's end", replace("RUN_FINISHED", { runId: "other" }), "says nothing", /RUN_FINISHED: identity: .* at \/runId$/],
    ["a missing member", replace("TEXT_MESSAGE_CONTENT", { delta: undefined }), "rejects", /TEXT_MESSAGE_CONTENT: schema: required member is missing at \/delta$/],
    ["a bad pointer", replace("STATE_DELTA", { delta: [{ op: "add", path: "a", value: 1 }] }), "rejects", /STATE_DELTA: schema: .* at \/delta\/0\/path$/],
    ["text that did not start", drop("TEXT_MESSAGE_START"), "rejects", /TEXT_MESSAGE_CONTENT: order: /],
    ["a call left open", drop("TOOL_CALL_END"), "rejects", /RUN_FINISHED: order: .*TOOL_CALL_START/],
    ["something after the end", (events) => [...events, { type: "CUSTOM", name: "x", value: 1 }], "rejects", /CUSTOM: terminal: /],
    ["[DONE]", (events) => [...events, "data: [DONE]\n\n"], "rejects", /json: .*\[DONE\]/],
  ]) {
    test(name, async () => {
      const server = await serve(EventEncoder, (input) => damage(common(input)));
      try {
        const { agent, wire } = official(server.url);
        const warnings = [];
        const warn = console.warn;
        console.warn = (...args) => warnings.push(args.map(String).join(" "));
        let did = "says nothing";
        try {
          await agent.runAgent();
          if (warnings.length > 0) did = "warns";
        } catch {
          did = "rejects";
        } finally {
          console.warn = warn;
        }
        assert.equal(did, client, `${warnings}`);
        assert.ok(wire[0].status === 200 && (client === "rejects" || frames(wire[0].text).length > 10));

        const found = await lockstep("verify", server.url);
        assert.equal(found.code, 1, found.stderr);
        const lines = found.stdout.trim().split("\n");
        assert.ok(lines.some((l) => l.startsWith("run 1, event ") && line.test(l)), found.stdout);
        for (const l of lines) assert.match(l, /^run [12], event \d+, \d+\.\d ms, [^:]+: [a-z]+: ./);
      } finally {
        await server.stop();
      }
    });
  }
});
