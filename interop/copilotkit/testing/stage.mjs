// Everything a test stands on: Lockstep, the gate, CopilotKit's runtime in a
// process of its own, and Chromium.
import { spawn } from "node:child_process";
import { createInterface } from "node:readline";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { isDeepStrictEqual } from "node:util";
import { chromium } from "playwright-core";
import { serve, until } from "../../../clients/js/testing/server.mjs";
import { gate } from "./gate.mjs";

export { until };

const here = path.join(path.dirname(fileURLToPath(import.meta.url)), "..");

/** For what takes as long as it takes: the bound is for what would never come. */
const patience = 60_000;

/** A stage with agents of the kind that `runtime.mjs` knows. */
export async function stage(kind) {
  const lockstep = await serve();
  const between = await gate(lockstep.url);
  const stage = {
    gate: between,
    runtime: await runtime(between.url, kind),
    /** Another runtime, which has forgotten what the first one knew. */
    async restart() {
      await stage.runtime.quiet();
      stage.runtime = await runtime(between.url, kind);
    },
    /** The thread as the server has it. */
    async thread(agent, id) {
      const answer = await fetch(`${lockstep.url}/${agent}/threads/${id}`);
      return await answer.json();
    },
    /** Ends everything; fails for what the runtime or the gate had to complain of. */
    async strike() {
      try {
        await stage.runtime.quiet();
      } finally {
        await between.close();
        const code = await lockstep.stop();
        if (code !== 0) throw new Error(`lockstep ended with ${code}:\n${lockstep.log.join("\n")}`);
      }
      if (between.failures.length > 0) throw between.failures[0];
    },
  };
  return stage;
}

/** The runtime. What it leaves unhandled ends its process, as it would an application's. */
async function runtime(lockstep, kind) {
  const child = spawn(process.execPath, [path.join(here, "runtime.mjs")], {
    cwd: here,
    env: { PATH: process.env.PATH, HOME: process.env.HOME, LOCKSTEP_URL: lockstep, AGENTS: kind, COPILOTKIT_TELEMETRY_DISABLED: "true" },
    stdio: ["ignore", "pipe", "pipe"],
  });
  const complaints = [];
  const gone = new Promise((resolve) => child.once("exit", (code, signal) => resolve(code ?? signal)));
  createInterface({ input: child.stderr }).on("line", (line) => complaints.push(line));
  const url = await new Promise((resolve, reject) => {
    createInterface({ input: child.stdout }).on("line", (line) => {
      const found = /^listening on (\S+)$/.exec(line);
      if (found) resolve(found[1]);
      else complaints.push(line);
    });
    void gone.then((code) => reject(new Error(`the runtime ended with ${code}:\n${complaints.join("\n")}`)));
  });
  return {
    url,
    /** Stops it, and fails if it had ended by itself or had anything to say. */
    async quiet() {
      if (child.exitCode === null && child.signalCode === null) child.kill("SIGTERM");
      const code = await gone;
      if (code !== 0 || complaints.length > 0) throw new Error(`the runtime ended with ${code} and said:\n${complaints.join("\n")}`);
    },
  };
}

/** The browser, and tabs with the page in them. */
export async function launch() {
  const browser = await chromium.launch({
    executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium",
    // As root, in containers and in CI, there is no sandbox to be had.
    args: ["--no-sandbox", "--disable-dev-shm-usage"],
  });
  return {
    close: () => browser.close(),
    async tab() {
      const context = await browser.newContext({ viewport: { width: 1280, height: 860 }, reducedMotion: "reduce" });
      const page = await context.newPage();
      page.setDefaultTimeout(patience);
      const said = [];
      page.on("console", (m) => m.type() === "error" && said.push(m.text()));
      page.on("pageerror", (e) => said.push(`uncaught: ${e.stack ?? e.message}`));
      return Object.assign(page, {
        said,
        async open(runtime, agent, thread) {
          await page.goto(`${runtime.url}/?${new URLSearchParams({ agent, thread })}`);
          await page.getByTestId("copilot-chat-textarea").waitFor();
        },
        /** Says something to the agent, and does not wait for the answer. */
        async say(text) {
          await page.getByTestId("copilot-chat-textarea").fill(text);
          await page.getByTestId("copilot-send-button").click();
        },
        /** Waits for a message of the agent's, and for the end of its run. */
        async answer(text) {
          await page.getByTestId("copilot-assistant-message").filter({ hasText: text }).last().waitFor();
          await page.idle();
        },
        idle: () => page.getByRole("status").getByText("idle", { exact: true }).waitFor(),
        /** The states that were on the page since it was loaded. */
        states: async () => (await page.evaluate("window.shown")).map((s) => JSON.parse(s)),
        state: async () => (await page.states()).at(-1),
        /** Waits until the page shows exactly this state. */
        shows: (state) => until(`the page to show ${JSON.stringify(state)}`, async () => isDeepStrictEqual(await page.state(), state), patience),
        approval: page.getByRole("region", { name: "Approval" }),
      });
    },
  };
}
