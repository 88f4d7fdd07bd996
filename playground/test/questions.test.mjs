// What waits for a person: forms that an agent's own code asks for, and several
// decisions at once.
import { after, before, describe } from "node:test";
import assert from "node:assert/strict";
import { asking, until } from "../testing/browser.mjs";
import { agentsFile, stage } from "../testing/stage.mjs";

const on = stage("--agents", agentsFile);
let clerk;
before(async () => (clerk = await asking()));
after(() => clerk.stop());

const field = (page, name) => page.locator(".form").getByLabel(name, { exact: true });
const fault = (page, name) => field(page, name).evaluate((f) => document.getElementById(f.getAttribute("aria-describedby")?.split(" ").at(-1))?.textContent ?? "");

describe("questions", { concurrency: 3 }, () => {
  on.inTab("a form has a field for every part of what is asked, and says beside it what is wrong", async (page) => {
    await page.goto(`${clerk.url}/?agent=/booking`);
    await page.say("A room, please");
    const card = page.getByRole("region", { name: "Waits for your decision: Who is coming?" });
    await card.waitFor();
    await card.getByRole("button", { name: "Send" }).click();
    await until("the first wrong field to have the focus", () => field(page, "Name").evaluate((f) => f === document.activeElement));
    assert.equal(await fault(page, "Name"), "This is needed.");
    assert.equal(await page.locator(".form [aria-invalid=true]").count(), 5, "what is optional may stay empty");
    await field(page, "Name").fill("A");
    assert.equal(await fault(page, "Name"), "At least 2 characters.");
    await field(page, "Name").fill("Ann Lee");
    await field(page, "Email").fill("ann");
    await field(page, "Guests").fill("7");
    assert.match(await fault(page, "Email"), /ann@example.com/);
    assert.equal(await fault(page, "Guests"), "At most 6.");
    await field(page, "Guests").fill("1.5");
    assert.equal(await fault(page, "Guests"), "Must be a whole number.");
    await page.shot("23 a form with faults");
    await field(page, "Email").fill("ann@example.com");
    await field(page, "Guests").fill("2");
    await field(page, "From").fill("2027-03-04");
    await field(page, "Room").selectOption("Double");
    await field(page, "Breakfast optional").selectOption("Yes");
    // A part that is begun has its own needs.
    await field(page, "Street optional").fill("1 Main Street");
    await card.getByRole("button", { name: "Send" }).click();
    assert.equal(await fault(page, "City"), "This is needed.");
    await field(page, "City").fill("Oslo");
    for (const wish of ["A quiet room", "Tea", "gone again"]) {
      await card.getByRole("button", { name: "Add to Wishes" }).click();
      await page.locator(".items textarea:focus").fill(wish);
    }
    await card.getByRole("button", { name: "Remove Wishes 3" }).click();
    await card.getByRole("button", { name: "Add to Companions" }).click();
    await card.getByRole("group", { name: "Companions 1" }).getByLabel("Name", { exact: true }).fill("Bo");
    await card.getByRole("group", { name: "Companions 1" }).getByLabel("Age optional").fill("7.5");
    await card.getByText("Companions", { exact: true }).scrollIntoViewIfNeeded();
    await page.shot("24 a form");
    await card.getByRole("button", { name: "Send" }).click();
    const want = { name: "Ann Lee", email: "ann@example.com", guests: 2, from: "2027-03-04", room: "Double", breakfast: true, address: { street: "1 Main Street", city: "Oslo" }, wishes: ["A quiet room", "Tea"], companions: [{ name: "Bo", age: 7.5 }] };
    await page.answer("To booking you said");
    await page.idle(); // to the last word
    const said = await page.locator(".message.assistant").last().innerText();
    assert.deepEqual(JSON.parse(/said (.*)\.$/.exec(said.trim())[1]), want);
    await card.waitFor({ state: "detached" });
  });

  on.inTab("several questions are answered together, and each can be changed until then", async (page) => {
    await page.goto(`${clerk.url}/?agent=/survey`);
    await page.say("Ask me");
    const card = (name) => page.getByRole("region", { name: `Waits for your decision: ${name}` });
    await page.getByText("3 decisions are asked for").waitFor();
    await card("Which colour?").getByLabel("Answer").selectOption("red");
    await card("Which colour?").getByRole("button", { name: "Send" }).click();
    await page.getByText("1 of 3 decided").waitFor();
    await until("the focus to be at the next question", () => card("How many?").getByLabel("Answer").evaluate((f) => f === document.activeElement));
    await card("Anything else?").getByRole("button", { name: "Do not answer" }).click();
    await page.shot("25 several questions");
    await page.getByRole("button", { name: "Change: Which colour?" }).click();
    await card("Which colour?").getByLabel("Answer").selectOption("blue");
    await card("Which colour?").getByRole("button", { name: "Send" }).click();
    await card("How many?").getByLabel("Answer").fill("3");
    await page.keyboard.press("Enter");
    await page.answer("To color you said");
    await page.idle();
    assert.deepEqual((await page.locator(".message.assistant").last().innerText()).split(/\n+/), ['To color you said "blue".', "To count you said 3.", "To words you said nothing."]);
  });

  on.inTab(
    "tools of one turn are decided one by one, some yes and some no, and wrong arguments are asked for again",
    async (page) => {
      await page.goto(on.at("trip"));
      const calls = [
        ["book_hotel", { hotel: { name: "Miramar", nights: 2 } }],
        ["book_train", { train: { from: "Oslo", to: "Bergen" } }],
        ["send_postcard", { to: "Bo", text: "See you" }],
      ];
      await page.say(calls.map(([name, args]) => `call ${name} ${JSON.stringify(args)}`).join("\n"));
      await page.locator(".approval").nth(2).waitFor();
      const card = (text) => page.locator(".approval", { hasText: text });
      // Each shows what it would change itself, and nothing of the others.
      assert.match(await card("Miramar").innerText(), /Nights/);
      assert.doesNotMatch(await card("Miramar").innerText(), /Bergen/);
      assert.match(await card("Bergen").innerText(), /Oslo/);
      assert.match(await card("See you").innerText(), /Bo/);
      await page.reload();
      await page.locator(".approval").nth(2).waitFor();
      assert.doesNotMatch(await card("Miramar").innerText(), /Bergen/);
      await card("Bergen").getByRole("button", { name: "Reject" }).click();
      await card("See you").getByRole("button", { name: "Approve" }).click();
      await card("Miramar").getByRole("button", { name: "Edit", exact: true }).click();
      // The form is the tool's schema's, and says what it knows.
      await field(page, "Nights").fill("0");
      await field(page, "Board optional").selectOption("half");
      await page.getByRole("button", { name: "Approve this version" }).click();
      await page.getByText("At least 1.").waitFor();
      await page.shot("26 several approvals");
      // The server knows the rest.
      await field(page, "Nights").fill("13");
      await page.getByRole("button", { name: "Approve this version" }).click();
      await page.locator(".banner", { hasText: "APPROVAL_RESUME_INVALID_RESPONSE" }).waitFor();
      await page.locator(".approval").nth(2).waitFor();
      await page.idle();
      await card("Bergen").getByRole("button", { name: "Reject" }).click();
      await card("See you").getByRole("button", { name: "Approve" }).click();
      await card("Miramar").getByRole("button", { name: "Edit", exact: true }).click();
      await field(page, "Nights").fill("3");
      await field(page, "Board optional").selectOption("full");
      await page.getByRole("button", { name: "Approve this version" }).click();
      await page.locator(".approval").first().waitFor({ state: "detached" });
      await page.idle();
      await page.value("Nights").getByText("3").waitFor();
      await page.value("Board").getByText("full").waitFor();
      assert.equal(await page.getByRole("treeitem", { name: "Train: null" }).count(), 1, "what was rejected is taken back");
      assert.equal(await page.locator(".tag.predicted, [data-predicted=true], .banner").count(), 0);
    },
  );

  on.inTab("what is written before the thread is there goes out as soon as it is", async (page, t) => {
    const url = await on.thread("notes", "early", { title: "here" });
    let open;
    const held = new Promise((resolve) => (open = resolve));
    t.after(() => open());
    await page.route(/\/threads\/early$/, async (route) => (await held, route.continue()));
    await page.goto(url);
    await page.getByLabel("Message", { exact: true }).fill("What can you do?");
    await page.keyboard.press("Enter");
    await page.getByText("Your message goes out as soon as it is here").waitFor();
    assert.equal(await page.getByLabel("Message", { exact: true }).inputValue(), "What can you do?");
    assert.equal(await page.locator(".message").count(), 0);
    open();
    await page.answer("scripted model");
    await page.idle();
    assert.equal(await page.locator(".message.user").count(), 1);
    assert.equal(await page.getByLabel("Message", { exact: true }).inputValue(), "");
    assert.equal(await page.getByText("Your message goes out").count(), 0);
  });
});
