// Runs event streams through an official client and says what became of them.
//
//   node peer.mjs VERSION MODE < streams.jsonl > results.jsonl
//
// VERSION is 1.0.0, 0.0.58 or 0.0.59. Each input line is
// {id, events: [event, ...]} in mode "paced", {id, body: "SSE text"} in mode
// "http"; each output line {id, rejected, error, messages, state, interrupts,
// failedPatches}. failedPatches are the indexes of the deltas that did not
// apply; rejected is the index of the event at which the run was
// rejected, -1 if it was not; in mode "http" it is 0 for a rejected run.
//
// Mode "paced" hands the events over one at a time and lets the client apply
// each before the next, so that what it holds after a rejection is what came
// before. Mode "http" is the client's own HTTP agent on a body of bytes.
import readline from "node:readline";
import { once } from "node:events";
import { Observable } from "rxjs";

const packages = {
  "1.0.0": "@ag-ui/client",
  "0.0.58": "ag-ui-client-0058",
  "0.0.59": "ag-ui-client-0059",
};
const [version, mode] = process.argv.slice(2);
if (!packages[version] || !["paced", "http"].includes(mode)) {
  process.stderr.write("usage: node peer.mjs 1.0.0|0.0.58|0.0.59 paced|http < streams.jsonl\n");
  process.exit(2);
}
const { AbstractAgent, HttpAgent } = await import(packages[version]);

let current = 0;
let failedPatches = [];
console.warn = (text) => {
  if (/^Failed to apply (state|activity) patch/.test(String(text))) failedPatches.push(current);
};
for (const level of ["log", "info", "debug", "error"]) console[level] = () => {};
// The 1.0.0 client leaks a second rejection when its reader is torn down.
process.on("unhandledRejection", () => {});

const turn = () => new Promise((resolve) => setImmediate(resolve));

class PacedAgent extends AbstractAgent {
  constructor(events) {
    super({});
    this.events = events;
    this.rejected = -1;
  }

  run() {
    return new Observable((subscriber) => {
      (async () => {
        for (const [index, event] of this.events.entries()) {
          // What the client's transport demands of a frame, and no more.
          if (typeof event?.type !== "string" || event.type === "") {
            this.rejected = index;
            subscriber.error(new Error("the frame carries no event type"));
            return;
          }
          current = index;
          subscriber.next(event);
          if (subscriber.closed) {
            this.rejected = index;
            return;
          }
          await turn();
        }
        subscriber.complete();
      })();
    });
  }
}

const bytes = new TextEncoder();

async function play({ id, events, body }) {
  failedPatches = [];
  const agent =
    mode === "paced"
      ? new PacedAgent(events)
      : new HttpAgent({
          url: "http://127.0.0.1/",
          fetch: async () =>
            new Response(bytes.encode(body), { headers: { "content-type": "text/event-stream" } }),
        });
  let error = null;
  try {
    await agent.runAgent({});
  } catch (caught) {
    error = String(caught?.message ?? caught);
  }
  const rejected = mode === "paced" ? agent.rejected : error === null ? -1 : 0;
  return {
    id, rejected, error, failedPatches,
    messages: agent.messages, state: agent.state, interrupts: agent.pendingInterrupts ?? [],
  };
}

for await (const line of readline.createInterface({ input: process.stdin, crlfDelay: Infinity })) {
  if (line === "") continue;
  const result = await play(JSON.parse(line));
  if (!process.stdout.write(JSON.stringify(result) + "\n")) await once(process.stdout, "drain");
}
