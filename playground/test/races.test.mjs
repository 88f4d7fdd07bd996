// What comes in another order than usual: answers before and after the events that
// they belong to, and a person who does the next thing meanwhile. Nothing here
// waits for time to pass: what is late is held by the test until it lets it go.
import { describe } from "node:test";
import assert from "node:assert/strict";
import { serve, until, wire } from "../testing/browser.mjs";
import { agentsFile, slow, stage } from "../testing/stage.mjs";

const on = stage("--agents", agentsFile);
const trip = { title: "Lisbon", done: false, packing: ["Hat", "Book", "Shoes"], plan: { city: "Sintra" } };
const pasta = "I want to make a classic Italian pasta carbonara";
const conflict = { ignore: [/409 \(Conflict\)/] };

/** Holds what fits at its way to the server (`request`), or the server's answer (`answer`), until `open()`. */
async function hold(page, what, url, method) {
  let open;
  const gate = new Promise((resolve) => (open = resolve));
  let arrive;
  const held = new Promise((resolve) => (arrive = resolve));
  await page.route(url, async (route) => {
    if (method && route.request().method() !== method) return route.fallback();
    const response = what === "answer" ? await route.fetch() : undefined;
    arrive();
    await gate;
    // Its page may have gone by now, or have given it up.
    await (response ? route.fulfill({ response }) : route.continue()).catch(() => undefined);
  });
  return { open, held };
}

/** Opens a thread with a state and waits until it is live and what may be changed is known. `via`: another address of the server. */
async function open(page, id, via, state = trip) {
  const url = await on.thread("notes", id, state);
  await page.goto(via ? via + url.slice(new URL(url).origin.length) : url);
  await page.getByRole("tree").waitFor();
  await live(page);
  await page.locator(".tree .lock").first().waitFor();
}

const live = (page) => page.locator(".status[data-tone=live]:visible").first().waitFor();
const items = (page, name) => page.getByRole("treeitem", { name }).getByRole("treeitem").evaluateAll((all) => all.map((i) => i.ariaLabel.split(",")[0]));
/** What the page does with what it has now. */
const turn = (page) => page.evaluate(() => new Promise((resolve) => requestAnimationFrame(() => setTimeout(resolve))));

async function line(t) {
  const own = await wire(new URL(on.at("")).origin);
  t.after(() => own.close());
  return own;
}

/** A server of its own with the demo's agents, and a wire to it. */
async function demo(t) {
  const server = await serve();
  t.after(() => server.stop());
  const own = await wire(server.url);
  t.after(() => own.close());
  return own;
}

