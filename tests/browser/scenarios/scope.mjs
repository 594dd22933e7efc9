// An agent asks another: the tree of calls while it works, the ceilings of both with what was cut, and what it all cost.

import { quiet, say, visit } from "../hands.mjs";
import { Hold } from "../model.mjs";

export default async function scope(world) {
  const { assert, model } = world;
  const page = await visit(world, await world.fresh());
  await page.locator("#agent").selectOption("coordinator");
  const hold = new Hold();
  model.script(
    { call: [["task", { agent: "worker", prompt: "write it", description: "a file" }]] },
    { call: [["write", { path: "new.txt", content: "x" }]] },
    { say: ["I tried", hold, ", and may not."] },
    { say: "It was tried." },
  );
  await say(page, "have it written");
  await hold.reached;

  // Below the call that asked stands the agent that was asked, with its own call and what was cut.
  const agent = page.locator("#timeline li.agent");
  await agent.locator(".name", { hasText: "worker" }).waitFor();
  assert.match(await agent.locator(".cuts").first().innerText(), /read-only/);
  await agent.locator("li[data-call]", { hasText: "write" }).locator(".mark", { hasText: /[⊘✗]/ }).waitFor();
  assert.match(await page.locator("#state").innerText(), /worker works/);
  hold.release();
  await page.locator("#log", { hasText: "It was tried." }).waitFor();
  await quiet(page);
  assert.match(await page.locator(".total").innerText(), /1 refused/);
  const call = agent.locator("li[data-call]", { hasText: "write" });
  await call.locator("summary").first().click();
  await call.locator(".powers li.there", { hasText: "fs.read" }).waitFor();
  assert.equal(await call.locator(".powers li.absent", { hasText: "fs.write" }).count(), 1, "under its coordinator it cannot write");

  // The same after the page was loaded again, when the run is over.
  await page.reload();
  await agent.locator(".name", { hasText: "worker" }).waitFor();
  await agent.locator("li[data-call]", { hasText: "write" }).waitFor();

  // The scope, drawn: one ceiling in the other.
  await page.locator("#show-scope").click();
  const outer = page.locator("dialog article.ceiling[aria-label='Ceiling of coordinator']").first();
  await outer.waitFor();
  assert.match(await outer.locator("header").first().innerText(), /read-only/);
  const explained = await world.api("GET", "/api/agents/coordinator/explain");
  const tools = await outer.locator(".tools").first().locator("code").allInnerTexts();
  assert.deepEqual(tools.sort(), explained.tools.map((tool) => tool.name).sort());
  await outer.locator(".tree > li > details > summary", { hasText: "worker" }).click();
  const inner = outer.locator("article.ceiling[aria-label='Ceiling of worker']");
  await inner.waitFor();
  assert.match(await inner.locator("del.gone").allInnerTexts().then((all) => all.join()), /the workspace: read-write/);
  assert.match(await inner.locator(".cuts").first().innerText(), /read-only here: `coordinator`, which asks/);
  const below = await world.api("GET", "/api/agents/worker/explain?under=coordinator");
  assert.equal(await inner.locator(".cuts li").count(), below.cut.length);

  // What was, beside what could be.
  const was = page.locator("dialog .was article.ceiling[aria-label='Ceiling of worker']");
  assert.match(await was.innerText(), /coordinator → worker/);
  assert.match(await was.locator(".cuts").innerText(), /read-only/);
  await was.locator("a").click();
  await page.locator("#log", { hasText: "I tried, and may not." }).waitFor();
  assert.equal(await page.locator("dialog").count(), 0);

  // Charts, with their numbers.
  await page.locator("#show-usage").click();
  await page.locator("dialog svg").first().waitFor();
  assert.match(await page.locator(".sums").innerText(), /2 calls[^]*480 tokens|\d calls[^]*480 tokens/);
  const bars = page.locator("dialog figure", { hasText: "Tokens by agent" });
  assert.match(await bars.locator("svg").getAttribute("aria-label"), /coordinator 240/);
  assert.ok((await bars.locator("rect").evaluateAll((all) => all.filter((bar) => bar.getBoundingClientRect().width > 0).length)) >= 2);
  await bars.locator("summary", { hasText: "As a table" }).click();
  assert.match(await bars.locator("table").innerText(), /worker/);
  await page.getByRole("button", { name: "Runs" }).click();
  await page.locator("dialog figure", { hasText: "Runs by day" }).waitFor();
}
