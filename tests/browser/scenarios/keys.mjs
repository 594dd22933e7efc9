// A server that wants a key: it is asked for, kept in this tab alone, never in an address, and what it may not do is
// not offered.

import { quiet, say, visit } from "../hands.mjs";

export default async function keys(world) {
  const { assert, model, keys, seen } = world;
  const expected = () => seen.errors.splice(0).forEach((text) => assert.match(text, /40[13]/));
  const page = await world.fresh();
  const addresses = [];
  page.on("request", (request) => addresses.push(request.url()));
  await page.goto(world.origin);
  const field = page.getByLabel("Key", { exact: true });
  await field.waitFor();
  assert.equal(await field.getAttribute("type"), "password");
  await field.fill(`pal_${"0".repeat(64)}`);
  await field.press("Enter");
  await page.locator("dialog [role=alert]", { hasText: "unknown" }).waitFor();
  await field.fill(keys.run);
  await field.press("Enter");
  await page.locator("#agent option").first().waitFor({ state: "attached" });
  await page.locator("dialog").waitFor({ state: "detached" });
  expected();

  await page.locator("#agent").selectOption("explore");
  model.script({ say: "Hello." });
  await say(page, "hello");
  await page.locator("#log", { hasText: "Hello." }).waitFor();
  await quiet(page);
  const kept = await page.evaluate(() => ({ tab: JSON.stringify(sessionStorage), browser: JSON.stringify(localStorage), cookie: document.cookie, shown: document.body.innerHTML + location.href }));
  assert.ok(kept.tab.includes(keys.run));
  for (const place of ["browser", "cookie", "shown"]) assert.ok(!kept[place].includes("pal_"), place);
  assert.ok(addresses.every((address) => !address.includes("pal_")));

  // The same tab knows it after the page was loaded again; another does not.
  await page.reload();
  await page.locator("#log", { hasText: "Hello." }).waitFor();
  const other = await page.context().newPage();
  await other.goto(page.url());
  await other.getByLabel("Key", { exact: true }).waitFor();
  await other.close();
  expected();

  // A key that only reads.
  await page.locator("#show-key").click();
  await field.fill(keys.read);
  await field.press("Enter");
  await page.locator("dialog").waitFor({ state: "detached" });
  await page.locator("#log", { hasText: "Hello." }).waitFor();
  await page.locator("#say:disabled").waitFor();
  assert.equal(await page.locator("#new").isDisabled(), true);

  // Another tenant's key shows nothing of this one, nor does what was left in the tab.
  await page.locator("#show-key").click();
  await field.fill(keys.other);
  await field.press("Enter");
  await page.locator("dialog").waitFor({ state: "detached" });
  await page.locator("#sessions", { hasText: "No sessions yet." }).waitFor();
  await page.locator("#empty").waitFor();
  assert.ok(!(await page.evaluate(() => JSON.stringify(sessionStorage))).includes("Hello"));
  seen.errors.splice(0).forEach((text) => assert.match(text, /404/));
  await visit(world, page);
}
