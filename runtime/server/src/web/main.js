// The page: puts the parts together.

import * as api from "./api.js";
import * as approvals from "./approvals.js";
import * as chat from "./chat.js";
import * as composer from "./composer.js";
import { complain, line, show } from "./dialog.js";
import { element, get } from "./dom.js";
import { forget, key } from "./kept.js";
import { scope } from "./scope.js";
import * as scopes from "./scopes.js";
import * as sessions from "./sessions.js";
import * as shortcuts from "./shortcuts.js";
import * as theme from "./theme.js";
import * as timeline from "./timeline.js";
import { usageView } from "./usage.js";

// How often it is looked which sessions are at work, in milliseconds.
const LOOK = 4000;
const agent = get("agent");
let agents = [];
let session = null;
let wanted = null;
let asking = false;

function where() {
  const card = agents.find((card) => card.name === agent.value);
  const known = sessions.find(session);
  get("current-agent").textContent = card?.display_name ?? agent.value;
  get("current-session").textContent = session ? `· ${known ? sessions.title(known) : session.slice(0, 8)}` : "· new session";
  get("about-agent").textContent = card ? card.problem ?? card.grants ?? card.description : "";
  document.title = known ? `${sessions.title(known)} – Palisade` : "Palisade";
}

// Shows a session, or, without one, where a new one begins.
async function open(id) {
  wanted = id;
  const known = id && (sessions.find(id) ?? (await api.session(id)));
  if (wanted !== id) return;
  session = known ? id : null;
  if (known && ![...agent.options].some((option) => option.value === known.agentId)) agent.append(element("option", { value: known.agentId }, known.agentId));
  if (known) agent.value = known.agentId;
  if (id && !known) complain(new Error("There is no such session."));
  if (!known) wanted = null;
  if (!session && location.hash) history.replaceState(null, "", location.pathname);
  sessions.select(session);
  document.body.dataset.side = "no";
  get("show-side").setAttribute("aria-expanded", "false");
  where();
  composer.open(session);
  await chat.show(session, known?.agentId ?? agent.value);
}

const opened = (id) => open(id).catch(complain);

// A new session begins when something is said in it.
async function begin(name) {
  if (name) agent.value = name;
  if (session) history.pushState(null, "", location.pathname);
  await opened(null);
}

const beginHere = (name) => begin(name).then(composer.focus);

async function send(text) {
  try {
    if (!session) {
      session = wanted = (await api.newSession(agent.value)).sessionId;
      history.pushState(null, "", `#${session}`);
      await sessions.reload();
      sessions.select(session);
      where();
    }
    scopes.forget();
    await chat.ask(agent.value, session, text);
    composer.open(session);
    sessions.reload().then(where).catch(complain);
  } catch (problem) {
    complain(problem);
    throw problem;
  }
}

function askKey(why) {
  if (asking) return;
  asking = true;
  const hint = `${why ? `${why}. ` : ""}A key begins with pal_. It stays in this tab until that is closed, and is sent to this server alone. Empty: none.`;
  line("Key of this server", { label: "Key", value: "", hint, action: "Use", secret: true }, async (given) => {
    const before = key();
    forget();
    key(given);
    try { await api.agents(); } catch (problem) {
      key(before);
      throw problem;
    }
  }).then((done) => {
    asking = false;
    if (done) start();
  });
}

// What this key may not do is not offered.
async function permit() {
  const { tenant, scopes: may } = await api.me();
  document.body.dataset.may = may.join(" ");
  get("say").disabled = get("new").disabled = !may.includes("run");
  get("show-key").title = `The key of this server; tenant: ${tenant}`;
}

async function start() {
  try {
    agents = await api.agents();
    const before = agent.value;
    agent.replaceChildren(...agents.map((card) => element("option", { value: card.name, title: card.description, disabled: Boolean(card.problem) }, card.display_name)));
    if (agents.some((card) => card.name === before)) agent.value = before;
    sessions.knows(agents);
    await Promise.all([permit(), sessions.reload()]);
    await open(location.hash.slice(1) || null);
    await look();
  } catch (problem) {
    if (problem.status !== 401) complain(problem);
  }
}

// Marks the sessions at work, and attends to a run that somebody else began in the one that is shown.
async function look() {
  const runs = await api.working();
  sessions.marks(runs);
  const own = runs.find((run) => run.session === session);
  if (own && chat.isIdle() && !get("send").disabled) await open(session);
}

function calls() {
  const shown = document.body.dataset.calls !== "yes";
  document.body.dataset.calls = shown ? "yes" : "no";
  get("show-calls").setAttribute("aria-pressed", String(shown));
}

function side() {
  const shown = document.body.dataset.side !== "yes";
  document.body.dataset.side = shown ? "yes" : "no";
  get("show-side").setAttribute("aria-expanded", String(shown));
  if (shown) get("search").focus();
}

const stop = () => chat.cancel().catch(complain);
const showScope = () => show(`What ${agent.value} may do`, scope(agent.value, session));
const showUsage = () => show("Usage", usageView());

theme.start();
api.onRefused(askKey);
sessions.on({
  begin: beginHere, renamed: where,
  left: (id) => { if (id === session) begin(); },
  cleared: (id) => { if (id === session) opened(id); },
});
chat.onChange((state) => {
  composer.busy(state === "working");
  if (state === "ended" && session) sessions.reload().then(where).then(look).catch(complain);
});
composer.onSend(send);
timeline.onAsk(composer.askAbout);
for (const [id, act] of Object.entries({
  new: () => beginHere(), stop, "show-side": side, "show-calls": calls, "show-scope": showScope, "show-usage": showUsage, "show-help": shortcuts.help,
  "show-key": () => askKey(),
})) get(id).addEventListener("click", act);
get("skip").addEventListener("click", (event) => { event.preventDefault(); composer.focus(); });
// Whoever chooses with the keyboard is still choosing.
agent.addEventListener("change", () => begin());
for (const turned of ["hashchange", "popstate"]) addEventListener(turned, () => {
  const id = location.hash.slice(1) || null;
  if (id === wanted) return;
  document.querySelector("dialog[open]")?.close();
  opened(id);
});
for (const [code, shown, words, act] of [
  ["KeyN", "N", "begin a new session", () => beginHere()],
  ["KeyK", "K", "search the sessions", () => { document.body.dataset.side = "yes"; get("search").focus(); }],
  ["KeyM", "M", "write a message", composer.focus],
  ["KeyA", "A", "go to what waits for a decision", approvals.go],
  ["KeyC", "C", "show or hide the calls", calls],
  ["KeyO", "O", "show what the agent may do", showScope],
  ["KeyU", "U", "show what was used up", showUsage],
]) shortcuts.on(code, shown, words, act);
shortcuts.start(() => { if (chat.isWorking()) stop(); });
setInterval(() => { if (!document.hidden && !asking) look().catch(() => {}); }, LOOK);
start();
