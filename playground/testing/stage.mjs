// What the files of browser tests begin with: a server and a browser for all
// tests of a file, and a tab for each.
import { after, before, test } from "node:test";
import assert from "node:assert/strict";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { gated, launch, serve } from "./browser.mjs";

/** Agents of which the page knows nothing: see agents.yaml. */
export const agentsFile = path.join(path.dirname(fileURLToPath(import.meta.url)), "agents.yaml");

/** `flags` are for the server. */
export function stage(...flags) {
  const own = {};
  before(async () => ([own.server, own.browser] = await Promise.all([serve(...flags), launch()])));
  after(async () => {
    await own.browser.close();
    assert.equal(await own.server.stop(), 0);
  });
  return {
    get browser() {
      return own.browser;
    },
    /** Where an agent's page is. */
    at: (agent) => `${own.server.url}/?agent=/${agent}`,
    /** Makes a thread with a state, and says where its page is. */
    async thread(agent, id, state) {
      await patch(`${own.server.url}/${agent}/threads/${id}/state`, state);
      return `${own.server.url}/?agent=/${agent}&thread=${id}`;
    },
    /** Changes the state as somebody else, by a merge patch. */
    change: (agent, id, members) => patch(`${own.server.url}/${agent}/threads/${id}/state`, members),
    /** The state as the server has it. */
    async state(agent, id) {
      return (await (await fetch(`${own.server.url}/${agent}/threads/${id}`)).json()).state;
    },
    inTab: tabTests(() => own.browser),
  };
}

async function patch(url, members) {
  const answer = await fetch(url, { method: "PATCH", headers: { "Content-Type": "application/merge-patch+json" }, body: JSON.stringify(members) });
  assert.equal(answer.status, 200, await answer.text());
}

/** A server whose model the test holds: see `gated`. */
export async function slow(t) {
  const own = await gated();
  t.after(() => own.stop());
  return own;
}

/** Runs a test in a tab, and fails it for whatever the tab complained about. */
export function tabTests(browser) {
  return (name, run, options = {}) =>
    test(name, async (t) => {
      const page = await browser().tab(options);
      try {
        await run(page, t);
        assert.deepEqual(page.said, [], "the console is quiet");
      } catch (e) {
        await page.shot(`failed ${name}`).catch(() => undefined);
        throw e;
      } finally {
        await page.context().close();
      }
    });
}
