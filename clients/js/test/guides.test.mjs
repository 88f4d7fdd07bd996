// The JavaScript of this package's README, of the main README and of the guides.
// Each block is type-checked as strictly as the package itself, with the official
// client's own types. A js block is a whole program and is run: it must print
// something, and what the text block right behind it says, if there is one; … there
// leaves lines out. A ts block is only type-checked.
//
// What needs CopilotKit cannot be checked here, because its packages take 800 MB.
// `make test-copilotkit` runs interop/copilotkit/runtime.mjs, so the guides may show
// lines of that program and nothing else.
import test, { after, before } from "node:test";
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { mkdir, mkdtemp, readFile, readdir, rm, writeFile } from "node:fs/promises";
import path from "node:path";
import { promisify } from "node:util";
import { fileURLToPath } from "node:url";
import { serve } from "../testing/server.mjs";

const root = path.resolve(path.dirname(fileURLToPath(import.meta.url)), "..");
const repository = path.resolve(root, "../..");
const run = promisify(execFile);

const pages = ["README.md", "clients/js/README.md"];
for (const name of await readdir(path.join(repository, "docs"))) if (name.endsWith(".md")) pages.push(`docs/${name}`);

const blocks = [];
for (const page of pages) {
  const text = (await readFile(path.join(repository, page), "utf8")).replaceAll("\r\n", "\n");
  for (const match of text.matchAll(/^```(js|ts)\n(.*?)^```(?:\n\n```text\n(.*?)^```)?/gms)) {
    const [, language, source, output] = match;
    const line = text.slice(0, match.index).split("\n").length;
    blocks.push({ name: `${page}:${line}`, language, source, output, copilotkit: source.includes('from "@copilotkit/') });
  }
}
const ours = blocks.filter((b) => !b.copilotkit);

let server;
let folder;
before(async () => {
  server = await serve();
  // Inside the package, so that its own name leads to its own build.
  folder = await mkdtemp(path.join(root, "guides-"));
});
after(async () => {
  await server.stop();
  await rm(folder, { recursive: true });
});

test("there are programs", () => {
  assert.ok(blocks.filter((b) => b.language === "js" && !b.copilotkit).length >= 4);
  assert.ok(blocks.some((b) => b.language === "ts"));
  assert.ok(blocks.some((b) => b.copilotkit));
});

test("types", async () => {
  const dir = path.join(folder, "types");
  await mkdir(dir);
  const files = ours.map((b, i) => ({ ...b, file: `guide${i}.mts` }));
  for (const { file, source } of files) await writeFile(path.join(dir, file), source);
  const compilerOptions = { noUnusedLocals: false, noUnusedParameters: false }; // a snippet ends before it uses everything
  await writeFile(path.join(dir, "tsconfig.json"), JSON.stringify({ extends: "../../tsconfig.json", compilerOptions, include: ["*.mts"] }));
  await run(path.join(root, "node_modules/.bin/tsc"), ["-p", dir]).catch(({ stdout }) => {
    assert.fail(files.reduce((text, { file, name }) => text.replaceAll(file, `${name} `), stdout));
  });
});

for (const { name, source, output } of ours.filter((b) => b.language === "js")) {
  test(name, async () => {
    const file = path.join(folder, `${name.replaceAll(/\W+/g, "-")}.mjs`);
    await writeFile(file, source.replaceAll("http://127.0.0.1:8888", server.url));
    const { stdout, stderr } = await run(process.execPath, [file], { timeout: 60_000 });
    assert.equal(stderr, "");
    if (output === undefined) return assert.notEqual(stdout, "");
    const [first, last] = output.split("…\n"); // between them is more of the same
    if (last === undefined) return assert.equal(stdout, output);
    assert.equal(stdout.slice(0, first.length), first);
    assert.equal(stdout.slice(-last.length), last);
  });
}

test("CopilotKit", async () => {
  const runtime = new Set((await readFile(path.join(repository, "interop/copilotkit/runtime.mjs"), "utf8")).split("\n"));
  for (const { name, source } of blocks.filter((b) => b.copilotkit)) {
    for (const line of source.trimEnd().split("\n")) {
      // Which agents, and where the runtime listens, is the reader's own.
      if (line === "" || runtime.has(line) || /^const agents = |^app\.listen\(/.test(line)) continue;
      assert.fail(`${name}: interop/copilotkit/runtime.mjs, which is tested, does not have the line\n${line}`);
    }
  }
});
