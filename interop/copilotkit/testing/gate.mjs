// A gate between the runtime and the Lockstep server: a test sees every event
// and decides when the next one may pass, so that what a page shows in between
// is not a matter of speed.
import http from "node:http";

/**
 * Passes everything on to `target`. `gate.inputs` are the posted run inputs;
 * `gate.passed` is awaited after each event, and holds the stream until then.
 * What it throws ends that stream and is kept in `gate.failures`.
 */
export async function gate(target) {
  const gate = { inputs: [], failures: [], passed: undefined, url: "", close: undefined };
  const server = http.createServer((request, response) => {
    pass(gate, target, request, response).catch((e) => {
      // A reader that goes away is no fault of anybody's.
      if (e.name !== "AbortError") gate.failures.push(e);
      response.destroy();
    });
  });
  await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
  gate.url = `http://127.0.0.1:${server.address().port}`;
  gate.close = () => {
    const closed = new Promise((resolve) => server.close(resolve));
    server.closeAllConnections();
    return closed;
  };
  return gate;
}

/** What belongs to one connection and not to the message on it. */
const hop = new Set(["host", "connection", "keep-alive", "content-length", "transfer-encoding", "accept-encoding", "content-encoding"]);
const end = (headers) => Object.fromEntries([...headers].filter(([name]) => !hop.has(name)));

async function pass(gate, target, request, response) {
  const chunks = [];
  for await (const chunk of request) chunks.push(chunk);
  const body = chunks.length > 0 ? Buffer.concat(chunks) : undefined;
  if (request.method === "POST" && body) gate.inputs.push(JSON.parse(body));

  const gone = new AbortController();
  response.on("close", () => gone.abort());
  const answer = await fetch(target + request.url, {
    method: request.method,
    headers: end(Object.entries(request.headers)),
    body,
    signal: gone.signal,
  });
  response.writeHead(answer.status, end(answer.headers));
  if (!answer.headers.get("content-type")?.startsWith("text/event-stream")) {
    response.end(Buffer.from(await answer.arrayBuffer()));
    return;
  }
  response.flushHeaders();
  const decoder = new TextDecoder();
  let rest = "";
  for await (const chunk of answer.body) {
    const frames = (rest + decoder.decode(chunk, { stream: true })).split("\n\n");
    rest = frames.pop();
    for (const frame of frames) {
      response.write(`${frame}\n\n`);
      const data = frame.split("\n").find((line) => line.startsWith("data:"));
      if (data && gate.passed) await gate.passed(JSON.parse(data.slice("data:".length)));
    }
  }
  response.end(rest);
}
