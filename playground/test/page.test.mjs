// The page in a real browser against the real binary. Each test has its own
// thread; what one does not wait for, another may do meanwhile.
import test, { after, before, describe } from "node:test";
import assert from "node:assert/strict";
import { gated, launch, serve, until, wire } from "../testing/browser.mjs";
import { tabTests } from "../testing/stage.mjs";

let server;
let browser;
before(async () => ([server, browser] = await Promise.all([serve(), launch()])));
after(async () => {
  await browser.close();
  assert.equal(await server.stop(), 0);
});

const inTab = tabTests(() => browser);

/** A server whose model the test holds: see `gated`. */
async function slow(t) {
  const own = await gated();
  t.after(() => own.stop());
  return own;
}

/** Enough pieces of the model's recipe for some of its ingredients, and not all. */
const some = 30;

const at = (agent) => `${server.url}/?agent=/${agent}`;
const pasta = "I want to make a classic Italian pasta carbonara";
const rows = (page) => page.locator(".side-pane tbody tr");

describe("the page", { concurrency: 4 }, () => {
  inTab("a recipe grows while it is written, and is there after a reload", async (page, t) => {
    const model = await slow(t);
    await page.goto(`${model.url}/?agent=/shared_state`);
    await page.getByRole("heading", { name: "Recipe" }).waitFor();
    await page.shot("01 welcome");
    model.hold(some);
    await page.say(pasta);
    await page.locator(".tag.predicted", { hasText: "writing" }).waitFor();
    await rows(page).nth(1).waitFor();
    const early = await rows(page).count();
    assert.ok((await page.locator("[data-predicted=true]").count()) > 0, "what is there is provisional");
    assert.equal(await page.value("Title").textContent(), "Classic Pasta Carbonara");
    await page.shot("02 the recipe grows");
    model.release();
    await page.answer("Here's your recipe!");
    await page.idle();
    assert.equal(await page.locator("[data-predicted=true], .tag.predicted").count(), 0, "nothing is provisional any more");
    await page.shot("03 the recipe");
    const count = await rows(page).count();
    assert.ok(count > early, `${early} ingredients, then ${count}`);

    await page.reload();
    await page.answer("Here's your recipe!");
    assert.equal(await rows(page).count(), count);
    assert.match(await page.locator(".thread[aria-current=page]").textContent(), /carbonara/);
  });

  inTab("a value that is edited in place survives the next run", async (page) => {
    await page.goto(at("shared_state"));
    await page.say(pasta);
    await page.answer("Here's your recipe!");
    await page.idle();
    await page.value("Title").click();
    await page.locator(".editor textarea").fill("Our carbonara");
    await page.shot("04 a value is edited");
    await page.keyboard.press("Enter");
    await page.value("Title").getByText("Our carbonara").waitFor();
    await page.locator(".tag", { hasText: "you" }).waitFor({ state: "attached" });
    // Escape leaves a value as it was.
    await page.value("Skill level").click();
    await page.locator(".editor textarea").fill("Nobody's");
    await page.keyboard.press("Escape");
    await page.say("Make it vegetarian");
    await page.getByText("Vegetarian", { exact: true }).waitFor();
    await page.idle();
    assert.match(await page.value("Title").textContent(), /Our carbonara$/);
    assert.notEqual(await page.value("Skill level").textContent(), "Nobody's");

    // Undo takes back what the agent did, and leaves what the person did.
    await page.getByRole("button", { name: "Undo agent" }).click();
    await page.locator(".notice").waitFor();
    await page.getByText("Vegetarian", { exact: true }).waitFor({ state: "detached" });
    assert.equal(await page.value("Title").textContent(), "Our carbonara");
    // A value that is removed comes back at a click.
    await page.getByRole("button", { name: "Remove Title" }).click();
    await page.value("Title").waitFor({ state: "detached" });
    await page.getByRole("button", { name: "Bring it back" }).click();
    await page.value("Title").getByText("Our carbonara").waitFor();
  });

  inTab("a second tab follows live, and two edits of one place meet", async (page, t) => {
    const model = await slow(t);
    await page.goto(`${model.url}/?agent=/shared_state`);
    model.hold(some);
    await page.say(pasta);
    const other = await browser.tab({ context: page.context() });
    await until("the thread to have an address", () => page.url().includes("thread="));
    await other.goto(page.url());
    await rows(other).nth(1).waitFor();
    await other.locator(".status:visible", { hasText: "another viewer" }).waitFor();
    model.release();
    await page.answer("Here's your recipe!");
    await other.answer("Here's your recipe!");
    await page.idle();
    await other.idle();
    assert.equal(await rows(other).count(), await rows(page).count());

    await page.change("Cooking time", "45 min");
    await other.value("Cooking time").getByText("45 min").waitFor();
    await other.locator(".tag", { hasText: "another viewer" }).waitFor({ state: "attached" });
    await other.shot("05 another viewer's edit");

    // Both begin to edit the title; one is first.
    await other.value("Title").click();
    await other.locator(".editor textarea").fill("Theirs");
    await page.change("Title", "Mine");
    await page.value("Title").getByText("Mine").waitFor();
    await other.locator(".editor textarea").press("Enter");
    await other.getByText("Changed meanwhile to").waitFor();
    await other.shot("06 two edits meet");
    await other.getByRole("button", { name: "Keep mine" }).click();
    await page.value("Title").getByText("Theirs").waitFor();
    // The browser itself writes of the refused request.
    assert.deepEqual(other.said.filter((s) => !/409 \(Conflict\)/.test(s)), []);
  });

  inTab("a reload in the middle of a run goes on with it", async (page, t) => {
    const model = await slow(t);
    await page.goto(`${model.url}/?agent=/shared_state`);
    model.hold(some);
    await page.say(pasta);
    await rows(page).first().waitFor();
    await page.reload();
    await rows(page).first().waitFor();
    await page.locator(".tag.predicted", { hasText: "writing" }).waitFor();
    model.release();
    await page.answer("Here's your recipe!");
    await page.idle();
    assert.ok((await rows(page).count()) >= 5);
    assert.equal(await page.locator(".message.user").count(), 1);
    assert.equal(await page.locator(".tool").count(), 1);
    await page.locator(".tool[data-state=done]").waitFor();
  });

  inTab("stop takes back what was only predicted", async (page, t) => {
    const model = await slow(t);
    await page.goto(`${model.url}/?agent=/shared_state`);
    model.hold(some);
    await page.say(pasta);
    await rows(page).first().waitFor();
    await page.getByRole("button", { name: "Stop the agent" }).click();
    await page.idle();
    await rows(page).first().waitFor({ state: "detached" });
    assert.equal(await page.locator(".banner").count(), 0, "a stop is no failure");
  });

  inTab("the timeline filters, and shows the state at each point", async (page) => {
    await page.goto(at("shared_state"));
    await page.say(pasta);
    await page.answer("Here's your recipe!");
    await page.idle();
    await page.getByRole("tab", { name: "Timeline" }).click();
    await page.locator(".event", { hasText: "Run finished" }).waitFor();
    const all = await page.locator(".event").count();
    await page.getByRole("button", { name: "Tools" }).click();
    assert.ok((await page.locator(".event").count()) < all);
    await page.getByPlaceholder("Filter").fill("state changed");
    await page.locator(".event").first().click();
    await page.locator(".point").waitFor();
    const table = page.locator(".point tbody tr");
    const end = await table.count();
    const slider = page.getByRole("slider");
    const places = Number(await slider.inputValue());
    await slider.fill(String(Math.floor(places / 5)));
    await until("there to be less of it", async () => (await table.count()) < end);
    await page.shot("07 timeline");
    await page.getByRole("button", { name: "Back to live" }).click();
    // After a reload the events of before are there too.
    await page.reload();
    await page.answer("Here's your recipe!");
    await page.getByRole("tab", { name: "Timeline" }).click();
    await page.locator(".event", { hasText: "Run finished" }).waitFor();
  });

  inTab("a proposal is shown as a difference, and approved as it is, edited, or rejected", async (page) => {
    await page.goto(at("create_document"));
    await page.say("Write a short story about a fox called Mira");
    await page.locator(".approval").waitFor();
    await page.locator(".tag.predicted", { hasText: "proposed" }).waitFor();
    assert.ok(await page.getByLabel("Message", { exact: true }).isDisabled(), "an open question comes first");
    await page.getByRole("button", { name: "Approve" }).click();
    await page.locator(".approval").waitFor({ state: "detached" });
    await page.idle();
    assert.match(await page.value("Title").textContent(), /Mira/);

    await page.say("Make it longer");
    await page.locator(".approval ins").first().waitFor();
    await page.shot("08 a proposal");
    // It is still there after a reload, with what it changes.
    await page.reload();
    await page.locator(".approval ins").first().waitFor();
    assert.match(await page.locator(".approval .differences").textContent(), /…/);
    await page.getByRole("button", { name: "Edit", exact: true }).click();
    await page.getByLabel("Title", { exact: true }).fill("A title of mine");
    await page.getByRole("button", { name: "Approve this version" }).click();
    await page.value("Title").getByText("A title of mine").waitFor();
    await page.idle();

    const content = await page.value("Content").textContent();
    await page.say("Make it shorter");
    await page.locator(".approval").waitFor();
    await page.getByRole("button", { name: "Reject" }).click();
    await page.locator(".approval").waitFor({ state: "detached" });
    await page.idle();
    assert.equal(await page.value("Content").textContent(), content);
    assert.equal(await page.locator(".tag.predicted").count(), 0);
  });

  inTab("the older kind of question is approved as it is, edited, or rejected", async (page) => {
    await page.goto(at("predictive_state_updates"));
    await page.say("Write a story about a dragon called Atlantis");
    await page.locator(".approval").waitFor();
    await page.getByRole("button", { name: "Approve" }).click();
    await page.locator(".approval").waitFor({ state: "detached" });
    await page.idle();
    await page.say("Change the dragon's name to Lola");
    await page.locator(".approval del", { hasText: "Atlantis" }).first().waitFor();
    await page.shot("09 the older kind of question");
    await page.getByRole("button", { name: "Reject" }).click();
    await page.locator(".approval").waitFor({ state: "detached" });
    await page.idle();
    assert.match(await page.value("Document").textContent(), /Atlantis/);
    assert.doesNotMatch(await page.value("Document").textContent(), /Lola/);

    await page.say("Change the dragon's name to Lola");
    await page.getByRole("button", { name: "Edit", exact: true }).click();
    await page.getByLabel("Document", { exact: true }).fill("A story of my own.");
    await page.getByRole("button", { name: "Approve this version" }).click();
    await page.value("Document").getByText("A story of my own.").waitFor();
    await page.idle();
    assert.equal(await page.locator(".approval, .tag.predicted").count(), 0);

    // It may be passed over, which is a no; also where only the server knows of it.
    await page.say("Make it longer");
    await page.locator(".approval").waitFor();
    await page.reload();
    await page.locator(".approval").waitFor();
    await page.say("Hello!");
    await page.locator(".approval").waitFor({ state: "detached" });
    await page.idle();
    assert.equal(await page.value("Document").textContent(), "A story of my own.");
    assert.equal(await page.locator(".banner").count(), 0);
  });

  inTab("steps to choose from, a haiku, a background: tools of the page", async (page) => {
    await page.goto(at("human_in_the_loop"));
    await page.say("Plan a weekend of hiking");
    await page.getByRole("button", { name: /Go ahead with/ }).waitFor();
    await page.idle();
    await page.locator(".steps label").nth(1).click();
    await page.shot("10 steps");
    await page.getByRole("button", { name: /Go ahead with/ }).click();
    await page.getByText(/^You chose \d of \d steps/).waitFor();
    await page.locator(".message.assistant", { hasText: "steps you chose" }).waitFor();

    await page.goto(at("tool_based_generative_ui"));
    await page.say("The moon shines bright");
    await page.locator(".haiku [lang=ja] p").nth(2).waitFor();
    await page.idle();
    await page.shot("11 haiku");

    await page.goto(at("agentic_chat"));
    await page.say("Change the background to a sunset");
    await page.locator(".messages[data-painted=true]").waitFor();
    await page.idle();
    assert.match(await page.locator(".messages").evaluate((e) => getComputedStyle(e).backgroundImage), /gradient/);
    await page.locator(".message.assistant .markdown").waitFor();
  });

  inTab("what the server does by itself: weather, a plan in progress", async (page) => {
    await page.goto(at("backend_tool_rendering"));
    await page.say("What is the weather in San Francisco?");
    await page.locator(".weather", { hasText: "Humidity" }).waitFor();
    await page.idle();
    await page.shot("12 weather");
    await page.goto(at("agentic_generative_ui"));
    await page.say("Give me a plan to make brownies");
    await page.answer("Done");
    await page.idle();
    const plan = page.locator(".side-pane tbody");
    assert.ok((await plan.getByText("completed").count()) > 3);
    assert.equal(await plan.getByText("pending").count(), 0);
  });

  inTab("everything can be done by keyboard, and is told to who cannot see", async (page, t) => {
    const model = await slow(t);
    await page.goto(`${model.url}/?agent=/shared_state`);
    model.hold(some);
    await page.getByLabel("Message", { exact: true }).waitFor();
    await page.keyboard.type(pasta); // the field has the focus from the start
    await page.keyboard.press("Enter");
    await page.locator("[aria-live=polite]", { hasText: "working" }).waitFor({ state: "attached" });
    model.release();
    await page.locator("[aria-live=polite]", { hasText: "Here's your recipe!" }).waitFor({ state: "attached" });
    await page.idle();
    await page.item("Title").focus();
    await page.keyboard.press("Enter");
    await page.locator(".editor textarea:focus").waitFor();
    await page.keyboard.type("By keyboard");
    await page.keyboard.press("Enter");
    await page.value("Title").getByText("By keyboard").waitFor();
    await until("the focus to come back", () => page.item("Title").evaluate((e) => e === document.activeElement));
    await page.getByRole("tab", { name: "State" }).focus();
    await page.keyboard.press("ArrowRight");
    await page.locator(".timeline").waitFor();
    // Every button and field has a name.
    const nameless = await page.evaluate(() =>
      [...document.querySelectorAll("button, input, textarea, select")]
        .filter((e) => e.checkVisibility() && !(e.textContent?.trim() || e.getAttribute("aria-label") || e.labels?.length))
        .map((e) => e.outerHTML),
    );
    assert.deepEqual(nameless, []);
  });

  inTab(
    "on a phone one part is shown at a time, and nothing is wider than the screen",
    async (page) => {
      await page.goto(at("shared_state"));
      await page.say(pasta);
      await page.answer("Here's your recipe!");
      await page.idle();
      await page.shot("13 phone chat");
      await page.locator(".tabbar").getByText("State").click();
      await page.value("Title").waitFor();
      await page.shot("14 phone state");
      for (const tab of ["Chat", "State", "Timeline"]) {
        await page.locator(".tabbar").getByText(tab).click();
        const { width, content } = await page.evaluate(() => ({ width: innerWidth, content: document.documentElement.scrollWidth }));
        assert.ok(content <= width, `${tab} is ${content} wide on a screen of ${width}`);
      }
      await page.getByRole("button", { name: "Agents and threads" }).click();
      await page.locator(".sidebar").getByRole("button", { name: "New" }).click();
      await page.locator(".tabbar").getByText("Chat").click();
      await page.getByRole("heading", { name: "Recipe" }).waitFor();
    },
    { viewport: { width: 375, height: 740 }, deviceScaleFactor: 2, isMobile: true, hasTouch: true },
  );

  inTab(
    "dark by the system, light by choice",
    async (page) => {
      await page.goto(at("shared_state"));
      const shade = () => page.evaluate(() => document.documentElement.dataset.theme);
      await page.getByRole("button", { name: "Light" }).waitFor();
      assert.equal(await shade(), "dark");
      await page.say(pasta);
      await page.answer("Here's your recipe!");
      await page.idle();
      await page.shot("15 dark");
      await page.getByRole("button", { name: "Light" }).click();
      assert.equal(await shade(), "light");
      await page.reload();
      await page.answer("Here's your recipe!");
      assert.equal(await shade(), "light");
    },
    { colorScheme: "dark" },
  );
});

