// The state as a tree: with the keyboard alone, and as a screen reader gets it.
import { describe } from "node:test";
import assert from "node:assert/strict";
import { until } from "../testing/browser.mjs";
import { agentsFile, slow, stage } from "../testing/stage.mjs";

const on = stage("--agents", agentsFile);

const trip = {
  title: "Lisbon",
  done: false,
  people: [
    { name: "Ann", age: 41 },
    { name: "Bo", age: 7 },
    { name: "Cy" },
  ],
  packing: ["Hat", "Book", "Shoes"],
  plan: { days: [{ city: "Sintra", seen: ["Pena", "Moors"] }] },
};

/** The name of the item that has the focus; null where none has it. */
const focused = (page) => page.evaluate(() => (document.activeElement.role === "treeitem" ? document.activeElement.ariaLabel : null));

/** Waits until an item of this name has the focus. */
async function stands(page, name) {
  let at;
  const holds = async () => (at = await focused(page)) === name;
  await until("the focus", holds).catch(() => assert.equal(at, name));
}

/** Goes down to an item, from the first. */
async function down(page, name) {
  await page.keyboard.press("Home");
  for (let i = 0; i < 300 && (await focused(page)) !== name; i++) await page.keyboard.press("ArrowDown");
  assert.equal(await focused(page), name);
}

async function keys(page, ...names) {
  for (const name of names) await page.keyboard.press(name);
}

/** Opens a thread with a state, and comes to its tree with Tab. */
async function open(page, id, state = trip) {
  await page.goto(await on.thread("notes", id, state));
  await page.getByRole("tree").waitFor();
  await page.locator(".status[data-tone=live]:visible").first().waitFor();
  await page.locator(".tree .lock").first().waitFor(); // what may be changed is known
  await page.getByRole("button", { name: "Undo agent" }).focus();
  await page.keyboard.press("Tab");
}

