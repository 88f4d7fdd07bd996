// Takes the pictures of the README anew: `npm run pictures`, with the binaries in
// bin/ that scripts/browser.sh builds.
import { mkdirSync } from "node:fs";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { gated, launch, serve } from "./browser.mjs";

const folder = path.join(path.dirname(fileURLToPath(import.meta.url)), "../../docs/img");
mkdirSync(folder, { recursive: true });
const [server, model, browser] = [await serve(), await gated(), await launch()];
const size = { viewport: { width: 1280, height: 760 }, reducedMotion: "no-preference" };
const take = (page, name) => page.screenshot({ path: path.join(folder, `${name}.png`) });

let page = await browser.tab(size);
await page.goto(`${model.url}/?agent=/shared_state`);
model.hold(44);
await page.say("I want to make a classic Italian pasta carbonara");
await page.locator(".side-pane ol li").nth(1).waitFor();
await page.waitForTimeout(1300);
await take(page, "page-recipe");
model.release();
await page.answer("Here's your recipe!");

page = await browser.tab(size);
await page.goto(`${server.url}/?agent=/create_document`);
await page.say("Write a short story about a fox called Mira");
await page.getByRole("button", { name: "Approve" }).click();
await page.answer("updated");
await page.idle();
await page.say("Make it longer");
await page.locator(".approval ins").first().waitFor();
await page.waitForTimeout(2500); // until what has just changed no longer shines
await take(page, "page-approval");

page = await browser.tab({ ...size, colorScheme: "dark" });
await page.goto(`${server.url}/?agent=/shared_state`);
await page.say("I want to make a classic Italian pasta carbonara");
await page.answer("Here's your recipe!");
await page.idle();
await page.change("Title", "Our carbonara");
await page.value("Title").getByText("Our carbonara").waitFor();
await page.getByRole("tab", { name: "Timeline" }).click();
await page.locator(".event", { hasText: "State changed" }).first().click();
await page.waitForTimeout(2500);
await take(page, "page-timeline");

await browser.close();
await Promise.all([server.stop(), model.stop()]);
