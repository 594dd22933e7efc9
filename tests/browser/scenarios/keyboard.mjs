// Everything can be done without a pointer: from loading the page to a session that is deleted.

import { listed } from "../hands.mjs";

export default async function keyboard(world) {
  const { assert, model } = world;
  const page = await world.fresh();
  await page.goto(world.origin);
  await page.locator("#agent option[value=porter]").waitFor({ state: "attached" });
  const { keyboard } = page;
  const focused = () => page.evaluate(() => {
    const at = document.activeElement;
    return at.id || at.getAttribute("aria-label") || at.textContent.trim();
  });
  // What has the focus can be seen to have it.
  const visible = () => page.evaluate(() => {
    const { outlineStyle, outlineWidth } = getComputedStyle(document.activeElement);
    return outlineStyle !== "none" && Number.parseFloat(outlineWidth) >= 2;
  });
  const until = async (wanted) => {
    for (let at = 0; at < 60; at++) {
      if (wanted.test(await focused())) return assert.ok(await visible(), await focused());
      await keyboard.press("Tab");
    }
    assert.fail(`${wanted} cannot be reached; the focus is at ${await focused()}`);
  };

  // The first stop leads past everything.
  await keyboard.press("Tab");
  assert.equal(await focused(), "skip");
  await keyboard.press("Enter");
  assert.equal(await focused(), "say");

  // An agent is chosen, and asked.
  await page.evaluate(() => document.activeElement.blur());
  await until(/^agent$/);
  await keyboard.type("porter");
  assert.equal(await page.locator("#agent").inputValue(), "porter");
  await keyboard.press("Alt+m");
  assert.equal(await focused(), "say");
  model.script({ call: [["write", { path: "docs/keys.md", content: "x" }]] }, { say: "Written." });
  await keyboard.type("write");
  await keyboard.press("Shift+Enter");
  await keyboard.type("a page");
  await keyboard.press("Enter");

  // A decision.
  await page.locator(".approval").waitFor();
  await keyboard.press("Alt+a");
  assert.match(await focused(), /Decide about write/);
  await page.locator(".approval button:enabled").first().waitFor();
  await until(/^Allow once$/);
  await keyboard.press("Enter");
  await page.locator("#log", { hasText: "Written." }).waitFor();
  await page.locator("#send:enabled").waitFor();
  assert.equal(model.asked[0].messages.findLast((message) => message.role === "user").content, "write\na page");

  // A call is opened.
  await page.evaluate(() => document.querySelector("#timeline").setAttribute("tabindex", "-1"));
  await page.locator("#timeline").focus();
  await keyboard.press("Tab");
  await keyboard.press("Enter");
  await page.locator("#timeline .powers").waitFor();

  // Renamed from the list, and from the menu pinned.
  await keyboard.press("Alt+k");
  assert.equal(await focused(), "search");
  await keyboard.press("ArrowDown");
  assert.match(await focused(), /Written\./);
  await keyboard.press("F2");
  await page.locator("dialog[open]").waitFor();
  assert.equal(await focused(), "box-field");
  await keyboard.type("By hand");
  await keyboard.press("Enter");
  await page.locator(".session", { hasText: "By hand" }).waitFor();
  await page.locator("dialog").waitFor({ state: "detached" });
  assert.match(await focused(), /By hand/, "the focus is where it was");
  await keyboard.press("Tab");
  assert.equal(await focused(), "Actions for By hand");
  await keyboard.press("Enter");
  await page.locator("[role=menu]").waitFor();
  assert.equal(await focused(), "Pin");
  await keyboard.press("ArrowDown");
  assert.equal(await focused(), "Rename…");
  await keyboard.press("ArrowUp");
  await keyboard.press("Enter");
  await page.locator(".session.pinned").waitFor();

  // Boxes are left with Escape, and the focus goes back.
  await keyboard.press("Alt+m");
  for (const key of ["Alt+o", "Alt+u"]) {
    await keyboard.press(key);
    await page.locator("dialog.look .body section, dialog.look .body figure").first().waitFor();
    await keyboard.press("Escape");
    await page.locator("dialog").waitFor({ state: "detached" });
    assert.equal(await focused(), "say");
  }
  await page.locator("#log").focus();
  await keyboard.press("?");
  await page.locator("dialog .keys").waitFor();
  await keyboard.press("Escape");
  await keyboard.press("Alt+c");
  assert.equal(await page.locator("#calls").isVisible(), false);
  await keyboard.press("Alt+c");

  // A run is stopped, a session begun, another deleted.
  model.script({ call: [["write", { path: "docs/never.md", content: "x" }]] });
  await keyboard.press("Alt+m");
  await keyboard.type("again");
  await keyboard.press("Enter");
  await page.locator(".approval:not(.decided)").waitFor();
  await keyboard.press("Escape");
  await page.locator("#log .failed").waitFor();
  await keyboard.press("Alt+n");
  assert.equal(await focused(), "say");
  await page.locator("#empty").waitFor();
  await keyboard.press("Alt+k");
  await keyboard.press("ArrowDown");
  await keyboard.press("Delete");
  await page.locator("dialog[open]").waitFor();
  assert.equal(await focused(), "Cancel", "what cannot be undone is not done by a key too many");
  await keyboard.press("Tab");
  await keyboard.press("Enter");
  await page.locator("#sessions", { hasText: "No sessions yet." }).waitFor();
  assert.deepEqual(await listed(page), []);
}