describe("an edit", { concurrency: 3 }, () => {
  on.inTab("that is being saved leaves the next one alone", async (page) => {
    await open(page, "next");
    const answer = await hold(page, "answer", "**/threads/next/state");
    await page.value("Title").click();
    await page.locator(".editor textarea").fill("Porto");
    await page.value("City").click(); // which saves the title
    await answer.held;
    const city = page.getByRole("treeitem", { name: "City" }).locator("textarea");
    await city.fill("Evora");
    answer.open();
    await page.value("Title").getByText("Porto").waitFor();
    await page.getByRole("treeitem", { name: "Title" }).locator(".editor").waitFor({ state: "detached" });
    assert.equal(await city.inputValue(), "Evora");
    assert.ok(await city.evaluate((f) => f === document.activeElement));
    assert.equal((await on.state("notes", "next")).plan.city, "Sintra", "nobody has saved it");
    await page.keyboard.press("Enter");
    await page.value("City").getByText("Evora").waitFor();
  });

  on.inTab("that is refused is not lost because the person is at the next one", async (page) => {
    await open(page, "lost");
    const request = await hold(page, "request", "**/threads/lost/state");
    await page.value("Title").click();
    await page.locator(".editor textarea").fill("Mine");
    await page.value("City").click();
    await request.held;
    await page.getByRole("treeitem", { name: "City" }).locator("textarea").fill("Evora");
    await on.change("notes", "lost", { title: "Theirs" });
    await page.locator(".tag", { hasText: "you" }).waitFor({ state: "attached" }); // as far as can be told now
    request.open();
    await page.getByText("Changed meanwhile to").waitFor();
    // Now it is known that the change which was seen was not this one.
    await page.locator(".tag", { hasText: "another viewer" }).waitFor({ state: "attached" });
    assert.equal(await page.getByRole("treeitem", { name: "City" }).locator("textarea").inputValue(), "Evora");
    await page.getByRole("button", { name: "Keep mine" }).click(); // which saves the other one
    await page.value("Title").getByText("Mine").waitFor();
    await page.value("City").getByText("Evora").waitFor();
    const { title, plan } = await on.state("notes", "lost");
    assert.deepEqual([title, plan.city], ["Mine", "Evora"]);
  }, conflict);

  on.inTab("takes no letters any more while it is saved, and is over when it can be seen", async (page, t) => {
    const own = await line(t);
    await open(page, "seen", own.url);
    own.holdAt("STATE_SNAPSHOT");
    const answered = page.waitForResponse("**/threads/seen/state");
    await page.value("Title").click();
    await page.locator(".editor textarea").fill("Porto");
    await page.keyboard.press("Enter");
    await page.locator(".editor textarea[readonly]").waitFor();
    await (await answered).finished();
    await turn(page);
    assert.equal(await page.locator(".editor textarea").inputValue(), "Porto", "the old value does not come back in between");
    own.release();
    await page.value("Title").getByText("Porto").waitFor();
    await page.locator(".editor").waitFor({ state: "detached" });
    await page.locator(".tag", { hasText: "you" }).waitFor({ state: "attached" });
  });

  on.inTab("is made once, however often its key is pressed before it can be seen", async (page, t) => {
    const own = await line(t);
    await open(page, "twice", own.url);
    own.holdAt("STATE_SNAPSHOT");
    const asked = [];
    page.on("request", (r) => r.method() === "PATCH" && asked.push(r.postData()));
    await page.getByRole("treeitem", { name: "Done" }).focus();
    for (let i = 0; i < 3; i++) await page.keyboard.press("Space");
    await page.getByRole("treeitem", { name: "Hat" }).focus();
    for (let i = 0; i < 3; i++) await page.keyboard.press("Delete");
    own.release();
    await page.getByRole("treeitem", { name: "Done: yes" }).waitFor();
    await page.getByRole("treeitem", { name: "Hat" }).waitFor({ state: "detached" });
    await page.locator(".notice", { hasText: "is removed" }).waitFor();
    assert.equal(asked.length, 2, asked.join("\n"));
    assert.equal(await page.locator(".notice").count(), 1, "nobody else has changed anything");
    await page.keyboard.press("Control+z");
    await page.getByRole("treeitem", { name: "Hat" }).waitFor();
    const { done, packing } = await on.state("notes", "twice");
    assert.deepEqual([done, packing], [true, trip.packing]);
  });

  on.inTab("of what was removed and is still to be seen brings it back all the same", async (page, t) => {
    const own = await line(t);
    await open(page, "unseen", own.url);
    own.holdAt("STATE_SNAPSHOT");
    const answered = page.waitForResponse("**/threads/unseen/state");
    await page.getByRole("treeitem", { name: "City" }).focus();
    await page.keyboard.press("Delete");
    await (await answered).finished();
    await page.keyboard.press("Control+z");
    own.release();
    await until("it to be back", async () => (await on.state("notes", "unseen")).plan.city === "Sintra" && (await page.getByRole("treeitem", { name: "City: Sintra" }).count()) === 1);
    await turn(page);
    assert.equal(await page.getByRole("treeitem", { name: "City: Sintra" }).count(), 1);
    assert.equal(await page.locator(".notice").count(), 0);
  });

  on.inTab("is made on what is drawn, not on what came since", async (page) => {
    await open(page, "drawn", undefined, { title: "Lisbon", packing: ["Hat", "Scarf", "Book", "Map", "Shoes"] });
    await page.clock.install();
    await page.clock.pauseAt(Date.now() + 60_000); // nothing is drawn by itself from here
    const known = page.waitForRequest((r) => /\/notes\/threads$/.test(r.url()));
    await on.change("notes", "drawn", { packing: ["Scarf", "Book", "Map", "Shoes"] });
    // The page knows of it when it asks for the list of threads again, which a run makes it do.
    const run = fetch(on.at("notes").replace("/?agent=/", "/"), {
      method: "POST",
      headers: { "Content-Type": "application/json" },
      body: JSON.stringify({ threadId: "drawn", runId: "r", messages: [{ id: "m", role: "user", content: "Hello" }], tools: [], context: [], state: null, forwardedProps: {} }),
    }).then((r) => r.text());
    await known;
    assert.deepEqual(await items(page, "Packing"), ["Hat", "Scarf", "Book", "Map", "Shoes"], "it is not drawn");
    const edited = page.waitForResponse("**/threads/drawn/state");
    await page.getByRole("button", { name: "Remove Item 4" }).first().dispatchEvent("click");
    await edited;
    await run;
    assert.deepEqual((await on.state("notes", "drawn")).packing, ["Scarf", "Book", "Shoes"]);
    await page.clock.resume();
    await until("it to be drawn", async () => (await items(page, "Packing")).join() === "Scarf,Book,Shoes");
  });

  on.inTab("is told from another viewer's, whenever its answer comes", async (page) => {
    await open(page, "whose");
    const answer = await hold(page, "answer", "**/threads/whose/state");
    await page.getByRole("button", { name: "Add to Packing" }).click();
    await page.locator(".editor textarea").fill("Map");
    await page.keyboard.press("Enter");
    await answer.held;
    const tag = page.getByRole("treeitem", { name: "Map", exact: true }).locator(".tag");
    await tag.waitFor({ state: "attached" });
    assert.equal(await tag.textContent(), "you");
    answer.open();
    await page.locator(".editor").waitFor({ state: "detached" });
    assert.equal(await tag.textContent(), "you");
  });

  on.inTab("of another viewer during one's own run is the other viewer's", async (page, t) => {
    const model = await slow(t);
    await page.goto(`${model.url}/?agent=/shared_state`);
    await live(page);
    model.hold(5);
    await page.say(pasta);
    await page.value("Title").waitFor();
    const thread = new URL(page.url()).searchParams.get("thread");
    const edit = await fetch(`${model.url}/shared_state/threads/${thread}/state`, { method: "PATCH", headers: { "Content-Type": "application/merge-patch+json" }, body: JSON.stringify({ note: "Theirs" }) });
    assert.equal(edit.status, 200, await edit.text());
    const tag = page.getByRole("treeitem", { name: "Note: Theirs" }).locator(".tag");
    await tag.waitFor({ state: "attached" });
    assert.equal(await tag.textContent(), "another viewer");
    model.release();
    await page.answer("Here's your recipe!");
    await page.idle();
  });
});

