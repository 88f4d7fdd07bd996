// What the tests share: starting the binary, running the official client against
// it, reading the wire beside it, and a shadow document that is stricter than
// any client.
import { spawn } from "node:child_process";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import path from "node:path";
import { HttpAgent } from "@ag-ui/client";
import { EventSchemas } from "@ag-ui/core/schemas";

const root = path.resolve(path.dirname(fileURLToPath(import.meta.url)), "..");

/** Starts a program of bin/ and waits for its "listening on URL" line. */
export async function start(name, args, env = {}) {
  // A folder of its own for the store that is the default.
  const cwd = await mkdtemp(path.join(tmpdir(), "lockstep-"));
  const child = spawn(path.join(root, "bin", name), args, {
    cwd,
    // Nothing of the caller's own model settings may decide what is tested.
    env: { PATH: process.env.PATH, HOME: process.env.HOME, ...env },
    stdio: ["ignore", "pipe", "pipe"],
  });
  const log = [];
  const url = await new Promise((resolve, reject) => {
    const timer = setTimeout(() => reject(new Error(`${name} did not start:\n${log.join("\n")}`)), 20000);
    for (const stream of [child.stdout, child.stderr]) {
      createInterface({ input: stream }).on("line", (line) => {
        log.push(line);
        const found = /^listening on (\S+)$/.exec(line);
        if (found) {
          clearTimeout(timer);
          resolve(found[1]);
        }
      });
    }
    child.on("exit", (code) => {
      clearTimeout(timer);
      reject(new Error(`${name} ended with ${code}:\n${log.join("\n")}`));
    });
  });
  return {
    url,
    log,
    async stop() {
      if (child.exitCode !== null) return child.exitCode;
      const gone = new Promise((resolve) => child.once("exit", resolve));
      child.kill("SIGTERM");
      const code = await gone;
      await rm(cwd, { recursive: true, force: true });
      return code;
    },
  };
}

/**
 * An unmodified official agent whose traffic is recorded on the side. Agent is the
 * HttpAgent of another release.
 */
export function official(url, options = {}, Agent = HttpAgent) {
  const wire = [];
  const agent = new Agent({
    url,
    ...options,
    fetch: async (target, init) => {
      const exchange = { request: JSON.parse(init.body), arrivals: [], text: "" };
      wire.push(exchange);
      const response = await fetch(target, init);
      exchange.status = response.status;
      exchange.headers = Object.fromEntries(response.headers);
      if (!response.body) return response;
      const decoder = new TextDecoder();
      const tap = new TransformStream({
        transform(chunk, controller) {
          exchange.text += decoder.decode(chunk, { stream: true });
          exchange.arrivals.push([Date.now(), exchange.text.length]);
          controller.enqueue(chunk);
        },
      });
      return new Response(response.body.pipeThrough(tap), {
        status: response.status,
        headers: response.headers,
      });
    },
  });
  return { agent, wire };
}

/** Runs one turn and returns everything that was seen of it. */
export async function turn({ agent, wire }, text, parameters = {}) {
  if (text !== undefined) agent.addMessage({ id: crypto.randomUUID(), role: "user", content: text });
  const seen = { applied: [], states: [], warnings: [] };
  const warn = console.warn;
  console.warn = (...args) => seen.warnings.push(args.map(String).join(" "));
  const before = wire.length;
  try {
    await agent.runAgent(parameters, {
      onEvent: ({ event }) => void seen.applied.push(event.type),
      onStateChanged: ({ state }) => void seen.states.push(structuredClone(state)),
      onRunErrorEvent: ({ event }) => void (seen.runError = event),
      onRunFinishedEvent: (p) => void (seen.outcome = p.outcome),
    });
  } finally {
    console.warn = warn;
  }
  seen.exchange = wire[before];
  seen.frames = frames(seen.exchange.text);
  seen.events = seen.frames.map((f) => f.event);
  seen.types = seen.events.map((e) => e.type);
  for (const event of seen.events) EventSchemas.parse(event);
  return seen;
}

/** Reads a body as the official client splits it. */
export function frames(text) {
  if (text.includes("\r")) throw new Error("the body has a CR, which the official client does not split at");
  const out = [];
  for (const frame of text.split("\n\n")) {
    const lines = frame.split("\n");
    const data = lines.filter((l) => l.startsWith("data:")).map((l) => l.slice(5).trimStart());
    if (data.length === 0) continue;
    const id = lines.find((l) => l.startsWith("id:"))?.slice(3).trim();
    out.push({ id, event: JSON.parse(data.join("\n")) });
  }
  return out;
}

