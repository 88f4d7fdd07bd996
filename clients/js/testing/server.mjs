// What the tests share: the real binary, and a wire that can be cut.
import { spawn } from "node:child_process";
import { createInterface } from "node:readline";
import net from "node:net";
import path from "node:path";
import { fileURLToPath } from "node:url";

const root = path.resolve(path.dirname(fileURLToPath(import.meta.url)), "../../..");
const bin = (name) => path.join(process.env.LOCKSTEP_BIN ?? path.join(root, "bin"), name);

/** Starts `lockstep serve` with the scripted model and waits for its address. */
export function serve(...flags) {
  return serve.with({}, "--model", "scripted", ...flags);
}

/** The same with an environment of its own, and nothing of the caller's. */
serve.with = (env, ...flags) => start("lockstep", ["serve", "--addr", "127.0.0.1:0", "--store", "memory", ...flags], env);

/**
 * A model server and in front of it a gate, and a Lockstep server that thinks
 * with it. `hold(pieces)` lets so many pieces of a call's arguments through, and
 * no more until `release()`: so a test can look at the middle of a run for as
 * long as it takes.
 */
export async function gated() {
  const model = await start("fakeopenai", ["--pause", "3ms"]);
  const gate = await wire(model.url);
  const server = await serve.with({ OPENAI_BASE_URL: `${gate.url}/v1`, OPENAI_API_KEY: "none" }, "--model", "openai:recipe");
  return {
    url: server.url,
    log: server.log,
    hold: (pieces) => gate.holdAt('"arguments":"', pieces + 1),
    release: gate.release,
    async stop() {
      await server.stop();
      await gate.close();
      await model.stop();
    },
  };
}

/** Agents whose own code asks questions; scripts/browser.sh builds the program. */
export const asking = () => start("asking", []);

/** Starts a program of bin/ and waits for its address. */
async function start(name, args, env = {}) {
  const child = spawn(bin(name), args, {
    env: { PATH: process.env.PATH, HOME: process.env.HOME, ...env },
    stdio: ["ignore", "pipe", "pipe"],
  });
  const log = [];
  const url = await new Promise((resolve, reject) => {
    for (const stream of [child.stdout, child.stderr]) {
      createInterface({ input: stream }).on("line", (line) => {
        log.push(line);
        const found = /^listening on (\S+)$/.exec(line);
        if (found) resolve(found[1]);
      });
    }
    child.once("exit", (code) => reject(new Error(`${name} ended with ${code}:\n${log.join("\n")}`)));
    child.once("error", reject);
  });
  return {
    url,
    log,
    async stop(signal = "SIGTERM") {
      if (child.exitCode !== null || child.signalCode !== null) return child.exitCode;
      const gone = new Promise((resolve) => child.once("exit", resolve));
      child.kill(signal);
      return await gone;
    },
  };
}

/**
 * A wire to a server that can be cut. `cutAfter(text)` cuts every connection as
 * soon as the text has passed on one of them; the next connections live.
 * `holdAt(text, n)` holds a connection before the event of a streamed answer in
 * which the text comes for the nth time, until `release()`. Before the event, not
 * in it: Go's reader of chunked bodies keeps what it has read of earlier chunks to
 * itself while it waits for the rest of one.
 */
export async function wire(target) {
  const { hostname, port } = new URL(target);
  const sockets = new Set();
  const held = [];
  let needle;
  let latch;
  let down = false;
  const server = net.createServer((near) => {
    if (down) return near.destroy();
    const far = net.connect(Number(port), hostname);
    for (const s of [near, far]) {
      sockets.add(s);
      s.on("close", () => (sockets.delete(s), near.destroy(), far.destroy()));
      s.on("error", () => undefined);
    }
    near.pipe(far);
    let seen = "";
    far.on("data", (chunk) => {
      const from = seen.length;
      if (needle !== undefined || latch !== undefined) seen += chunk.toString("latin1"); // byte by byte
      const found = latch === undefined ? -1 : nth(seen, latch.text, latch.n);
      if (found < 0) {
        near.write(chunk);
      } else {
        // Exactly so far, however the bytes came together.
        const end = Math.max(0, seen.lastIndexOf(eventEnd, found) + eventEnd.length - from);
        near.write(chunk.subarray(0, end));
        latch = undefined;
        far.pause();
        held.push(() => (near.write(chunk.subarray(end)), far.resume()));
      }
      if (needle !== undefined && seen.includes(needle)) {
        needle = undefined;
        cut();
      }
    });
  });
  function cut() {
    for (const s of sockets) s.destroy();
  }
  await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    url: `http://127.0.0.1:${server.address().port}`,
    cut,
    cutAfter: (text) => (needle = text),
    holdAt: (text, n = 1) => (latch = { text, n }),
    release() {
      latch = undefined;
      for (const goOn of held.splice(0)) goOn();
    },
    set down(value) {
      down = value;
      if (value) cut();
    },
    close() {
      cut();
      return new Promise((resolve) => server.close(resolve));
    },
  };
}

/** The end of an event that is an HTTP chunk of its own. */
const eventEnd = "\n\n\r\n";

/** Where the text begins that comes for the nth time; -1: it does not. */
function nth(all, text, n) {
  let i = -1;
  for (; n > 0; n--) {
    i = all.indexOf(text, i + 1);
    if (i < 0) return -1;
  }
  return i;
}

/** Waits until something holds. The bound is for a test that would never end, not for a slow machine. */
export async function until(what, holds, bound = 60_000) {
  const end = Date.now() + bound;
  for (;;) {
    const value = await holds();
    if (value) return value;
    if (Date.now() > end) throw new Error(`waited in vain for ${what}`);
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
}

/** Records what goes through an agent's subscribers. */
export function recorder(agent) {
  const seen = { events: [], errors: [] };
  agent.subscribe({
    onEvent: ({ event }) => void seen.events.push(event),
    onRunErrorEvent: ({ event }) => void seen.errors.push(event),
  });
  Object.defineProperty(seen, "types", { get: () => seen.events.map((e) => e.type) });
  return seen;
}
