// The list of sessions: by agent, pinned first, searched, renamed, cleared, deleted.

import * as api from "./api.js";
import { element } from "./markdown.js";

const list = document.getElementById("sessions");
const search = document.getElementById("search");
let known = [];
let current = null;
let open = () => {};

export function onOpen(take) { open = take; }

export async function reload(selected = current) {
  known = await api.sessions();
  current = selected;
  show();
  return known;
}

export const find = (id) => known.find((session) => session.sessionId === id);

export function select(id) {
  current = id;
  show();
}

// A hue of its own for each agent.
function hue(agent) {
  let sum = 0;
  for (const letter of agent) sum = (sum * 31 + letter.codePointAt(0)) % 360;
  return `hsl(${sum} 45% 50%)`;
}

function shown(session) {
  const words = search.value.trim().toLowerCase().split(/\s+/).filter(Boolean);
  const text = `${session.name ?? ""} ${session.lastSnippet ?? ""} ${session.agentId} ${session.sessionId}`.toLowerCase();
  return words.every((word) => text.includes(word));
}

function show() {
  const groups = Map.groupBy ? Map.groupBy(known.filter(shown), (session) => session.agentId) : group(known.filter(shown));
  list.replaceChildren(...[...groups].map(([agent, sessions]) => {
    const title = element("h3", {}, agent);
    title.style.setProperty("--tag", hue(agent));
    return element("section", { "aria-label": agent }, title, element("ul", {}, ...sessions.map(item)));
  }));
  if (!list.children.length) list.append(element("p", { class: "dim" }, known.length ? "Nothing found." : "No sessions yet."));
}

function group(sessions) {
  const groups = new Map();
  for (const session of sessions) groups.set(session.agentId, [...(groups.get(session.agentId) ?? []), session]);
  return groups;
}

function item(session) {
  const id = session.sessionId;
  const act = (label, work) => element("button", { type: "button", onclick: async () => {
    try { await work(); } catch (problem) { alert(problem.message); }
    await reload();
  } }, label);
  const menu = element("details", {},
    element("summary", { "aria-label": `Actions for ${session.name ?? id}` }, "⋯"),
    element("div", {},
      act(session.pinnedAt ? "Unpin" : "Pin", () => api.changeSession(id, { pinned: !session.pinnedAt })),
      act("Rename", () => {
        const name = prompt("What should it be called?", session.name ?? "");
        return name === null ? null : api.changeSession(id, { name: name.trim() || null });
      }),
      act("Clear", async () => {
        if (confirm("Remove all that was said?")) { await api.clearSession(id); if (id === current) open(id); }
      }),
      act("Delete", async () => {
        if (confirm("Delete this session?")) { await api.deleteSession(id); if (id === current) open(null); }
      })));
  return element("li", { class: "session", "aria-current": String(id === current), "data-session": id },
    element("button", { type: "button", onclick: () => open(id) },
      element("span", { class: "name" }, `${session.pinnedAt ? "★ " : ""}${session.name ?? (session.lastSnippet || "New session")}`),
      element("span", { class: "snippet" }, session.lastSnippet ?? "")),
    menu);
}

search.addEventListener("input", show);
document.addEventListener("click", (event) => {
  for (const menu of list.querySelectorAll("details[open]")) if (!menu.contains(event.target)) menu.open = false;
});
