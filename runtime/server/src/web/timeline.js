// What was called, by whom, and what came of it; agents that were asked stand below the call that asked.

import * as api from "./api.js";
import { button, element, get, styled } from "./dom.js";
import { retold } from "./history.js";
import * as sandbox from "./sandbox.js";
import * as scopes from "./scopes.js";
import { count, ending, hue, plain, short, time } from "./words.js";

const side = get("timeline");
let nodes, sums, asksAbout = () => {};

// Whom to tell that somebody wants to ask about a call.
export function onAsk(take) { asksAbout = take; }

export function clear() {
  nodes = new Map();
  sums = null;
  side.replaceChildren(element("p", { class: "dim" }, "No calls yet."));
}

// A run begins: what follows is told of it.
export function begin(agent, session, title) {
  if (!nodes.size) side.replaceChildren();
  nodes = new Map();
  sums = { calls: 0, refused: 0, failed: 0, micros: 0, tokens: 0, cost_micros: 0, steps: 0 };
  const list = element("ol", { class: "calls" });
  const shown = element("p", { class: "total dim" });
  const heading = element("h3", { title }, tag(agent), element("span", {}, agent));
  side.append(element("section", { class: "run", "aria-label": `Run of ${agent}` }, heading, shown, list));
  nodes.set("", { agent, session, chain: [], list, calls: new Map(), shown });
}

export const tag = (agent) => styled(element("span", { class: "tag", "aria-hidden": "true" }, agent.slice(0, 1).toUpperCase()), { "--hue": hue(agent) });

// Takes an event of a run, or of a piece of work below it.
export function tell(event, task = "") {
  const node = nodes.get(task);
  if (!node) return;
  switch (event.event) {
    case "step_started": if (!task) sums.steps = event.step; break;
    case "model_replied": replied(node, event, task); break;
    case "call_started": started(node, event); break;
    case "call_progress": {
      const call = node.calls.get(event.id);
      if (call) call.took.textContent = short(plain(event.message), 40);
      break;
    }
    case "call_finished": finished(node, event); break;
    case "approval_wanted": waits(event, true); break;
    case "approval_given": waits(event, false); break;
    case "subagent_start": asked(node, event); break;
    case "subagent_progress": tell(event.of, event.task); break;
    case "subagent_end": answered(event); break;
  }
  total();
}

function total() {
  const root = nodes.get("");
  if (root) root.shown.textContent = sandbox.total(sums);
}

// What the whole run used up, as it was written down.
export function settle({ steps, usage }) {
  for (const { calls, line } of nodes.values()) {
    for (const call of calls.values()) if (!call.event) call.took.textContent = "no result";
    if (line && !line.over) line.took.textContent = "";
  }
  if (sums) Object.assign(sums, { steps, tokens: usage.input_tokens + usage.output_tokens, cost_micros: usage.cost_micros ?? 0 });
  total();
}

function replied(node, { usage, text }, task) {
  sums.tokens += (usage?.input_tokens ?? 0) + (usage?.output_tokens ?? 0);
  sums.cost_micros += usage?.cost_micros ?? 0;
  if (task && text) node.said.textContent = short(plain(text), 200);
}

function line(mark, name, about) {
  const parts = {
    mark: element("span", { class: "mark" }, mark),
    took: element("span", { class: "took" }),
    words: element("span", { class: "hidden" }, "at work"),
    body: element("div", { class: "inside" }),
  };
  const title = element("span", { class: "title" }, element("span", { class: "name" }, name), element("span", { class: "dim" }, about));
  parts.details = element("details", {}, element("summary", {}, parts.mark, parts.words, title, parts.took), parts.body);
  parts.item = element("li", {}, parts.details);
  return parts;
}

function started(node, event) {
  if (event.id == null || node.calls.has(event.id)) return;
  const made = { ...line("…", plain(event.tool), short(plain(brief(event.input)), 80)), started: event, event: null, node };
  made.details.addEventListener("toggle", () => made.details.open && draw(made));
  made.item.dataset.call = event.id;
  node.calls.set(event.id, made);
  node.list.append(made.item);
  sums.calls++;
}

