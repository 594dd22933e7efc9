// The page: puts the parts together.

import * as api from "./api.js";
import * as chat from "./chat.js";
import { element } from "./markdown.js";
import { scope } from "./scope.js";
import * as sessions from "./sessions.js";
import { usage } from "./usage.js";

const get = (id) => document.getElementById(id);
const [agent, say, dialog] = [get("agent"), get("say"), get("dialog")];
let session = null;

function where() {
  get("current-agent").textContent = agent.value;
  const known = sessions.find(session);
  get("current-session").textContent = session ? ` · ${known?.name ?? session.slice(0, 8)}` : " · new session";
}

async function open(id) {
  session = id;
  const known = id && sessions.find(id);
  if (known) agent.value = known.agentId;
  history.replaceState(null, "", id ? `#${id}` : "#");
  sessions.select(id);
  where();
  await chat.show(id);
  say.focus();
}

async function submit(event) {
  event.preventDefault();
  const text = say.value.trim();
  if (!text || get("send").disabled) return;
  say.value = "";
  try {
    if (!session) {
      session = (await api.newSession(agent.value)).sessionId;
      history.replaceState(null, "", `#${session}`);
      await sessions.reload(session);
      where();
    }
    await chat.say(agent.value, session, text);
  } catch (problem) {
    say.value = text;
    alert(problem.message);
  }
}

async function popup(title, content) {
  get("dialog-title").textContent = title;
  get("dialog-body").replaceChildren(element("p", {}, "…"));
  dialog.showModal();
  try { get("dialog-body").replaceChildren(await content); }
  catch (problem) { get("dialog-body").replaceChildren(element("p", { class: "bad" }, problem.message)); }
}

function askKey(why = "") {
  const given = prompt(`${why}Key of this server (begins with pal_), empty for none:`, api.key());
  if (given !== null) { api.key(given.trim()); start(); }
}

async function start() {
  try {
    const agents = await api.agents();
    agent.replaceChildren(...agents.map((card) => element("option", { value: card.name, title: card.description }, card.display_name)));
    await sessions.reload();
    const wanted = location.hash.slice(1);
    await open(sessions.find(wanted) ? wanted : null);
  } catch (problem) {
    if (problem.status === 401) askKey("A key is needed. ");
    else get("state").textContent = problem.message;
  }
}

function theme() {
  const root = document.documentElement;
  const dark = root.dataset.theme ? root.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
  root.dataset.theme = dark ? "light" : "dark";
  localStorage.setItem("palisade.theme", root.dataset.theme);
}

const calls = () => {
  const hidden = document.body.classList.toggle("narrow");
  document.body.classList.toggle("wide", !hidden);
  get("show-timeline").setAttribute("aria-pressed", String(!hidden));
};

document.documentElement.dataset.theme = localStorage.getItem("palisade.theme") ?? "";
if (!document.documentElement.dataset.theme) delete document.documentElement.dataset.theme;
sessions.onOpen(open);
chat.onEnd(() => sessions.reload(session).then(where));
get("composer").addEventListener("submit", submit);
get("stop").addEventListener("click", chat.cancel);
get("new").addEventListener("click", () => open(null));
get("theme").addEventListener("click", theme);
get("show-timeline").addEventListener("click", calls);
get("show-scope").addEventListener("click", () => popup(`What ${agent.value} may do`, scope(agent.value, session)));
get("show-usage").addEventListener("click", () => popup("Usage", usage()));
get("change-key").addEventListener("click", () => askKey());
get("dialog-close").addEventListener("click", () => dialog.close());
agent.addEventListener("change", () => open(null));
say.addEventListener("keydown", (event) => {
  if (event.key === "Enter" && !event.shiftKey && !event.isComposing) submit(event);
});
document.addEventListener("keydown", (event) => {
  if (event.key === "Escape" && !dialog.open && !get("stop").hidden) chat.cancel();
  if (!event.altKey) return;
  const act = { n: () => open(null), s: () => get("show-scope").click(), t: calls, f: () => get("search").focus() }[event.key];
  if (act) { event.preventDefault(); act(); }
});
start();
