// The page is loaded again in the middle of a run, and its connection breaks: it goes on where it was, without a gap
// and with nothing twice.

import { answers, quiet, say, visit } from "../hands.mjs";
import { Hold } from "../model.mjs";

export default async function reload(world) {
  const { assert, model } = world;
  const page = await visit(world, await world.fresh());
  const from = [];
  page.on("request", (request) => {
    if (request.url().endsWith("/events")) from.push(Number(request.headers()["last-event-id"]));
  });
  await page.locator("#agent").selectOption("porter");
  model.script({ say: "Before." });
  await say(page, "first");
  await page.locator("#log", { hasText: "Before." }).waitFor();
  await quiet(page);

  const [middle, late] = [new Hold(), new Hold()];
  model.script(
    { say: "I look.", call: [["read", { path: "README.md" }]] },
    { say: ["One, ", "two, ", middle, "three, ", late, "four."] },
  );
  await say(page, "count");
  await middle.reached;
  await page.locator("#log", { hasText: "One, two," }).waitFor();
  from.length = 0;
  await page.reload();
  await page.locator("#log", { hasText: "One, two," }).waitFor();
  const shown = async () => ({ asked: await page.locator("#log .turn.user .words").allInnerTexts(), said: (await answers(page)).map((text) => text.trim()) });
  assert.deepEqual(await shown(), { asked: ["first", "count"], said: ["Before.", "I look.", "One, two,"] });
  assert.equal(from.length, 1);
  assert.ok(from[0] > 3, `it went on from the event that it knew last, not from ${from[0]}`);
  assert.equal(await page.locator("#timeline .run").last().locator(".calls > li").count(), 1);

  // Another tab knows nothing of it and sees the same.
  const other = await visit(world, await world.fresh(), new URL(page.url()).hash.replace(/^/, "/"));
  await other.locator("#log", { hasText: "One, two," }).waitFor();
  assert.deepEqual((await answers(other)).map((text) => text.trim()), ["Before.", "I look.", "One, two,"]);

  // A connection that breaks, twice: asked for again, from where it broke.
  let broken = 0;
  await page.route("**/events", (route) => (broken++ < 2 ? route.abort() : route.continue()));
  await page.reload();
  await page.locator("#state", { hasText: "trying again" }).waitFor();
  world.seen.errors.splice(0).forEach((text) => assert.match(text, /ERR_FAILED/));
  middle.release();
  await late.reached;
  await page.locator("#log", { hasText: "three," }).waitFor();
  late.release();
  for (const each of [page, other]) {
    await each.locator("#log", { hasText: "One, two, three, four." }).waitFor();
    await quiet(each);
    assert.deepEqual((await answers(each)).map((text) => text.trim()), ["Before.", "I look.", "One, two, three, four."]);
  }
  world.seen.errors.splice(0).forEach((text) => assert.match(text, /ERR_FAILED/));

  // What was being written is not lost either.
  await page.locator("#say").fill("half a thought");
  await page.reload();
  await page.locator("#log", { hasText: "four." }).waitFor();
  assert.equal(await page.locator("#say").inputValue(), "half a thought");
}