// The input in a line: its values say more than its names.
export function brief(input) {
  try {
    const values = Object.values(JSON.parse(input));
    return values.map((value) => (typeof value === "string" ? value : JSON.stringify(value))).join(" ");
  } catch { return String(input ?? ""); }
}

function draw(call) {
  const { node, started } = call;
  const explain = () => scopes.of(node.agent, node.chain);
  const read = async (id) => {
    for (const event of retold(await api.entries(node.session))) if (event.event === "call_finished" && event.id === id) return event.whole;
    return null;
  };
  const ask = button("Ask about this call", () => asksAbout("call", started.id, `${started.tool} ${brief(started.input)}`), { class: "small" });
  call.body.replaceChildren(...sandbox.detail(call, explain, read), ask);
}

function finished(node, event) {
  if (!node.calls.has(event.id)) started(node, { ...event, input: "" });
  const call = node.calls.get(event.id);
  if (!call) return;
  // Told again with more than before: only what is shown changes.
  if (!call.event) {
    sums.micros += event.micros ?? 0;
    if (event.failure === "denied" || event.denials?.length) sums.refused++;
    else if (event.failure) sums.failed++;
  }
  call.event = { denials: [], ...event };
  const [mark, kind, words] = sandbox.outcome(call.event);
  call.mark.textContent = mark;
  call.mark.className = `mark ${kind}`;
  call.words.textContent = words;
  call.took.textContent = time(event.micros ?? 0);
  call.item.dataset.kind = kind;
  if (call.details.open) draw(call);
}

function waits({ call }, waiting) {
  for (const node of nodes.values()) {
    const made = call == null ? null : node.calls.get(call);
    if (!made || made.event) continue;
    made.mark.textContent = waiting ? "?" : "…";
    made.mark.className = waiting ? "mark warn" : "mark";
    made.took.textContent = waiting ? "waits for you" : "";
  }
}

function asked(node, event) {
  const made = line("◆", event.agent, short(plain(event.description), 80));
  made.said = element("p", { class: "dim" });
  made.took.textContent = "at work";
  const list = element("ol", { class: "calls" });
  const cut = event.cut ?? [];
  const where = element("a", { href: `#${event.session}` }, "Its session");
  const without = cut.length
    ? element("ul", { class: "cuts", "aria-label": "What was cut" }, cut.map((text) => element("li", {}, plain(text))))
    : element("p", { class: "dim" }, "Nothing was cut: it has all that its definition asks for.");
  made.body.append(element("p", {}, where), without, made.said, list);
  made.details.open = true;
  const under = node.calls.get(event.call);
  // Below the call that asked, where that is known.
  (under ? (under.below ??= under.item.appendChild(element("ol", { class: "calls" }))) : node.list).append(made.item);
  made.item.classList.add("agent");
  const chain = [...node.chain, node.agent];
  nodes.set(event.task, { agent: event.agent, session: event.session, chain, list, calls: new Map(), line: made, said: made.said });
}

function answered({ task, success, ending: ended, usage }) {
  const made = nodes.get(task)?.line;
  if (!made) return;
  made.over = true;
  made.mark.className = `mark ${success ? "good" : "bad"}`;
  made.words.textContent = ending(ended).text;
  const tokens = (usage?.input_tokens ?? 0) + (usage?.output_tokens ?? 0);
  made.took.textContent = success ? (tokens ? count(tokens, "token") : "answered") : ending(ended).kind;
}

// Opens a call and goes there.
export function reveal(id) {
  const item = side.querySelector(`[data-call="${CSS.escape(id)}"]`);
  if (!item) return;
  item.querySelector("details").open = true;
  item.querySelector("summary").focus();
  item.scrollIntoView({ block: "nearest" });
}
