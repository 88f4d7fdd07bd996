// Two tabs on one thread, each behind a wire that is late by chance and breaks
// now and then, and a person at each who does whatever comes to mind. When all of it
// is over, both show what the server has, and nothing is left hanging.
//
//   LOCKSTEP_LONG=1 node --test test/chance.test.mjs
//   LOCKSTEP_LONG=1 SEED=7 ROUNDS=1 node --test test/chance.test.mjs     that one again
import { describe } from "node:test";
import assert from "node:assert/strict";
import net from "node:net";
import { until } from "../testing/browser.mjs";
import { agentsFile, stage } from "../testing/stage.mjs";

const long = process.env.LOCKSTEP_LONG === "1";
const first = Number(process.env.SEED ?? 1);
const rounds = Number(process.env.ROUNDS ?? 12);
const steps = 40;
const on = long ? stage("--agents", agentsFile) : undefined;

/** Numbers from 0 to 1 that follow from a seed (mulberry32). */
function chance(seed) {
  return () => {
    seed = (seed + 0x6d2b79f5) | 0;
    let n = Math.imul(seed ^ (seed >>> 15), 1 | seed);
    n = (n + Math.imul(n ^ (n >>> 7), 61 | n)) ^ n;
    return ((n ^ (n >>> 14)) >>> 0) / 2 ** 32;
  };
}

/** A wire on which each piece, either way, takes up to `late` milliseconds; in order on each connection, and in no order between them. */
async function lateWire(target, random) {
  const { hostname, port } = new URL(target);
  const sockets = new Set();
  const own = { late: 120, cut: () => [...sockets].forEach((s) => s.destroy()) };
  const carry = (from, to) => {
    let before = Promise.resolve();
    from.on("data", (piece) => {
      const wait = random() * own.late;
      before = before.then(() => new Promise((resolve) => setTimeout(resolve, wait))).then(() => void (to.destroyed || to.write(piece)));
    });
    from.on("close", () => void before.then(() => to.destroy()));
  };
  const server = net.createServer((near) => {
    const far = net.connect(Number(port), hostname);
    for (const s of [near, far]) {
      sockets.add(s);
      s.on("close", () => sockets.delete(s));
      s.on("error", () => undefined);
    }
    carry(near, far);
    carry(far, near);
  });
  await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
  own.url = `http://127.0.0.1:${server.address().port}`;
  own.close = () => (own.cut(), new Promise((resolve) => server.close(resolve)));
  return own;
}

const soon = { timeout: 400 };
const button = (page, name) => page.getByRole("button", { name, exact: true }).first();

/** What a person may do. What is not there just now is not done. */
const deeds = {
  toggle: (page) => page.locator(".switch").first().click(soon),
  retitle: async (page, r) => {
    await page.value("Title").click(soon);
    await page.locator(".editor textarea").last().fill(`Title ${Math.floor(r() * 1000)}`, soon);
    if (r() < 0.7) await page.keyboard.press("Enter");
  },
  rename: async (page, r) => {
    await page.value("City").click(soon);
    await page.locator(".editor textarea").last().fill(`City ${Math.floor(r() * 1000)}`, soon);
    if (r() < 0.5) await page.keyboard.press("Enter");
  },
  remove: async (page, r) => {
    const items = page.getByRole("treeitem", { name: /^Packing/ }).getByRole("treeitem");
    const count = await items.count();
    if (count === 0) return;
    await items.nth(Math.floor(r() * count)).focus(soon);
    for (let n = r() < 0.3 ? 2 : 1; n > 0; n--) await page.keyboard.press("Delete");
  },
  restore: async (page) => {
    await page.getByRole("treeitem", { name: /^Packing/ }).focus(soon);
    await page.keyboard.press("Control+z");
  },
  add: async (page, r) => {
    await button(page, "Add to Packing").click(soon);
    await page.locator(".editor textarea").last().fill(`Thing ${Math.floor(r() * 1000)}`, soon);
    await page.keyboard.press("Enter");
  },
  hello: (page) => say(page, "Hello"),
  book: (page, r) => say(page, `call book_hotel {"hotel": {"name": "Hotel ${Math.floor(r() * 100)}", "nights": 2}}`),
  card: (page) => say(page, 'call send_postcard {"to": "Bo", "text": "See you"}'),
  approve: (page) => button(page, "Approve").click(soon),
  reject: (page) => button(page, "Reject").click(soon),
  stop: (page) => button(page, "Stop the agent").click(soon),
  undo: (page) => button(page, "Undo agent").click(soon),
  keep: (page, r) => button(page, r() < 0.5 ? "Keep mine" : "Take theirs").click(soon),
  away: async (page, r, wire, id) => {
    await button(page, "New").click(soon);
    await back(page, id);
  },
  reload: (page, r) => (r() < 0.5 ? page.reload({ waitUntil: "commit" }) : undefined),
  cut: (page, r, wire) => wire.cut(),
};

/** Goes to the thread as the browser's own buttons do. */
const back = (page, id) =>
  page.evaluate((thread) => {
    history.pushState(null, "", `?${new URLSearchParams({ agent: "/trip", thread })}`);
    dispatchEvent(new PopStateEvent("popstate"));
  }, id);