describe("the state as a tree", { concurrency: 3 }, () => {
  on.inTab("is one to a screen reader: levels, what is open, and cells that say their column", async (page) => {
    await open(page, "spoken");
    const button = (name, by) => `${" ".repeat(by)}- button "${name}"`;
    const cells = (n, by, ...list) => [`${" ".repeat(by)}- group:`, ...list.map(([name, v]) => `${" ".repeat(by + 2)}- 'treeitem "${name}: ${v}" [level=3]': ${/^\d/.test(v) ? `"${v}"` : v}`), button(`Remove row ${n}`, by + 2)];
    const leaf = (value, n, by = 6) => [`${" ".repeat(by)}- treeitem "${value}" [level=${by / 4 + 0.5}]:`, `${" ".repeat(by + 2)}- text: ${value}`, button(`Remove Item ${n}`, by + 2)];
    assert.deepEqual((await page.getByRole("tree").ariaSnapshot()).split("\n").slice(0, -1), [ // the last line is of the keys
      `- tree "State":`,
      `  - treeitem "Totals, 1 value, read only" [expanded] [level=1]:`,
      `    - group:`,
      `      - 'treeitem "Cost: 310, read only" [level=2]': "310"`,
      `  - 'treeitem "Title: Lisbon" [level=1]': Lisbon`,
      `  - 'treeitem "Done: no" [level=1]': "no"`,
      `  - treeitem "People, 3 values" [expanded] [level=1]:`,
      button("Add to People", 4),
      `    - group:`,
      `      - treeitem "Ann, 41" [level=2]:`,
      ...cells(1, 8, ["Name", "Ann"], ["Age", "41"]),
      `      - treeitem "Bo, 7" [level=2]:`,
      ...cells(2, 8, ["Name", "Bo"], ["Age", "7"]),
      `      - treeitem "Cy" [level=2]:`,
      ...cells(3, 8, ["Name", "Cy"]),
      `  - treeitem "Packing, 3 values" [expanded] [level=1]:`,
      button("Add to Packing", 4),
      `    - group:`,
      ...leaf("Hat", 1),
      ...leaf("Book", 2),
      ...leaf("Shoes", 3),
      `  - treeitem "Plan, 1 value" [expanded] [level=1]:`,
      button("Add to Plan", 4),
      `    - group:`,
      `      - treeitem "Days, 1 value" [expanded] [level=2]:`,
      button("Add to Days", 8),
      button("Remove Days", 8),
      `        - group:`,
      `          - treeitem "Item 1, 2 values" [expanded] [level=3]:`,
      button("Add to Item 1", 12),
      button("Remove Item 1", 12),
      `            - group:`,
      `              - 'treeitem "City: Sintra" [level=4]':`,
      `                - text: Sintra`,
      button("Remove City", 16),
      `              - treeitem "Seen, 2 values" [expanded] [level=4]:`,
      button("Add to Seen", 16),
      button("Remove Seen", 16),
      `                - group:`,
      ...leaf("Pena", 1, 18),
      ...leaf("Moors", 2, 18),
    ]);
    // Where an item stands among its siblings is said of each.
    const places = await page.getByRole("treeitem").evaluateAll((all) => all.map((i) => `${i.ariaLabel.split(/[:,]/)[0]} ${i.ariaPosInSet}/${i.ariaSetSize}`));
    assert.deepEqual(places.slice(0, 9), ["Totals 1/6", "Cost 1/1", "Title 2/6", "Done 3/6", "People 4/6", "Ann 1/3", "Name 1/2", "Age 2/2", "Bo 2/3"]);
  });

  on.inTab("is one stop for Tab, and has the keys of trees", async (page) => {
    await open(page, "moves");
    await stands(page, "Totals, 1 value, read only");
    assert.equal(await page.locator("[role=tree] [tabindex='0']").count(), 1);
    await keys(page, "ArrowDown");
    await stands(page, "Cost: 310, read only");
    await keys(page, "Enter", "F2", "Delete"); // not for this person
    await stands(page, "Cost: 310, read only");
    await keys(page, "ArrowLeft");
    await stands(page, "Totals, 1 value, read only");
    await keys(page, "ArrowLeft");
    assert.equal(await page.getByRole("treeitem", { name: "Cost" }).count(), 0, "closed");
    await keys(page, "ArrowRight", "ArrowRight");
    await stands(page, "Cost: 310, read only");
    await keys(page, "ArrowUp", "ArrowUp");
    await stands(page, "Totals, 1 value, read only");

    // Rows below each other, cells beside each other, a column downwards.
    await keys(page, "p");
    await stands(page, "People, 3 values");
    await keys(page, "ArrowRight");
    await stands(page, "Ann, 41");
    await keys(page, "ArrowRight", "ArrowRight");
    await stands(page, "Age: 41");
    await keys(page, "ArrowRight", "ArrowDown");
    await stands(page, "Age: 7");
    await keys(page, "ArrowDown"); // which has no age
    await stands(page, "Cy");
    await keys(page, "ArrowDown");
    await stands(page, "Packing, 3 values");
    await keys(page, "ArrowUp", "ArrowUp", "ArrowRight", "ArrowRight", "Home");
    await stands(page, "Name: Bo");
    await keys(page, "ArrowLeft");
    await stands(page, "Bo, 7");
    await keys(page, "ArrowLeft");
    await stands(page, "People, 3 values");
    await page.shot("20 tree by keyboard");

    await keys(page, "End");
    await stands(page, "Moors");
    await keys(page, "Home");
    await stands(page, "Totals, 1 value, read only");
    await keys(page, "End", "Tab");
    assert.equal(await page.evaluate(() => document.activeElement.textContent.trim()), "Add a value");
    await keys(page, "Shift+Tab");
    await stands(page, "Moors");
  });

  on.inTab("is changed with the keyboard alone", async (page) => {
    await open(page, "changes");
    await down(page, "Title: Lisbon");
    await keys(page, "Enter");
    await page.locator(".editor textarea:focus").waitFor();
    await page.keyboard.type("Porto");
    await keys(page, "Enter");
    await stands(page, "Title: Porto");
    await keys(page, "F2");
    await page.locator(".editor textarea:focus").waitFor();
    await page.keyboard.type("nobody's");
    await keys(page, "Escape");
    await stands(page, "Title: Porto");
    await keys(page, "ArrowDown", "Space");
    await stands(page, "Done: yes");
    assert.equal(await page.getByRole("treeitem", { name: "Done" }).getAttribute("aria-checked"), "true");

    // A cell, with what does not fit it.
    await keys(page, "ArrowDown", "ArrowRight", "ArrowRight", "ArrowRight", "Enter");
    await page.locator(".editor textarea:focus").waitFor();
    await page.keyboard.type("old");
    await keys(page, "Enter");
    await page.getByText("This is a number.").waitFor();
    await page.locator(".editor textarea").fill("42");
    await keys(page, "Enter");
    await stands(page, "Age: 42");

    // What is removed leaves the focus to what takes its place, and comes back.
    await down(page, "Book");
    await keys(page, "Delete");
    await stands(page, "Shoes");
    await page.locator(".notice", { hasText: "Packing › 2 is removed" }).waitFor();
    await keys(page, "Delete");
    await stands(page, "Hat");
    await keys(page, "Control+z");
    await stands(page, "Shoes");
    await keys(page, "+");
    await page.locator(".editor textarea:focus").waitFor();
    await page.keyboard.type("Map");
    await keys(page, "Enter");
    await stands(page, "Map");
    await page.getByRole("button", { name: "Bring it back" }).focus(); // the other one went with its removal
    await keys(page, "Enter");
    await stands(page, "Book");
    await keys(page, "ArrowLeft", "ArrowUp", "Insert"); // one more like the last row
    await stands(page, "0");
    await keys(page, "ArrowRight", "Enter");
    await page.locator(".editor textarea:focus").waitFor();
    await page.keyboard.type("Di");
    await keys(page, "Enter");
    await stands(page, "Name: Di");

    // A member has a name, and Escape leaves the form.
    await keys(page, "Control+End", "ArrowLeft", "ArrowLeft", "ArrowLeft", "+");
    await page.getByLabel("Name").and(page.locator(":focus")).waitFor();
    await keys(page, "Escape");
    await stands(page, "Item 1, 2 values");
    await keys(page, "+");
    await page.getByLabel("Name").and(page.locator(":focus")).waitFor();
    await page.keyboard.type("nights");
    await keys(page, "Tab");
    await page.keyboard.type("2");
    await keys(page, "Enter");
    await stands(page, "Nights: 2");
  });

  on.inTab("brings back in their order what was removed, also what the server has not answered yet", async (page) => {
    await open(page, "back");
    let answer;
    const answered = new Promise((resolve) => (answer = resolve));
    await page.route("**/threads/back/state", async (route) => {
      const response = await route.fetch();
      await answered;
      await route.fulfill({ response });
    });
    await down(page, "Book");
    await keys(page, "Delete");
    await stands(page, "Shoes");
    await keys(page, "Delete");
    await stands(page, "Hat");
    // The stream was faster than the answers: nothing is said yet.
    assert.equal(await page.locator(".notice").count(), 0);
    await keys(page, "Control+z", "Control+z");
    answer();
    const packing = page.getByRole("treeitem", { name: "Packing" }).getByRole("treeitem");
    const names = () => packing.evaluateAll((items) => items.map((i) => i.ariaLabel));
    await until("all to be back", async () => (await names()).join() === "Hat,Book,Shoes");
    await stands(page, "Book");
    await keys(page, "Control+z"); // of nothing
    assert.equal(await page.getByRole("button", { name: "Bring it back" }).count(), 0);
    assert.deepEqual((await on.state("notes", "back")).packing, trip.packing);
  });

  on.inTab("keeps the focus where the person is while others change what is there", async (page) => {
    await open(page, "others");
    await down(page, "Title: Lisbon");
    await on.change("notes", "others", { title: "Faro", packing: ["Hat", "Book"] });
    await stands(page, "Title: Faro");
    // The item itself goes: to the last that is left, then to the list.
    await down(page, "Book");
    await on.change("notes", "others", { packing: ["Hat"] });
    await stands(page, "Hat");
    await on.change("notes", "others", { packing: [] });
    await stands(page, "Packing, empty");
    await on.change("notes", "others", { packing: null });
    await stands(page, "Plan, 1 value");
    // A table stops being one: the same place, in another element.
    await down(page, "Ann, 41");
    await keys(page, "ArrowRight");
    await stands(page, "Name: Ann");
    await on.change("notes", "others", { people: [{ name: "Ann", age: 41, likes: ["tea"] }] });
    await page.locator("li[role=treeitem]").and(page.getByRole("treeitem", { name: "Name: Ann" })).waitFor();
    await stands(page, "Name: Ann");
    // Who is somewhere else is left there, whatever goes.
    await page.getByLabel("Message", { exact: true }).focus();
    await on.change("notes", "others", { people: null });
    await page.getByRole("treeitem", { name: "Name: Ann" }).waitFor({ state: "detached" });
    assert.equal(await page.evaluate(() => document.activeElement.id), "message");
    // A click elsewhere saves what is being typed, and the focus stays at the click.
    await page.value("Title").click();
    await page.locator(".editor textarea").fill("Evora");
    await page.getByLabel("Message", { exact: true }).click();
    await page.value("Title").getByText("Evora").waitFor();
    assert.equal(await page.evaluate(() => document.activeElement.id), "message");
  });

  on.inTab("keeps the focus while the model writes", async (page, t) => {
    const model = await slow(t);
    await page.goto(`${model.url}/?agent=/shared_state`);
    model.hold(40);
    await page.say("I want to make a classic Italian pasta carbonara");
    await page.locator("tbody").nth(1).waitFor();
    await page.getByRole("treeitem", { name: /^Recipe/ }).focus();
    await keys(page, "i", "ArrowRight", "ArrowRight", "ArrowRight");
    await stands(page, "Name: Spaghetti");
    const before = await page.getByRole("treeitem").count();
    await keys(page, "Enter");
    await page.locator(".editor textarea:focus").waitFor();
    await page.keyboard.type("Linguine");
    await keys(page, "Enter");
    await page.getByText("The agent is still writing this").waitFor();
    await page.getByRole("button", { name: "Leave it" }).press("Enter");
    await stands(page, "Name: Spaghetti");
    model.release();
    await page.answer("Here's your recipe!");
    await page.idle();
    await stands(page, "Name: Spaghetti");
    assert.ok((await page.getByRole("treeitem").count()) > before);
  }, { ignore: [/409 \(Conflict\)/] });

  on.inTab("stays small where the state is large, and opens by keyboard", async (page) => {
    const rows = Array.from({ length: 3000 }, (_, i) => ({ id: i, city: `City ${i}`, at: i * 2 }));
    const table = Object.fromEntries(Array.from({ length: 40 }, (_, i) => [`part ${i}`, Object.fromEntries(Array.from({ length: 25 }, (_, j) => [`v${j}`, i * j]))]));
    let deep = { end: "the bottom" };
    for (let i = 60; i > 0; i--) deep = { [`level ${i}`]: deep };
    await open(page, "large", { rows, table, list: Array.from({ length: 120 }, (_, i) => `Line ${i + 1}`), deep });
    const items = () => page.getByRole("treeitem").count();
    assert.ok((await items()) < 900, `${await items()} items of 10 000 values`);
    await page.shot("21 a large state");
    // What is closed is open a key later; what is long goes on where it stopped.
    await down(page, "List, 120 values");
    if ((await page.getByRole("treeitem", { name: "List" }).getAttribute("aria-expanded")) === "false") await keys(page, "Enter");
    await keys(page, "ArrowRight");
    await page.getByRole("treeitem", { name: "20 more, Enter shows them", exact: true }).press("Enter");
    await stands(page, "Line 101");
    assert.equal(await page.getByRole("treeitem", { name: /^Line / }).count(), 120);
    await page.getByRole("treeitem", { name: "Deep, 1 value" }).focus();
    for (let i = 1; i <= 60; i++) {
      await keys(page, "ArrowRight");
      if ((await focused(page)) !== `Level ${i}, 1 value`) await keys(page, "ArrowRight");
      await stands(page, `Level ${i}, 1 value`);
    }
    await keys(page, "ArrowRight", "ArrowRight");
    await stands(page, "End: the bottom");
    const room = await page.getByRole("treeitem", { name: "End: the bottom" }).evaluate((i) => i.clientWidth);
    assert.ok(room > 200, `${room} pixels are left for a value at the bottom`);
    await page.shot("22 a deep state");
    const { width, content } = await page.evaluate(() => ({ width: innerWidth, content: document.documentElement.scrollWidth }));
    assert.ok(content <= width);
  });

  for (const [what, options] of [
    ["light", {}],
    ["dark", { colorScheme: "dark" }],
    ["phone", { viewport: { width: 390, height: 800 }, deviceScaleFactor: 2, isMobile: true, hasTouch: true }],
  ]) {
    on.inTab(`whatever is in it, it looks like a page (${what})`, async (page) => {
      const word = "Donaudampfschifffahrtsgesellschaft".repeat(8);
      await page.goto(
        await on.thread("notes", `odd ${what}`, {
          [word]: word,
          long: "All of it is one paragraph. ".repeat(40),
          hebrew: "שלום עולם, זה טקסט מימין לשמאל (2026)!",
          arabic: { "العنوان": "قائمة المشتريات" },
          markup: "<b>not bold</b> & \u0000 \u202e reversed",
          empty: "",
          nothing: null,
          lists: [[], {}, [[1, 2], [3]]],
          wide: [{ name: word, note: "short", price: 12345678901234.5, ok: true, more: "שלום" }],
          number: 1e21,
        }),
      );
      await page.getByRole("heading", { name: "Notes" }).waitFor(); // an agent that the page has no words for
      await page.getByLabel("Message", { exact: true }).fill(`Say: ${word} and שלום עולם`);
      await page.getByRole("button", { name: "Send" }).click();
      await page.locator(".message.assistant .markdown").waitFor();
      await page.idle();
      await page.shot(`27 odd chat ${what}`);
      if (what === "phone") await page.locator(".tabbar").getByText("State").click();
      await page.getByRole("treeitem", { name: /^Hebrew/ }).waitFor();
      assert.equal(await page.getByRole("treeitem", { name: /^Hebrew/ }).locator(".value").evaluate((v) => getComputedStyle(v).direction), "rtl");
      await page.shot(`28 odd state ${what}`);
      await page.getByRole("treeitem", { name: /^Number/ }).scrollIntoViewIfNeeded();
      await page.shot(`29 odd state below ${what}`);
      const wide = await page.evaluate(() => [document.documentElement, document.querySelector(".state")].filter((e) => e.scrollWidth > e.clientWidth + 1).map((e) => `${e.tagName} ${e.scrollWidth} > ${e.clientWidth}`));
      assert.deepEqual(wide, []);
    }, options);
  }
});
