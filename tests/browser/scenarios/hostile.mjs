// What a model and a tool write is text: nothing of it runs, is fetched, or leads anywhere but to the web.

import { quiet, say, unfold, visit } from "../hands.mjs";

const attack = (trap) => `
<script>window.owned = "script"</script>
<img src="${trap}/img.png" onerror="window.owned = 'onerror'" onload="window.owned = 'onload'">
<svg onload="window.owned = 'svg'"><image href="${trap}/svg.png"></image></svg>
<iframe srcdoc="<script>parent.owned = 'frame'</script>"></iframe>
<style>@import url(${trap}/style.css); body { display: none }</style>
<link rel="stylesheet" href="${trap}/link.css"><meta http-equiv="refresh" content="600; url=${trap}/meta">
<form action="${trap}/form"><button formaction="javascript:window.owned='form'">x</button></form>
<a href="javascript:window.owned='link'" id="bait">bait</a>
`;

const markdown = (trap) => `
[one](javascript:window.owned='md') [two](JaVaScRiPt:alert(1)) [three](data:text/html,<script>alert(1)</script>) [four](vbscript:x)
[five](  javascript:alert(1)) [six](java\u0000script:alert(1)) [seven](//evil.test) [eight](file:///etc/passwd) [nine](blob:x)
[ten](https://user:secret@evil.test/) <javascript:alert(1)> ![img](${trap}/picture.png) ![x](javascript:alert(1))
[ok](https://good.test/a?b=c) https://plain.test/x <https://angle.test/>
[\`x\`<img src=x onerror=alert(1)>](https://label.test)

| <img src=${trap}/cell.png onerror=window.owned=1> | [y](javascript:1) |
|---|---|
| a | b |

> <script>window.owned = 1</script>

\`\`\`<img src=x onerror=alert(1)>
</code></pre><script>window.owned = 1</script>
\`\`\`
`;

export default async function hostile(world) {
  const { assert, model, trap, seen } = world;
  const text = attack(trap.url) + markdown(trap.url);

  // The same text as markup, where nothing holds it: it does what it is made for, so that what follows says something.
  const bare = await world.fresh({}, false);
  trap.bare = text;
  await bare.goto(`${trap.url}/bare`);
  await bare.waitForFunction(() => window.owned);
  await trap.sprung;
  await bare.context().close();
  trap.hits.length = 0;

  const page = await visit(world, await world.fresh());
  await page.locator("#agent").selectOption("porter");
  model.script({ think: text, say: text, call: [["read", { path: "hostile.md" }], [`<img src=${trap.url}/tool onerror=window.owned=1>`, { a: text }]] }, { say: `The end.\n${text}` });
  await say(page, text);
  await page.locator("#log", { hasText: "The end." }).waitFor();
  await quiet(page);
  // Everything that can be opened is.
  await unfold(page, "main");
  await unfold(page, "#timeline");
  await page.locator("#timeline pre", { hasText: "window.owned" }).first().waitFor();
  await unfold(page, "#timeline");
  await page.locator("#timeline .inside pre", { hasText: "window.owned" }).last().waitFor();
  const named = await world.api("GET", "/api/sessions");
  await world.api("PATCH", `/api/sessions/${named.data[0].sessionId}`, { name: "<img src=x onerror=window.owned=1>" });
  await page.reload();
  await page.locator("#log", { hasText: "The end." }).waitFor();
  await page.locator(".session", { hasText: "<img src=x" }).waitFor();

  assert.equal(await page.evaluate(() => window.owned), undefined);
  const inside = await page.evaluate(() => ["script", "img", "iframe", "style", "link", "meta", "form", "svg", "object", "embed", "base"]
    .filter((name) => document.querySelector(`#log ${name}, #timeline ${name}, #sessions ${name}`)));
  assert.deepEqual(inside, []);
  const links = await page.locator("#log a").evaluateAll((all) => all.map((link) => ({ href: link.href, rel: link.rel, target: link.target })));
  const hosts = new Set(links.map((link) => new URL(link.href).host));
  for (const { href, rel, target } of links) {
    assert.match(href, /^https?:\/\//);
    assert.ok(rel.includes("noopener") && rel.includes("noreferrer") && target === "_blank", href);
  }
  for (const host of ["good.test", "plain.test", "angle.test", "label.test"]) assert.ok(hosts.has(host), host);
  assert.ok(!hosts.has("evil.test"));
  // A link says where it leads.
  assert.match(await page.locator("#log a", { hasText: "ok" }).first().innerText(), /ok \(good\.test\)/);
  const attributes = await page.evaluate(() => [...document.querySelectorAll("#log *, #timeline *:not(.tag)")].flatMap((node) => node.getAttributeNames()).filter((name) => name.startsWith("on") || name === "style" || name === "src"));
  assert.deepEqual(attributes, []);
  assert.deepEqual(seen, { foreign: [], refused: [], errors: [] });

  // The walls stand even if the page made a mistake: markup from a text, a script, a request elsewhere are refused.
  const tried = await page.evaluate(async (trap) => {
    const refused = async (work) => { try { await work(); return false; } catch { return true; } };
    return {
      markup: await refused(() => { document.getElementById("log").innerHTML = "<b>x</b>"; }),
      script: await refused(() => { document.body.append(Object.assign(document.createElement("script"), { textContent: "window.owned = 1" })); }),
      handler: await refused(() => {
        const bait = document.createElement("button");
        bait.setAttribute("onclick", "window.owned = 1");
        bait.click();
        if (!window.owned) throw new Error("it did not run");
      }),
      request: await refused(() => fetch(trap)),
      picture: await new Promise((resolve) => { const made = new Image(); made.onload = () => resolve(false); made.onerror = () => resolve(true); made.src = `${trap}/wall.png`; }),
    };
  }, trap.url);
  assert.deepEqual(tried, { markup: true, script: true, handler: true, request: true, picture: true });
  assert.equal(await page.evaluate(() => window.owned), undefined);
  assert.ok(seen.refused.length >= 3, "what the policy refuses is seen");
  for (const list of Object.values(seen)) list.length = 0;
}