describe("when something is wrong", { concurrency: 3 }, () => {
  inTab(
    "a lost connection is said, and what was missed comes when it is back",
    async (page, t) => {
      const model = await slow(t);
      const line = await wire(model.url);
      t.after(() => line.close());
      await page.goto(`${line.url}/?agent=/shared_state`);
      model.hold(some);
      await page.say(pasta);
      await rows(page).first().waitFor();
      line.cut(); // in the middle of a run: it goes on
      model.release();
      await page.answer("Here's your recipe!");
      await page.idle();
      line.down = true;
      await page.locator(".banner", { hasText: "The connection is lost" }).waitFor();
      await page.shot("16 offline");
      const thread = new URL(page.url()).searchParams.get("thread");
      const edit = await fetch(`${model.url}/shared_state/threads/${thread}/state`, {
        method: "PATCH",
        headers: { "Content-Type": "application/merge-patch+json" },
        body: JSON.stringify({ recipe: { title: "Missed" } }),
      });
      assert.equal(edit.status, 200);
      line.down = false;
      // Unless the page has tried by itself in between: then the button is gone.
      const pressed = page.getByRole("button", { name: "Try now" }).press("Enter").catch(() => {});
      await page.value("Title").getByText("Missed").waitFor();
      await page.locator(".banner").waitFor({ state: "detached" });
      await Promise.race([pressed, page.idle()]);
    },
    { ignore: [/net::ERR_/] },
  );

  inTab("a run that fails is said, and the next one works", async (page, t) => {
    // A model that is not there: nothing listens on the discard port.
    const broken = await serve.with({ OPENAI_BASE_URL: "http://127.0.0.1:9/v1", OPENAI_API_KEY: "none" }, "--model", "openai:none");
    t.after(() => broken.stop());
    await page.goto(`${broken.url}/?agent=/shared_state`);
    await page.say(pasta);
    await page.locator(".banner[data-tone=error]", { hasText: "model_error" }).waitFor();
    await page.shot("17 a failed run");
    await page.idle();
    await page.getByRole("button", { name: "Put away" }).click();
    await page.locator(".banner").waitFor({ state: "detached" });
    assert.equal(await page.locator(".message.user").count(), 1);
  });

  inTab(
    "a server with a token asks for it once",
    async (page, t) => {
      const guarded = await serve("--token", "let-me-in");
      t.after(() => guarded.stop());
      await page.goto(`${guarded.url}/?agent=/shared_state`);
      await page.getByLabel("Token").fill("wrong");
      await page.getByRole("button", { name: "Continue" }).click();
      await page.getByText("did not take this token").waitFor();
      await page.shot("18 token");
      await page.getByLabel("Token").fill("let-me-in");
      await page.getByRole("button", { name: "Continue" }).click();
      await page.say(pasta);
      await page.answer("Here's your recipe!");
      await page.reload();
      await page.answer("Here's your recipe!");
      assert.equal(await page.evaluate(() => JSON.stringify({ ...localStorage }).includes("let-me-in")), false, "only this tab has it");
    },
    { ignore: [/401 \(Unauthorized\)/] },
  );

  inTab("what a model writes is shown and not run", async (page) => {
    await page.goto(at("shared_state"));
    const evil = `<img src=x onerror="window.hurt=1"><script>window.hurt=1</script> [a link](javascript:window.hurt=1) **bold**`;
    await page.say(`Say: ${evil}`);
    await page.locator(".message.assistant .markdown").waitFor();
    await page.idle();
    assert.equal(await page.locator(".markdown :is(img, script, [href^='javascript:'])").count(), 0);
    assert.equal(await page.evaluate(() => window.hurt), undefined);
  });
});