describe("a decision", { concurrency: 3 }, () => {
  const card = 'call send_postcard {"to": "Bo", "text": "See you"}';
  const hotel = 'call book_hotel {"hotel": {"name": "Miramar", "nights": 2}}';

  on.inTab("is not overtaken by what the server said before it", async (page) => {
    await page.goto(on.at("trip"));
    await live(page);
    const answer = await hold(page, "answer", /\/trip\/threads\/[^/]+$/, "GET");
    await page.say(hotel);
    await page.locator(".approval").waitFor();
    await answer.held; // which places are of the proposal
    await page.getByRole("button", { name: "Reject", exact: true }).click();
    await page.locator(".approval").waitFor({ state: "detached" });
    await page.idle();
    const late = page.waitForResponse(/\/trip\/threads\/[^/]+$/);
    answer.open();
    await (await late).finished();
    await turn(page);
    assert.equal(await page.locator("[data-predicted=true], .tag.predicted").count(), 0);
  });

  on.inTab("may be made before the history is there, and each event counts once", async (page, t) => {
    const own = await line(t);
    const start = on.at("trip");
    await page.goto(own.url + start.slice(new URL(start).origin.length));
    await page.say(card);
    await page.locator(".approval").waitFor();
    await page.idle();
    const history = await hold(page, "answer", /\/events\?.*live=false/);
    await page.reload();
    await history.held;
    own.holdAt("TEXT_MESSAGE_START");
    await page.getByRole("button", { name: "Approve", exact: true }).click();
    await page.locator(".status[data-tone=busy]:visible").first().waitFor();
    const followed = page.waitForRequest((r) => /\/events/.test(r.url()) && !/live=false/.test(r.url()), { timeout: 0 }).catch(() => undefined);
    history.open();
    await page.getByRole("button", { name: "Stop the agent" }).waitFor();
    await turn(page);
    own.release();
    await page.answer("postcard");
    await page.idle();
    await followed;
    const thread = new URL(page.url()).searchParams.get("thread");
    const { messages } = await (await fetch(`${new URL(start).origin}/trip/threads/${thread}`)).json();
    const said = messages.filter((m) => m.role === "assistant" && m.content).map((m) => m.content);
    assert.deepEqual(await page.locator(".message.assistant .markdown").allInnerTexts(), said);
    assert.equal(await page.locator(".banner").count(), 0);
  });
});

