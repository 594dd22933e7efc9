// The server is killed in the middle of a reply: the page says so, waits, and goes on when the run does.

import { answers, quiet, say, visit } from "../hands.mjs";
import { Hold } from "../model.mjs";

export default async function crash(world) {
  const { assert, model, seen } = world;
  const page = await visit(world, await world.fresh());
  await page.locator("#agent").selectOption("porter");
  const hold = new Hold();
  model.script(
    { say: "I look.", call: [["read", { path: "README.md" }]] },
    { say: ["Half of", hold] },
    // The one who goes on asks again: what was not whole does not count.
    { say: "The whole of it." },
  );
  await say(page, "go");
  await hold.reached;
  await page.locator("#log", { hasText: "Half of" }).waitFor();
  await world.crash();
  hold.release();
  await page.locator("#log", { hasText: "The whole of it." }).waitFor();
  await quiet(page);
  assert.deepEqual((await answers(page)).map((text) => text.trim()), ["I look.", "The whole of it."]);
  assert.equal(await page.locator("#timeline .run > .calls > li").count(), 1);
  assert.match(await page.locator("#timeline .mark").first().innerText(), /✓/);
  seen.errors.splice(0).forEach((text) => assert.match(text, /ERR_(CONNECTION|INCOMPLETE|EMPTY)|Failed to fetch/));
}
