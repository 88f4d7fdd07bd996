// Runs events through the official @ag-ui/proto and back.
//
//   node proto.mjs < lines > lines
//
// Each input line is {event, hex}: an event's JSON and the bytes that package
// aguipb made of it. Each output line is {decoded, hex, error}: what the
// official package reads from those bytes, and the bytes it makes of the event.
import readline from "node:readline";
import { once } from "node:events";
import { decode, encode } from "@ag-ui/proto";

console.warn = () => {};
for await (const line of readline.createInterface({ input: process.stdin, crlfDelay: Infinity })) {
  if (line === "") continue;
  const { event, hex } = JSON.parse(line);
  const out = {};
  try {
    out.decoded = decode(Uint8Array.from(Buffer.from(hex, "hex")));
    out.hex = Buffer.from(encode(event)).toString("hex");
  } catch (error) {
    out.error = String(error?.message ?? error);
  }
  if (!process.stdout.write(JSON.stringify(out) + "\n")) await once(process.stdout, "drain");
}
