// The programs of the README, run as they are.
import test, { after, before } from "node:test";
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import path from "node:path";
import { promisify } from "node:util";
import { fileURLToPath } from "node:url";
import { serve } from "../testing/server.mjs";

const root = path.resolve(path.dirname(fileURLToPath(import.meta.url)), "..");
const run = promisify(execFile);
let server;
let folder;
before(async () => {
  server = await serve();
  // Inside the package, so that its own name leads to its own build.
  folder = await mkdtemp(path.join(root, "readme-"));
});
after(async () => {
  await server.stop();
  await rm(folder, { recursive: true });
});

const text = await readFile(path.join(root, "README.md"), "utf8");
const blocks = [...text.matchAll(/^## (.+?)$|^```js\n(.*?)^```(?:\n\n```text\n(.*?)^```)?/gms)];
let heading = "";
let programs = 0;
for (const [, title, source, output] of blocks) {
  if (title) {
    heading = title;
    continue;
  }
  programs++;
  test(heading, async () => {
    const file = path.join(folder, `${heading.replaceAll(/\W+/g, "-")}.mjs`);
    await writeFile(file, source.replaceAll("http://127.0.0.1:8888", server.url));
    const { stdout, stderr } = await run(process.execPath, [file]);
    assert.equal(stderr, "");
    if (output !== undefined) assert.equal(stdout, output);
    else assert.match(stdout, /done, with Plan a birthday party/);
  });
}
test("there are programs", () => assert.equal(programs, 3));
