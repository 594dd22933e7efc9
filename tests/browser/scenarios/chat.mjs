// A session is begun, the answer comes in piece by piece, and every call shows what the sandbox made of it.

import { answers, quiet, say, visit } from "../hands.mjs";
import { Hold } from "../model.mjs";

export default async function chat(world) {
  const { assert, model } = world;
  const page = await visit(world, await world.fresh());
  await page.locator("#agent").selectOption("porter");
  const hold = new Hold();
  model.script(
    { think: "First I look.", say: "I will look.", call: [["read", { path: "README.md" }], ["read", { path: "../outside.txt" }]] },
    { say: ["## Where parcels", " go\n\nThey are **unloaded** in `src/harbour.rs`.\n\n1. first\n   - below\n2. second\n\n", hold, "| file | line |\n|:--|--:|\n| main | 6 |\n\n```rust\nfn main() {}\n```\n"] },
  );
  await say(page, "where do parcels go?");

  // While it comes in.
  await hold.reached;
  await page.locator("#log h3", { hasText: "Where parcels go" }).waitFor();
  assert.equal(await page.locator("#log strong").innerText(), "unloaded");
  assert.deepEqual(await page.locator("#log ol > li").count(), 2);
  assert.equal(await page.locator("#log table").count(), 0);
  assert.equal(await page.locator("#send").isDisabled(), true);
  await page.locator(".session", { hasText: "at work" }).waitFor();
  hold.release();
  await page.locator("#log table td", { hasText: "main" }).waitFor();
  await quiet(page);
  assert.equal(await page.locator("#log figure.code pre").innerText(), "fn main() {}");
  assert.equal((await answers(page)).length, 2);
  assert.equal(await page.locator("#log .thinking").count(), 1);

  // What the sandbox allowed, refused, and what it cost.
  const calls = page.locator("#timeline .run > .calls > li");
  assert.equal(await calls.count(), 2);
  const [read, refused] = [calls.nth(0), calls.nth(1)];
  await read.locator("summary").first().click();
  await read.locator(".powers li.there", { hasText: "fs.read" }).waitFor();
  assert.equal(await read.locator(".powers li.absent", { hasText: "fs.write" }).count(), 1, "`read` cannot write, whatever its agent may");
  assert.equal(await read.locator(".powers li.absent", { hasText: "net.http" }).count(), 1);
  assert.match(await read.locator(".facts", { hasText: "time" }).innerText(), /memory[^]*(KiB|MiB) of/);
  await read.locator("details summary", { hasText: "What the model read" }).click();
  await read.locator("pre", { hasText: "Carries parcels" }).waitFor();
  await refused.locator("summary").first().click();
  assert.match(await refused.innerText(), /outside\.txt/);
  assert.match(await refused.locator(".mark").first().innerText(), /[⊘✗!]/);
  assert.match(await page.locator(".total").innerText(), /2 calls · 1 (refused|failed).*240 tokens.*\$/);

  // The next message is about a call: the line in front of it is kept as it is, and shown as what it means.
  model.script({ say: "It is a ferry." });
  await read.getByRole("button", { name: "Ask about this call" }).click();
  await page.locator("#context .about", { hasText: "call · read README.md" }).waitFor();
  await say(page, "what is it?");
  await page.locator("#log", { hasText: "It is a ferry." }).waitFor();
  await quiet(page);
  const last = model.asked.at(-1).messages.findLast((message) => message.role === "user").content;
  assert.match(last, /^<context type="call" id="[^"]+" name="read README.md" \/>\nwhat is it\?$/);
  const turn = page.locator("#log .turn.user").last();
  assert.equal(await turn.locator(".words").innerText(), "what is it?");
  await page.reload();
  await turn.locator(".about", { hasText: "read README.md" }).waitFor();
  assert.equal((await answers(page)).length, 3);
  assert.equal(await page.locator("#timeline .run").count(), 2);
}
