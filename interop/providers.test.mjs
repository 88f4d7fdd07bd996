// Every provider of real models, through the official client: the recipe grows,
// is changed on the client's state, and arrives as the model wrote it.
import test, { after, before } from "node:test";
import assert from "node:assert/strict";
import { official, shadowStates, start, turn } from "./lib.mjs";

let model, server;
before(async () => {
  model = await start("fakeopenai", ["--cut", "7"]);
  server = await start("providers", [model.url]);
});
after(async () => {
  await server.stop();
  await model.stop();
});

for (const path of ["chat", "responses", "azure", "azure_old", "foundry"]) {
  test(path, async () => {
    const client = official(`${server.url}/${path}`);
    const run = await turn(client, "I want to make a classic Italian pasta carbonara");
    assert.deepEqual(run.warnings, []);
    assert.equal(run.types.at(-1), "RUN_FINISHED", JSON.stringify(run.events.at(-1)));
    assert.ok(run.types.filter((t) => t === "STATE_DELTA").length > 5, "the recipe grows");
    const states = shadowStates(run.events);
    const args = JSON.parse(run.events.filter((e) => e.type === "TOOL_CALL_ARGS").map((e) => e.delta).join(""));
    assert.deepEqual(states.at(-1).recipe, args.recipe);
    assert.ok(run.events.at(-1).usage?.[0].inputTokens > 0, "usage is counted");

    const edited = structuredClone(client.agent.state);
    edited.recipe.ingredients.push({ icon: "🥔", name: "Potatoes", amount: "12" });
    client.agent.setState(edited);
    await turn(client, "Make it vegetarian");
    assert.ok(client.agent.state.recipe.ingredients.some((i) => i.name === "Potatoes"), "the model saw the edit");
    assert.ok(client.agent.state.recipe.special_preferences.includes("Vegetarian"));
  });
}