/** A strict RFC 6902 document: every operation must be exactly right. */
export class Shadow {
  constructor(doc) {
    this.doc = structuredClone(doc);
  }

  snapshot(doc) {
    this.doc = structuredClone(doc);
  }

  patch(operations) {
    const next = { root: structuredClone(this.doc) };
    for (const op of operations) this.#apply(next, op);
    this.doc = next.root;
  }

  #tokens(pointer) {
    if (pointer === "") return [];
    if (typeof pointer !== "string" || pointer[0] !== "/") throw new Error(`bad pointer ${pointer}`);
    return pointer.slice(1).split("/").map((t) => {
      if (/~(?![01])/.test(t)) throw new Error(`bad escape in ${pointer}`);
      return t.replaceAll("~1", "/").replaceAll("~0", "~");
    });
  }

  #place(holder, pointer) {
    const tokens = ["root", ...this.#tokens(pointer)];
    const last = tokens.pop();
    let at = holder;
    for (const token of tokens) at = this.#child(at, token, pointer);
    return [at, last];
  }

  #child(at, token, pointer) {
    if (Array.isArray(at)) return at[this.#index(at, token, at.length - 1, pointer)];
    if (at === null || typeof at !== "object" || !Object.hasOwn(at, token)) throw new Error(`nothing at ${pointer}`);
    return at[token];
  }

  #index(array, token, most, pointer) {
    if (!/^(0|[1-9][0-9]*)$/.test(token) || Number(token) > most) throw new Error(`bad index in ${pointer}`);
    return Number(token);
  }

  #get(holder, pointer) {
    const [at, last] = this.#place(holder, pointer);
    return this.#child(at, last, pointer);
  }

  #apply(holder, op) {
    if (["add", "replace", "test"].includes(op.op) && !Object.hasOwn(op, "value")) throw new Error(`${op.op} without value`);
    const [at, last] = this.#place(holder, op.path);
    switch (op.op) {
      case "add":
        this.#add(at, last, op.value, op.path);
        break;
      case "replace":
        this.#child(at, last, op.path);
        at[Array.isArray(at) ? Number(last) : last] = structuredClone(op.value);
        break;
      case "remove":
        this.#child(at, last, op.path);
        if (Array.isArray(at)) at.splice(Number(last), 1);
        else delete at[last];
        break;
      case "test":
        if (!isDeepEqual(this.#child(at, last, op.path), op.value)) throw new Error(`test failed at ${op.path}`);
        break;
      case "copy":
        this.#add(at, last, structuredClone(this.#get(holder, op.from)), op.path);
        break;
      case "move": {
        const value = this.#get(holder, op.from);
        this.#apply(holder, { op: "remove", path: op.from });
        const [to, name] = this.#place(holder, op.path);
        this.#add(to, name, value, op.path);
        break;
      }
      default:
        throw new Error(`unknown operation ${op.op}`);
    }
  }

  #add(at, last, value, pointer) {
    if (Array.isArray(at)) {
      at.splice(last === "-" ? at.length : this.#index(at, last, at.length, pointer), 0, structuredClone(value));
    } else if (at !== null && typeof at === "object") {
      at[last] = structuredClone(value);
    } else throw new Error(`cannot add at ${pointer}`);
  }
}

export function isDeepEqual(a, b) {
  if (a === b) return true;
  if (typeof a !== "object" || typeof b !== "object" || a === null || b === null) return false;
  if (Array.isArray(a) !== Array.isArray(b)) return false;
  const names = Object.keys(a);
  return names.length === Object.keys(b).length && names.every((n) => Object.hasOwn(b, n) && isDeepEqual(a[n], b[n]));
}

/**
 * Follows a run's state events with a shadow that starts from nothing. Returns
 * the documents after each; throws where a delta does not apply exactly, or
 * comes before a snapshot of its run (W2).
 */
export function shadowStates(events) {
  const states = [];
  let shadow = null;
  for (const event of events) {
    if (event.type === "STATE_SNAPSHOT") {
      shadow ??= new Shadow(null);
      shadow.snapshot(event.snapshot);
    } else if (event.type === "STATE_DELTA") {
      if (!shadow) throw new Error("a delta before any snapshot of its run");
      shadow.patch(event.delta);
    } else continue;
    states.push(structuredClone(shadow.doc));
  }
  return states;
}