describe("a message", { concurrency: 3 }, () => {
  on.inTab("that the server does not take comes back to where it was written", async (page, t) => {
    const model = await slow(t);
    const own = await wire(model.url);
    t.after(() => own.close());
    await fetch(`${model.url}/shared_state/threads/busy/state`, { method: "PATCH", headers: { "Content-Type": "application/merge-patch+json" }, body: JSON.stringify({ note: "" }) });
    await page.goto(`${own.url}/?agent=/shared_state&thread=busy`);
    await live(page);
    // Somebody else's run, of which this page does not know yet.
    own.holdAt("RUN_STARTED");
    model.hold(5);
    const body = { threadId: "busy", runId: "theirs", messages: [{ id: "m", role: "user", content: pasta }], tools: [], context: [], state: null, forwardedProps: {} };
    const theirs = await fetch(`${model.url}/shared_state`, { method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify(body) });
    const over = theirs.text();
    await page.say("Make it vegetarian");
    await page.locator(".message.user", { hasText: pasta }).waitFor();
    assert.equal(await page.locator(".message.user").count(), 1, "what was not taken is not shown as if it had been");
    assert.equal(await page.getByLabel("Message", { exact: true }).inputValue(), "Make it vegetarian");
    own.release();
    model.release();
    await over;
    await page.idle();
    await page.getByRole("button", { name: "Send", exact: true }).click();
    await page.locator(".message.user").nth(1).waitFor();
    await page.idle();
    assert.equal(await page.getByLabel("Message", { exact: true }).inputValue(), "");
    assert.equal(await page.locator(".banner").count(), 0);
  }, conflict);

  on.inTab("of which only the answer was lost is there once", async (page, t) => {
    const own = await line(t);
    await open(page, "answer", own.url);
    // The request arrives; what comes back does not.
    await page.route("**/notes", async (route) => {
      void fetch(new URL(on.at("")).origin + "/notes", { method: "POST", headers: { "Content-Type": "application/json" }, body: route.request().postData() }).then((r) => r.text());
      await until("the server to have it", async () => (await (await fetch(`${new URL(on.at("")).origin}/notes/threads/answer`)).json()).messages.length > 0);
      await route.abort();
    });
    await page.say("Hello there");
    await page.locator(".message.assistant").waitFor();
    await live(page);
    assert.equal(await page.locator(".message.user").count(), 1);
    assert.equal(await page.getByLabel("Message", { exact: true }).inputValue(), "");
  }, { ignore: [/net::ERR_FAILED/] });

  on.inTab("is not sent by a click that began on Stop", async (page, t) => {
    const model = await slow(t);
    await page.goto(`${model.url}/?agent=/shared_state`);
    await live(page);
    model.hold(5);
    await page.say(pasta);
    await page.getByLabel("Message", { exact: true }).fill("Not yet");
    const stop = await page.getByRole("button", { name: "Stop the agent" }).boundingBox();
    await page.mouse.move(stop.x + stop.width / 2, stop.y + stop.height / 2);
    await page.mouse.down();
    model.release();
    await page.answer("Here's your recipe!");
    await page.idle();
    await page.mouse.up();
    await turn(page);
    assert.equal(await page.getByLabel("Message", { exact: true }).inputValue(), "Not yet");
    assert.equal(await page.locator(".message.user").count(), 1);
  });

  on.inTab("of a tool is not made of a call that the page has left half-written", async (page, t) => {
    const own = await demo(t);
    await page.goto(`${own.url}/?agent=/agentic_chat`);
    await live(page);
    const posts = [];
    page.on("request", (r) => r.method() === "POST" && posts.push(r.postData()));
    own.holdAt("TOOL_CALL_ARGS");
    await page.say("Change the background to a sunset");
    await page.getByText("Change background").waitFor();
    await page.getByRole("button", { name: "New", exact: true }).click();
    await page.getByRole("heading", { name: "Chat" }).waitFor();
    await live(page);
    await turn(page);
    assert.equal(posts.length, 1, posts.at(-1));
  });
});

