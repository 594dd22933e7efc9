// Sessions are grouped by agent, pinned, renamed, searched, cleared and deleted.

import { answers, choose, listed, talk, until, visit } from "../hands.mjs";

export default async function sessions(world) {
  const { assert, model } = world;
  const page = await visit(world, await world.fresh());
  for (const [agent, text] of [["porter", "about boats"], ["porter", "about rivers"], ["worker", "about rope"]]) {
    model.script({ say: `This is ${text}.` });
    await talk(page, agent, `tell me ${text}`);
  }
  const titles = async () => (await listed(page)).map(([agent, title]) => `${agent}: ${title}`);
  await until(page, titles, ["worker: This is about rope.", "porter: This is about rivers.", "porter: This is about boats."]);

  await choose(page, "This is about boats.", "Rename…");
  await page.getByRole("textbox", { name: "Name" }).fill("Boats");
  await page.getByRole("button", { name: "Rename" }).click();
  await page.locator(".session", { hasText: "Boats" }).waitFor();
  await choose(page, "This is about rivers.", "Rename…");
  await page.getByRole("textbox", { name: "Name" }).fill("boats");
  await page.getByRole("button", { name: "Rename" }).click();
  // Two of one agent cannot be called alike: said in the box, which stays.
  await page.locator("dialog [role=alert]", { hasText: /boats/i }).waitFor();
  world.seen.errors.splice(0).forEach((text) => assert.match(text, /409/));
  await page.getByRole("textbox", { name: "Name" }).fill("Rivers");
  await page.getByRole("textbox", { name: "Name" }).press("Enter");
  await page.locator(".session", { hasText: "Rivers" }).waitFor();

  await choose(page, "Boats", "Pin");
  await page.locator(".session.pinned", { hasText: "Boats" }).waitFor();
  await until(page, titles, ["porter: ★Boats", "porter: Rivers", "worker: This is about rope."]);

  const search = page.getByLabel("Search sessions");
  await search.fill("ROPE");
  await until(page, titles, ["worker: This is about rope."]);
  assert.equal(await page.locator("#found").innerText(), "1 session");
  await search.fill("porter riv");
  await until(page, titles, ["porter: Rivers"]);
  await search.fill("nowhere");
  await page.locator("#sessions", { hasText: "Nothing found." }).waitFor();
  await search.press("Escape");
  await until(page, async () => (await titles()).length, 3);

  // A session has an address, and the browser's way back works.
  await page.locator(".session a", { hasText: "Rivers" }).click();
  await page.locator("#log", { hasText: "This is about rivers." }).waitFor();
  await page.locator(".session a", { hasText: "Boats" }).click();
  await page.locator("#log", { hasText: "This is about boats." }).waitFor();
  await page.goBack();
  await page.locator("#log", { hasText: "This is about rivers." }).waitFor();
  assert.match(page.url(), /\/#[0-9a-f-]{36}$/);

  await choose(page, "Rivers", "Clear…");
  await page.getByRole("button", { name: "Cancel" }).click();
  assert.equal((await answers(page)).length, 1);
  await choose(page, "Rivers", "Clear…");
  await page.getByRole("button", { name: "Clear", exact: true }).click();
  await page.locator("#empty").waitFor();
  await until(page, titles, ["porter: ★Boats", "porter: Rivers", "worker: This is about rope."]);

  await choose(page, "Rivers", "Delete…");
  await page.getByRole("button", { name: "Delete", exact: true }).click();
  await page.locator(".session", { hasText: "Rivers" }).waitFor({ state: "detached" });
  assert.match(await page.locator("#where").innerText(), /new session/);
  await choose(page, "Boats", "Unpin");
  await page.locator(".session.pinned").waitFor({ state: "detached" });

  // A new session of an agent, from its group.
  await page.getByRole("button", { name: /^New session with .*worker/i }).click();
  assert.equal(await page.locator("#agent").inputValue(), "worker");
  const kept = await world.api("GET", "/api/sessions");
  assert.deepEqual(kept.data.map((session) => session.name ?? null).sort(), ["Boats", null].sort());
}
