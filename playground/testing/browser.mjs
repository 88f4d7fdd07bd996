// What the page's tests share: the binary, the browser, and a page that is
// watched: whatever it writes to the console as a warning or an error fails the
// test that it belongs to.
import { mkdirSync } from "node:fs";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { chromium } from "playwright-core";
import { asking, gated, serve, until, wire } from "../../clients/js/testing/server.mjs";

export { asking, gated, serve, until, wire };

const shots = process.env.SHOTS ?? path.join(path.dirname(fileURLToPath(import.meta.url)), "..", "shots");
mkdirSync(shots, { recursive: true });

/** For what takes as long as it takes: the bound is for what would never come. */
export const patience = 60_000;

export async function launch() {
  const browser = await chromium.launch({
    executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium",
    // As root, in containers and in CI, there is no sandbox to be had.
    args: ["--no-sandbox", "--disable-dev-shm-usage"],
  });
  return {
    close: () => browser.close(),
    /** A new tab with nothing stored. `ignore` are console lines that the test expects. */
    async tab(options = {}) {
      const { ignore = [], context: given, ...rest } = options;
      const context = given ?? (await browser.newContext({ viewport: { width: 1360, height: 860 }, reducedMotion: "reduce", ...rest }));
      const page = await context.newPage();
      page.setDefaultTimeout(patience);
      const said = [];
      page.on("console", (m) => {
        if (["error", "warning"].includes(m.type()) && !ignore.some((i) => i.test(m.text()))) said.push(`${m.type()}: ${m.text()}`);
      });
      page.on("pageerror", (e) => said.push(`uncaught: ${e.stack ?? e.message}`));
      return Object.assign(page, {
        said,
        shot: (name) => page.screenshot({ path: path.join(shots, `${name.replaceAll(/[^a-z0-9]+/gi, "-")}.png`) }),
        /** Says something to the agent, and does not wait for the answer. */
        async say(text) {
          await page.getByLabel("Message", { exact: true }).fill(text);
          await page.getByRole("button", { name: "Send", exact: true }).click();
        },
        /** Waits for a message of the agent's. */
        answer: (text) => page.getByRole("log").locator(".message.assistant", { hasText: text }).last().waitFor(),
        /** Waits until the agent has finished and the page follows the thread again. */
        async idle() {
          await page.getByRole("button", { name: "Send", exact: true }).waitFor();
          await page.locator(".status[data-tone=live]:visible").first().waitFor();
        },
        /** A place of the state, as an item of the tree. */
        item: (name) => page.getByRole("treeitem", { name: new RegExp(`^${name}(:|,|$)`) }),
        /** The value beside a label of the state. */
        value: (name) => page.locator(".side-pane").getByRole("treeitem", { name: new RegExp(`^${name}: `) }).locator(".value"),
        /** Changes a value as a person does. */
        async change(name, to) {
          await this.value(name).click();
          await page.locator(".editor textarea").fill(to);
          await page.keyboard.press("Enter");
        },
      });
    },
  };
}
