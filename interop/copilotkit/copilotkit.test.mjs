// A CopilotKit page in a real browser, through CopilotKit's runtime, against the
// real binary. Whatever the runtime leaves unhandled fails the whole suite.
import test, { after, afterEach, before, describe } from "node:test";
import assert from "node:assert/strict";
import patch from "fast-json-patch";
import { launch, stage, until } from "./testing/stage.mjs";

const pasta = "I want to make a classic Italian pasta carbonara";
const written = "Here's your recipe!";

let browser;
before(async () => (browser = await launch()));
after(() => browser.close());

// The official client's agent, and the one of clients/js: the runtime takes both.
for (const kind of ["HttpAgent", "LockstepAgent"]) {
  describe(`CopilotKit with ${kind}`, () => {
    let on;
    before(async () => (on = await stage(kind)));
    after(() => on.strike());
    afterEach(() => (on.gate.passed = undefined));

    /** Runs a test in a tab on a thread of its own. */
    function inTab(name, agent, run) {
      test(name, async () => {
        const page = await browser.tab();
        const thread = crypto.randomUUID();
        try {
          await page.open(on.runtime, agent, thread);
          await run(page, thread);
          assert.deepEqual(page.said, [], "the console is quiet");
        } finally {
          await page.context().close();
        }
      });
    }

    /** Follows the state on the wire; `seen` is called with each one. */
    function follow(seen) {
      let state;
      on.gate.passed = async (event) => {
        if (event.type === "STATE_SNAPSHOT") state = event.snapshot;
        else if (event.type === "STATE_DELTA") state = patch.applyPatch(state, event.delta, true, false).newDocument;
        else return;
        await seen(structuredClone(state));
      };
    }

    inTab("the page shows every state while the recipe is written", "shared_state", async (page, thread) => {
      const sent = [];
      // Nothing goes on before the page has put this very state on the screen.
      follow(async (state) => {
        sent.push(state);
        await page.shows(state);
      });
      await page.say(pasta);
      await page.answer(written);
      assert.deepEqual(on.gate.failures, []);
      const partial = new Set((await page.states()).filter((s) => s.recipe?.title).map((s) => JSON.stringify(s)));
      assert.ok(partial.size > 5, `${partial.size} different recipes were on the page`);
      const final = await page.state();
      assert.deepEqual(final, sent.at(-1));
      assert.equal(final.recipe.title, "Classic Pasta Carbonara");
      assert.ok(final.recipe.ingredients.length > 1 && final.recipe.instructions.length > 1);
      assert.deepEqual((await on.thread("shared_state", thread)).state, final);
    });

    inTab("an edit of the page's goes with the next run, and stays", "shared_state", async (page, thread) => {
      await page.say(pasta);
      await page.answer(written);
      const before = await page.state();
      await page.getByLabel("Title").fill("Our carbonara");
      await page.shows({ ...before, recipe: { ...before.recipe, title: "Our carbonara" } });

      await page.say("Make it vegetarian");
      await until("the recipe to be vegetarian", async () => (await page.state()).recipe.special_preferences?.includes("Vegetarian"));
      await page.idle();
      const posted = on.gate.inputs.at(-1);
      assert.equal(posted.threadId, thread);
      assert.equal(posted.state.recipe.title, "Our carbonara");
      const after = await page.state();
      // The model names what it changed.
      assert.match(after.recipe.title, /Our carbonara$/);
      assert.ok(after.recipe.special_preferences.includes("Vegetarian"), "and so does what the agent did");
      assert.deepEqual((await on.thread("shared_state", thread)).state, after);
    });

    inTab("an interrupt is resolved, the next one cancelled", "create_document", async (page, thread) => {
      const server = () => on.thread("create_document", thread);
      await page.say("Write a short story about a fox called Mira");
      await page.approval.waitFor();
      await page.idle();
      const proposed = await page.state();
      assert.match(proposed.document.content, /Mira/, "the proposal is on the page");
      assert.equal((await server()).interrupts.length, 1);

      await page.approval.getByRole("button", { name: "Approve" }).click();
      await page.answer("The document is updated.");
      await page.approval.waitFor({ state: "detached" });
      assert.deepEqual(on.gate.inputs.at(-1).resume.map((r) => [r.status, r.payload]), [["resolved", { accepted: true }]]);
      assert.deepEqual(await page.state(), proposed);
      const approved = await server();
      assert.deepEqual(approved.state, proposed);
      assert.deepEqual(approved.interrupts, []);

      await page.say("Make it longer");
      await page.approval.waitFor();
      await page.idle();
      const longer = await page.state();
      assert.ok(longer.document.content.length > proposed.document.content.length);

      // The very first state of the answer is the one without the proposal.
      const states = [];
      follow((state) => void states.push(state));
      await page.approval.getByRole("button", { name: "Cancel" }).click();
      await page.approval.waitFor({ state: "detached" });
      await page.shows(proposed);
      await page.idle();
      assert.deepEqual(states[0], proposed);
      assert.deepEqual(on.gate.inputs.at(-1).resume.map((r) => r.status), ["cancelled"]);
      const cancelled = await server();
      assert.deepEqual(cancelled.state, proposed);
      assert.deepEqual(cancelled.interrupts, []);

      // The thread goes on after that.
      await page.say("Make it longer");
      await page.approval.waitFor();
    });

    inTab("a first proposal that is cancelled leaves nothing", "create_document", async (page, thread) => {
      await page.say("Write a short story about a fox called Mira");
      await page.approval.waitFor();
      await page.idle();
      await page.approval.getByRole("button", { name: "Cancel" }).click();
      await page.approval.waitFor({ state: "detached" });
      await until("the proposal to be taken back", async () => !(await page.state()).document?.content);
      await page.idle();
      assert.deepEqual((await on.thread("create_document", thread)).state, await page.state());
    });

    inTab("a reload brings the state back, and an edit after it counts", "shared_state", async (page, thread) => {
      await page.say(pasta);
      await page.answer(written);
      const before = await page.state();
      await page.reload();
      await page.answer(written);
      await page.shows(before);

      await page.getByLabel("Title").fill("After the reload");
      await page.say("Make it vegetarian");
      await until("the recipe to be vegetarian", async () => (await page.state()).recipe.special_preferences?.includes("Vegetarian"));
      await page.idle();
      const after = await page.state();
      assert.match(after.recipe.title, /After the reload$/);
      assert.deepEqual((await on.thread("shared_state", thread)).state, after);
    });

    inTab("a reload in the middle of a run goes on with it", "shared_state", async (page, thread) => {
      let state;
      let goOn;
      const held = new Promise((resolve) => (goOn = resolve));
      let count = 0;
      follow(async (seen) => {
        if (++count !== 6) return;
        state = seen;
        await held;
      });
      try {
        await page.say(pasta);
        await until("the middle of the run", () => state !== undefined);
        await page.shows(state);
        await page.reload();
        await page.shows(state);
      } finally {
        goOn();
      }
      await page.answer(written);
      await page.shows((await on.thread("shared_state", thread)).state);
      assert.ok((await page.state()).recipe.instructions.length > 1);
    });

    inTab("a runtime that has forgotten the thread: the next run brings the state back", "shared_state", async (page, thread) => {
      await page.say(pasta);
      await page.answer(written);
      const before = await page.state();
      await on.restart();
      await page.open(on.runtime, "shared_state", thread);
      assert.deepEqual(await page.state(), {});
      await page.say("Make it vegetarian");
      await until("the recipe to be vegetarian", async () => (await page.state()).recipe?.special_preferences?.includes("Vegetarian"));
      await page.idle();
      assert.equal((await page.state()).recipe.title.includes(before.recipe.title), true);
      assert.deepEqual((await on.thread("shared_state", thread)).state, await page.state());
    });
  });
}
