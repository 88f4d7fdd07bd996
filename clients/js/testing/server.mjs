// What the tests share: the real binary, and a wire that can be cut.
import { spawn } from "node:child_process";
import { createInterface } from "node:readline";
import net from "node:net";
import path from "node:path";
import { fileURLToPath } from "node:url";

const root = path.resolve(path.dirname(fileURLToPath(import.meta.url)), "../../..");
const binary = process.env.LOCKSTEP_BINARY ?? path.join(root, "bin", "lockstep");

/** Starts `lockstep serve` and waits for its address. */
export async function serve(...flags) {
  const child = spawn(binary, ["serve", "--addr", "127.0.0.1:0", "--model", "scripted", ...flags], {
    env: { PATH: process.env.PATH, HOME: process.env.HOME },
    stdio: ["ignore", "ignore", "pipe"],
  });
  const log = [];
  const url = await new Promise((resolve, reject) => {
    createInterface({ input: child.stderr }).on("line", (line) => {
      log.push(line);
      const found = /^listening on (\S+)$/.exec(line);
      if (found) resolve(found[1]);
    });
    child.once("exit", (code) => reject(new Error(`lockstep ended with ${code}:\n${log.join("\n")}`)));
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
 */
export async function wire(target) {
  const { hostname, port } = new URL(target);
  const sockets = new Set();
  let needle;
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
      near.write(chunk);
      if (needle === undefined) return;
      seen = (seen + chunk).slice(-64 * 1024);
      if (seen.includes(needle)) {
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
