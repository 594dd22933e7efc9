// The list of sessions: by agent, those that are pinned first; searched, renamed, cleared, deleted.

import * as api from "./api.js";
import { line, sure } from "./dialog.js";
import { element, get, sign } from "./dom.js";
import { isFolded } from "./kept.js";
import { menu } from "./menu.js";
import { tag } from "./timeline.js";
import { ago, bare, count } from "./words.js";

const list = get("sessions");
const search = get("search");
let known = [];
let agents = new Map();
let working = new Map();
let current = null;
let handlers = {};

// Whom to tell that a session of an agent is to begin (`begin`), is gone (`left`), was cleared or renamed.
export function on(given) { handlers = given; }

export async function reload() {
  known = await api.sessions();
  show();
}

// The agents there are, by name.
export function knows(cards) { agents = new Map(cards.map((card) => [card.name, card])); }

export const find = (id) => known.find((session) => session.sessionId === id);

export function select(id) {
  current = id;
  show();
}

// The runs that are at work, by session.
export function marks(runs) {
  const before = JSON.stringify([...working]);
  working = new Map(runs.map((run) => [run.session, run.waiting ?? 0]));
  if (JSON.stringify([...working]) !== before) show();
}

export const title = (session) => session.name ?? (bare(session.lastSnippet ?? "") || "New session");

function fits(session) {
  const words = search.value.trim().toLowerCase().split(/\s+/).filter(Boolean);
  const shown = agents.get(session.agentId)?.display_name ?? "";
  const text = `${session.name ?? ""}\n${session.lastSnippet ?? ""}\n${session.agentId}\n${shown}\n${session.sessionId}`.toLowerCase();
  return words.every((word) => text.includes(word));
}

// By agent, in the order in which somebody last spoke with them; those with pinned sessions first.
function groups() {
  const found = new Map();
  for (const session of known.filter(fits)) found.set(session.agentId, [...(found.get(session.agentId) ?? []), session]);
  return found;
}

function show() {
  const focused = list.contains(document.activeElement) ? whereIs(document.activeElement) : null;
  const found = groups();
  list.replaceChildren(...[...found].map(([agent, sessions]) => group(agent, sessions)));
  if (!found.size) list.append(element("p", { class: "dim" }, known.length ? "Nothing found." : "No sessions yet."));
  if (search.value) get("found").textContent = count([...found.values()].flat().length, "session");
  else get("found").textContent = "";
  if (focused) list.querySelector(focused)?.focus();
}

// What has the focus keeps it: a list that is drawn anew must not throw anybody out.
function whereIs(focused) {
  const own = focused.closest("[data-session], [data-agent]");
  const [kind, name] = Object.entries(own?.dataset ?? {})[0] ?? [];
  return kind ? `[data-${kind}="${CSS.escape(name)}"] ${focused.localName}` : null;
}

// Goes to a session in the list.
const go = (id) => list.querySelector(`[data-session="${CSS.escape(id)}"] a`)?.focus();

function group(agent, sessions) {
  const shown = agents.get(agent)?.display_name ?? agent;
  const begin = sign("+", `New session with ${shown}`, () => handlers.begin(agent));
  const made = element("details", { open: Boolean(search.value) || !isFolded(agent) },
    element("summary", {}, tag(agent), element("span", { class: "name" }, shown), element("span", { class: "dim" }, String(sessions.length))),
    element("ul", {}, sessions.map(item)));
  made.addEventListener("toggle", () => { if (!search.value) isFolded(agent, !made.open); });
  return element("section", { class: "group", "aria-label": shown, "data-agent": agent }, made, agents.has(agent) ? begin : null);
}

function item(session) {
  const id = session.sessionId;
  const pinned = Boolean(session.pinnedAt);
  const state = working.has(id) ? (working.get(id) ? ["waits for you", "warn"] : ["at work", "good"]) : null;
  return element("li", { class: pinned ? "session pinned" : "session", "data-session": id },
    element("a", { href: `#${id}`, "aria-current": id === current ? "page" : null },
      element("span", { class: "name" }, pinned && element("span", { class: "pin", role: "img", "aria-label": "pinned" }, "★"), title(session)),
      element("span", { class: "dim" }, state ? element("span", { class: state[1] }, `● ${state[0]}`) : ago(session.updatedAt))),
    menu(`Actions for ${title(session)}`, () => actions(session)));
}

// What can be done with a session.
function actions(session) {
  const id = session.sessionId;
  return [
    [session.pinnedAt ? "Unpin" : "Pin", () => api.changeSession(id, { pinned: !session.pinnedAt }).then(reload).then(() => go(id))],
    ["Rename…", () => rename(session)],
    ["Clear…", () => clear(session)],
    ["Delete…", () => remove(session), "bad"],
  ];
}

export function rename(session) {
  const given = { label: "Name", value: session.name ?? "", action: "Rename", hint: "Empty: it has no name of its own." };
  return line("Rename session", given, async (name) => {
    await api.changeSession(session.sessionId, { name: name || null });
    await reload();
    handlers.renamed(session.sessionId);
  }).then(() => go(session.sessionId));
}

export function clear(session) {
  const text = `All that was said in “${title(session)}” is removed. Its name and its agent stay. This cannot be undone.`;
  return sure("Clear session", text, "Clear", async () => {
    await api.clearSession(session.sessionId);
    await reload();
    handlers.cleared(session.sessionId);
  }).then(() => go(session.sessionId));
}

export function remove(session) {
  return sure("Delete session", `“${title(session)}” is deleted with all that was said. This cannot be undone.`, "Delete", async () => {
    await api.deleteSession(session.sessionId);
    await reload();
    handlers.left(session.sessionId);
  });
}

// Up and down go from session to session, F2 renames, Delete deletes.
list.addEventListener("keydown", (event) => {
  const own = event.target.closest("[data-session]");
  const links = [...list.querySelectorAll("details[open] [data-session] a")];
  const at = links.indexOf(own?.querySelector("a"));
  const to = { ArrowDown: at + 1, ArrowUp: at - 1, Home: 0, End: links.length - 1 }[event.key];
  const session = own && find(own.dataset.session);
  if (own && to !== undefined && links[to]) links[to].focus();
  else if (session && event.key === "F2") rename(session);
  else if (session && event.key === "Delete") remove(session);
  else return;
  event.preventDefault();
});

search.addEventListener("input", show);
search.addEventListener("keydown", (event) => {
  if (event.key === "ArrowDown") list.querySelector("[data-session] a")?.focus();
  else if (event.key === "Escape" && search.value) { search.value = ""; show(); }
  else return;
  event.preventDefault();
  event.stopPropagation();
});