describe("a thread", { concurrency: 3 }, () => {
  on.inTab("of another agent does not get into the list when a run of it ends late", async (page) => {
    await on.thread("trip", "there", { hotel: null });
    await open(page, "here");
    const run = await hold(page, "request", "**/notes", "POST");
    await page.say("Hello");
    await run.held;
    const asked = [];
    page.on("request", (r) => /\/threads$/.test(r.url()) && asked.push(new URL(r.url()).pathname));
    await page.locator(".picker select").selectOption("/trip");
    await live(page);
    run.open();
    await page.locator(".threads li").first().waitFor();
    await turn(page);
    assert.deepEqual([...new Set(asked)], ["/trip/threads"]);
  });

  on.inTab("of a page of the list that comes late is not listed with another agent's", async (page, t) => {
    const own = await demo(t);
    const make = (i) => fetch(`${own.url}/shared_state/threads/number%20${i}/state`, { method: "PATCH", headers: { "Content-Type": "application/merge-patch+json" }, body: "{}" });
    for (let i = 0; i < 120; i++) assert.equal((await make(i)).status, 200);
    await page.goto(`${own.url}/?agent=/shared_state`);
    const older = page.getByRole("button", { name: "Older threads" });
    await older.waitFor();
    const some = await page.locator(".threads .thread").count();
    const answer = await hold(page, "answer", /\/threads\?after=/);
    const asked = [];
    page.on("request", (r) => /after=/.test(r.url()) && asked.push(r.url()));
    await older.click();
    await older.click();
    await answer.held;
    await page.locator(".picker select").selectOption("/task_planner");
    await live(page);
    await page.locator(".empty-list").waitFor();
    const late = page.waitForResponse(/\/threads\?after=/);
    answer.open();
    await (await late).finished();
    await turn(page);
    assert.equal(await page.locator(".threads .thread").count(), 0);
    assert.equal(asked.length, 1);
    await page.locator(".picker select").selectOption("/shared_state");
    await older.click();
    await until("more of them", async () => (await page.locator(".threads .thread").count()) > some);
  });

  on.inTab("that is forgotten late does not take the person away from where they are", async (page) => {
    await on.thread("notes", "stays", { title: "Here" });
    await open(page, "goes");
    page.on("dialog", (d) => d.accept());
    const answer = await hold(page, "answer", "**/threads/goes", "DELETE");
    await page.locator(".threads li[data-current=true] .remove").click({ force: true });
    await answer.held;
    await page.evaluate(() => history.pushState(null, "", "?agent=/notes&thread=stays"));
    await page.evaluate(() => dispatchEvent(new PopStateEvent("popstate")));
    await page.value("Title").getByText("Here").waitFor();
    const listed = page.waitForResponse(/\/notes\/threads$/);
    answer.open();
    await listed;
    await turn(page);
    assert.equal(new URL(page.url()).searchParams.get("thread"), "stays");
    // One that cannot be forgotten says so.
    await page.route("**/threads/stays", (route) => (route.request().method() === "DELETE" ? route.abort() : route.fallback()));
    await page.locator(".threads li[data-current=true] .remove").click({ force: true });
    await page.locator(".banner", { hasText: "could not be forgotten" }).waitFor();
  }, { ignore: [/net::ERR_FAILED/] });

  on.inTab("that could not be loaded at first is no failure any more when it is there", async (page) => {
    const url = await on.thread("notes", "later", trip);
    let times = 0;
    await page.route(/\/threads\/later$|\/capabilities$/, (route) => (times++ < 2 ? route.abort() : route.fallback()));
    const stream = await hold(page, "request", /\/threads\/later\/events/);
    await page.goto(url);
    await page.locator(".banner", { hasText: "could not be loaded" }).waitFor();
    await stream.held;
    stream.open();
    await page.value("Title").getByText("Lisbon").waitFor();
    await page.locator(".banner").waitFor({ state: "detached" });
    await page.locator(".tree .lock").first().waitFor(); // what may be changed is known too
  }, { ignore: [/net::ERR_FAILED/] });

  on.inTab("is left for a new one also while its first edit is on its way", async (page, t) => {
    const own = await demo(t);
    await page.goto(`${own.url}/?agent=/shared_state`);
    await live(page);
    const id = () => page.locator(".sidebar-foot .mono").textContent();
    const first = await id();
    const request = await hold(page, "request", "**/state", "PATCH");
    await page.getByRole("button", { name: "Add a value" }).click();
    await page.getByLabel("Name").fill("note");
    await page.getByLabel("Value").fill("one");
    await page.keyboard.press("Enter");
    await request.held;
    await page.getByRole("button", { name: "New", exact: true }).click();
    await until("another thread", async () => (await id()) !== first, 15_000);
    request.open();
    await live(page);
    assert.equal(await page.getByRole("treeitem", { name: "Note" }).count(), 0);
  });
});
