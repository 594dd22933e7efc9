// A call that somebody has to decide about: denied once, allowed once, and still waiting after the page was loaded
// again. Which files are there then is looked at by whoever started this.

import { quiet, say, visit } from "../hands.mjs";

export default async function approve(world) {
  const { assert, model } = world;
  const page = await visit(world, await world.fresh());
  await page.locator("#agent").selectOption("porter");
  const write = (path) => ({ call: [["write", { path, content: "x\u202ey" }]] });

  model.script(write("docs/no.md"), { say: "I may not." });
  await say(page, "write a page");
  const card = page.locator(".approval:not(.decided)");
  await card.waitFor();
  assert.match(await card.innerText(), /write[^]*docs\/no\.md[^]*⟨U\+202E⟩/, "what cannot be seen is made visible");
  assert.equal(await page.evaluate(() => document.activeElement.id), "say", "a question takes no focus");
  await page.locator("#timeline", { hasText: "waits for you" }).waitFor();
  await page.locator(".session", { hasText: "waits for you" }).waitFor();
  await card.getByRole("button", { name: "Deny" }).click();
  await page.locator("#log", { hasText: "I may not." }).waitFor();
  await quiet(page);
  assert.match(await page.locator("#timeline li").last().innerText(), /⊘/);

  model.script(write("docs/yes.md"), { say: "It is written." });
  await say(page, "write another page");
  await card.waitFor();
  await page.reload();
  await card.waitFor();
  assert.equal(await card.count(), 1);
  // Not before somebody can have read it.
  const allow = card.getByRole("button", { name: "Allow once" });
  await allow.click();
  await page.locator("#log", { hasText: "It is written." }).waitFor();
  await quiet(page);
  assert.equal(await page.locator(".approval").innerText(), "Allowed: write");

  // Somebody who stops a run needs not decide.
  model.script(write("docs/stopped.md"));
  await say(page, "and another");
  await card.waitFor();
  await page.locator("#stop").click();
  await page.locator("#log .failed", { hasText: "cancelled" }).waitFor();
  await quiet(page);
  assert.equal(await card.count(), 0);
}
