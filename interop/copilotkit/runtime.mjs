// CopilotKit's runtime in front of a Lockstep server, as an application has it,
// with the built page beside it. Nothing here catches what the runtime leaves
// unhandled: then Node ends the process and says why, and the tests see both.
//
//   LOCKSTEP_URL=http://127.0.0.1:8888 AGENTS=HttpAgent node runtime.mjs
import path from "node:path";
import { fileURLToPath } from "node:url";
import express from "express";
import { HttpAgent } from "@ag-ui/client";
import { CopilotRuntime, InMemoryAgentRunner } from "@copilotkit/runtime/v2";
import { createCopilotExpressHandler } from "@copilotkit/runtime/v2/express";
import { LockstepAgent } from "./dist/client/index.js";

const lockstep = process.env.LOCKSTEP_URL;
if (!lockstep) throw new Error("set LOCKSTEP_URL to the address that `lockstep serve` prints");

const Agent = { HttpAgent, LockstepAgent }[process.env.AGENTS ?? "HttpAgent"];
if (!Agent) throw new Error(`AGENTS is HttpAgent or LockstepAgent, not ${process.env.AGENTS}`);
const names = ["shared_state", "create_document"];
const agents = Object.fromEntries(names.map((name) => [name, new Agent({ url: `${lockstep}/${name}` })]));

const app = express();
app.use(
  createCopilotExpressHandler({
    runtime: new CopilotRuntime({ agents, runner: new InMemoryAgentRunner() }),
    basePath: "/api/copilotkit",
  }),
);
app.use(express.static(path.join(path.dirname(fileURLToPath(import.meta.url)), "dist", "page")));

const server = app.listen(Number(process.env.PORT ?? 0), "127.0.0.1", () => {
  console.log(`listening on http://127.0.0.1:${server.address().port}`);
});
process.once("SIGTERM", () => {
  server.close(() => process.exit(0));
  server.closeAllConnections();
});
