// What somebody does with the page, again and again.

// Opens the page; it is there when the agents are.
export async function visit(world, page, at = "/") {
  await page.goto(world.origin + at);
  await page.locator("#agent option").first().waitFor({ state: "attached" });
  return page;
}

// Writes a message and sends it.
export async function say(page, text) {
  await page.locator("#say").fill(text);
  await page.locator("#say").press("Enter");
}

// Waits until nothing is at work.
export const quiet = (page) => page.locator("#send:enabled").waitFor();

// Waits until something read from the page is as it should be.
export async function until(page, read, wanted) {
  const expected = JSON.stringify(wanted);
  let found;
  // Each look takes a turn of the page, so that what it does meanwhile is done.
  for (let looks = 0; looks < 400; looks++) {
    found = await read();
    if (JSON.stringify(found) === expected) return;
    await page.evaluate(() => new Promise((resolve) => requestAnimationFrame(resolve)));
  }
  throw new Error(`expected ${expected}, found ${JSON.stringify(found)}`);
}

// Begins a session with an agent and waits for its first answer.
export async function talk(page, agent, text) {
  await page.locator("#new").click();
  await page.locator("#agent").selectOption(agent);
  await say(page, text);
  await quiet(page);
}

// The sessions in the list, as they are read: `[agent, title]`.
export const listed = (page) => page.locator("#sessions .session").evaluateAll((items) => items.map((item) =>
  [item.closest("[data-agent]").dataset.agent, item.querySelector(".name").textContent]));

// Opens the menu of a session and chooses from it.
export async function choose(page, title, action) {
  await page.getByRole("button", { name: `Actions for ${title}`, exact: true }).first().click();
  await page.getByRole("menuitem", { name: action }).click();
}

// Opens everything in a place that can be opened.
export const unfold = (page, place) => page.evaluate((place) => {
  for (const folder of document.querySelectorAll(`${place} details`)) folder.open = true;
}, place);

// What is said in the conversation, without what is only shown beside it.
export const answers = (page) => page.locator("#log .turn.agent .markdown").allInnerTexts();