async function say(page, text) {
  await page.getByLabel("Message", { exact: true }).fill(text, soon);
  await page.keyboard.press("Enter");
}

/** The leaves of a document as the tree shows them, by place. */
function leaves(value, path = "") {
  if (typeof value === "object" && value !== null) return Object.entries(value).flatMap(([name, v]) => leaves(v, `${path}/${name}`));
  return [[path, value === "" ? "empty" : typeof value === "boolean" ? (value ? "yes" : "no") : String(value)]];
}

/** What a tab shows, in the server's terms. */
const shown = (page) =>
  page.evaluate(() => ({
    leaves: [...document.querySelectorAll(".side-pane [role=treeitem]:not([aria-expanded])")]
      .filter((i) => i.querySelector(":scope > .value, :scope > .switch"))
      .map((i) => [i.dataset.path, i.querySelector(":scope > .value, :scope > .switch").textContent]),
    asked: [...document.querySelectorAll(".message.user .bubble")].map((m) => m.textContent),
    answers: document.querySelectorAll(".message.assistant .markdown").length,
    live: document.querySelector(".status")?.dataset.tone,
    predicted: document.querySelectorAll("[data-predicted=true], .tag.predicted").length,
    held: [...document.querySelectorAll(".editor, .add-member, .approval, .banner[data-tone=warning]")].map((e) => e.className),
    disabled: [...document.querySelectorAll(".tools button:disabled, #message:disabled")].map((e) => e.ariaLabel ?? e.textContent),
    later: document.querySelector(".later")?.textContent,
  }));

function wanted({ state, messages }) {
  return {
    leaves: leaves(state).sort(),
    asked: messages.filter((m) => m.role === "user").map((m) => m.content),
    answers: messages.filter((m) => m.role === "assistant" && m.content).length,
    live: "live",
    predicted: 0,
    held: [],
    disabled: [],
    later: "",
  };
}

describe("whatever happens in whatever order", { skip: !long && "long: LOCKSTEP_LONG=1", timeout: 30 * 60_000 }, () => {
  if (!long) return;
  for (let seed = first; seed < first + rounds; seed++) {
    on.inTab(`two tabs end where the server is (seed ${seed})`, async (page, t) => {
      const random = chance(seed);
      const id = `chance ${seed}`;
      const url = new URL(await on.thread("trip", id, { title: "Lisbon", done: false, packing: ["Hat", "Book", "Shoes", "Map"], plan: { city: "Sintra" } }));
      const other = await on.browser.tab();
      t.after(() => other.context().close());
      const tabs = [];
      for (const tab of [page, other]) {
        const wire = await lateWire(url.origin, random);
        t.after(() => wire.close());
        await tab.goto(wire.url + url.pathname + url.search);
        tabs.push({ tab, wire });
      }
      const done = [];
      await Promise.all(
        tabs.map(async ({ tab, wire }, n) => {
          const own = chance(seed * 100 + n);
          for (let i = 0; i < steps; i++) {
            const names = Object.keys(deeds);
            const name = names[Math.floor(own() * names.length)];
            done.push(`${n}: ${name}`);
            await Promise.resolve(deeds[name](tab, own, wire, id)).catch(() => done.push(`${n}: ${name} was not possible`));
          }
        }),
      );
      const server = async () => (await fetch(`${url.origin}/trip/threads/${encodeURIComponent(id)}`)).json();
      for (const { tab, wire } of tabs) {
        wire.late = 0;
        if (new URL(tab.url()).searchParams.get("thread") !== id) await back(tab, id);
      }
      let seen;
      const settled = async () => {
        // What still asks for something is answered; what is left over is put away.
        for (const { tab } of tabs) {
          for (const name of ["Reject", "Take theirs", "Leave it"]) await button(tab, name).click({ timeout: 50 }).catch(() => undefined);
          if ((await tab.locator(".editor textarea").count()) > 0) await tab.locator(".editor textarea").first().press("Escape", soon).catch(() => undefined);
        }
        const thread = await server();
        const want = wanted(thread);
        seen = [];
        for (const { tab } of tabs) {
          const got = await shown(tab);
          got.leaves.sort();
          seen.push([got, want]);
        }
        return thread.activeRun === null && seen.every(([got]) => JSON.stringify(got) === JSON.stringify(want));
      };
      try {
        await until("the tabs to show what the server has", settled, 30_000);
      } catch {
        await page.shot(`chance ${seed} a`);
        await other.shot(`chance ${seed} b`);
        for (const [got, want] of seen) assert.deepEqual(got, want, `seed ${seed}\n${done.join("\n")}`);
        assert.fail(`seed ${seed}: a run that does not end`);
      }
      for (const { tab } of tabs) {
        // The browser itself writes of requests that were refused or cut.
        tab.said.splice(0, Infinity, ...tab.said.filter((s) => !/net::ERR_|status of (404|409|422)/.test(s)));
        assert.deepEqual(tab.said, [], `seed ${seed}\n${done.join("\n")}`);
      }
    });
  }
});
