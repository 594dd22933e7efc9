// Drives the page with a real browser, one scenario at a time:
//
//   node drive.mjs MODULES BROWSER SCENARIO
//
// MODULES is where the packages are installed. It prints where its model listens, reads a line of JSON with the
// server's address from standard input, and ends with 0 if all that was claimed is so.

import assert from "node:assert/strict";
import { createRequire } from "node:module";
import { readFileSync } from "node:fs";
import path from "node:path";
import readline from "node:readline";

import { Model } from "./model.mjs";
import { Trap } from "./trap.mjs";

const [modules, browserPath, name] = process.argv.slice(2);
const require = createRequire(path.join(path.resolve(modules), "package.json"));
const { chromium } = require("playwright-core");
const scenario = (await import(`./scenarios/${name}.mjs`)).default;

const model = new Model();
console.log(await model.start());
const lines = readline.createInterface({ input: process.stdin })[Symbol.asyncIterator]();
const line = await lines.next();
// Whoever started this is gone before there was a server.
if (line.done) process.exit(1);
const given = JSON.parse(line.value);

// Has the server killed, as a crash does, and started again.
async function crash() {
  console.log("kill the server");
  await lines.next();
}
const origin = `http://${given.address}`;
const trap = await Trap.set();

const browser = await chromium.launch({
  executablePath: browserPath,
  // Whatever is asked for beyond this machine is not even looked up.
  args: ["--no-sandbox", "--disable-dev-shm-usage", "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1"],
});

// What the browser was made to ask for or to refuse, over all pages of a context.
const seen = { foreign: [], refused: [], errors: [] };

// A page of its own, in a browser that remembers nothing. `watched`: what it does is held against the rules below.
async function fresh(options = {}, watched = true) {
  const context = await browser.newContext({ viewport: { width: 1400, height: 900 }, reducedMotion: "reduce", ...options });
  context.setDefaultTimeout(20_000);
  const page = await context.newPage();
  if (watched) await watch(context, page);
  return page;
}

async function watch(context, page) {
  context.on("request", (request) => {
    if (new URL(request.url()).origin !== origin) seen.foreign.push(request.url());
  });
  await context.exposeFunction("tellRefused", (text) => seen.refused.push(text));
  await context.addInitScript(() => {
    addEventListener("securitypolicyviolation", (event) => window.tellRefused(`${event.violatedDirective} ${event.blockedURI} ${event.sample}`));
  });
  page.on("pageerror", (error) => seen.errors.push(String(error)));
  page.on("console", (message) => { if (message.type() === "error") seen.errors.push(`${message.text()} ${message.location().url}`); });
  page.on("dialog", (dialog) => { seen.errors.push(`dialog: ${dialog.message()}`); dialog.dismiss(); });
}

// Asks the server without the page.
async function api(method, at, body, key) {
  const headers = { ...(body ? { "content-type": "application/json" } : {}), ...(key ? { authorization: `Bearer ${key}` } : {}) };
  const response = await fetch(origin + at, { method, headers, body: body && JSON.stringify(body) });
  const text = await response.text();
  assert.ok(response.ok, `${method} ${at}: ${response.status} ${text}`);
  return text ? JSON.parse(text) : null;
}

// What the rules of accessibility find wrong with a page as it is now.
async function accessible(page, state) {
  await page.evaluate(readFileSync(require.resolve("axe-core/axe.min.js"), "utf8"));
  const { violations, passes } = await page.evaluate(() => window.axe.run(document, { resultTypes: ["violations", "passes"] }));
  const found = violations.map((rule) => `${rule.id}: ${rule.nodes.map((node) => node.target.join(" ")).slice(0, 5).join(", ")}`);
  assert.deepEqual(found, [], state);
  assert.ok(passes.length > 10, `${state}: hardly any rule was tried`);
}

// Whoever waits for what never comes is told so, and leaves no browser behind.
const guard = setTimeout(() => {
  console.error(`${name}: it does not come to an end`);
  browser.close().finally(() => process.exit(1));
}, 120_000);

const world = { ...given, origin, model, trap, seen, fresh, api, accessible, crash, assert };
let code = 0;
try {
  await scenario(world);
  assert.deepEqual(seen, { foreign: [], refused: [], errors: [] }, "what no page of ours may do");
  assert.equal(trap.hits.length, 0, `somebody was asked who should not be: ${trap.hits}`);
  assert.equal(model.left, 0, "replies that nobody asked for");
} catch (problem) {
  console.error(problem);
  code = 1;
  const folder = process.env.PALISADE_BROWSER_PICTURES;
  const open = browser.contexts().flatMap((context) => context.pages());
  if (folder) for (const [at, page] of open.entries()) await page.screenshot({ path: path.join(folder, `${name}-${at}.png`) }).catch(() => {});
}
clearTimeout(guard);
await browser.close();
model.stop();
trap.stop();
process.exit(code);
