// The page in every state, held against the rules of accessibility: names, roles, order, contrast, in light and dark,
// wide and narrow.

import { choose, quiet, say, unfold, visit } from "../hands.mjs";

const ANSWER = "## Found\n\nSee `src/main.rs`, [there](https://example.test/).\n\n- [x] one\n- [ ] two\n\n| a | b |\n|---|--:|\n| 1 | 2 |\n\n> quoted\n\n```rust\nfn main() {}\n```\n";

export default async function access(world) {
  const { model } = world;
  for (const colorScheme of ["light", "dark"]) {
    const page = await visit(world, await world.fresh({ colorScheme }));
    const fine = (state) => world.accessible(page, `${state}, ${colorScheme}`);
    await fine("nothing said");
    await page.locator("#agent").selectOption("porter");
    model.script({ think: "hm", say: "I look.", call: [["read", { path: "README.md" }], ["read", { path: "../no" }], ["write", { path: "docs/a.md", content: "x" }]] }, { say: ANSWER });
    await say(page, "go");
    await page.locator(".approval button:enabled").first().waitFor();
    await fine("a decision");
    await page.getByRole("button", { name: "Deny" }).click();
    await page.locator("#log h3", { hasText: "Found" }).waitFor();
    await quiet(page);
    await unfold(page, "#timeline");
    await page.locator("#timeline .powers").last().waitFor();
    await fine("an answer and its calls");
    await page.getByRole("button", { name: /^Actions for/ }).first().click();
    await page.getByRole("menu").waitFor();
    await fine("a menu");
    await page.keyboard.press("Escape");
    const title = (await page.locator(".session .name").first().innerText()).replace("★", "");
    for (const [action, state] of [["Rename…", "a name"], ["Delete…", "a question"]]) {
      await choose(page, title, action);
      await page.locator("dialog[open]").waitFor();
      await fine(state);
      await page.keyboard.press("Escape");
      await page.locator("dialog").waitFor({ state: "detached" });
    }
    for (const [button, ready] of [["#show-scope", ".ceiling"], ["#show-usage", "svg"], ["#show-help", ".keys"], ["#show-key", "input"]]) {
      await page.locator(button).click();
      await page.locator(`dialog ${ready}`).first().waitFor();
      await unfold(page, "dialog");
      await fine(button);
      await page.keyboard.press("Escape");
      await page.locator("dialog").waitFor({ state: "detached" });
    }
    await page.setViewportSize({ width: 420, height: 800 });
    await fine("narrow, with calls");
    await page.locator("#show-calls").click();
    await page.locator("#show-side").click();
    await page.locator("#side").waitFor();
    await fine("narrow, with sessions");
  }

  // Whoever chooses colours keeps them.
  const page = await visit(world, await world.fresh({ colorScheme: "light" }));
  const paper = () => page.evaluate(() => getComputedStyle(document.body).backgroundColor);
  const light = await paper();
  await page.getByRole("button", { name: /^Colours/ }).click();
  await page.getByRole("button", { name: "Colours: light" }).click();
  const dark = await paper();
  world.assert.notEqual(light, dark);
  await page.reload();
  world.assert.equal(await paper(), dark);
}
