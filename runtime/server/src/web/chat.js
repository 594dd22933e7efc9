// One conversation: what was said, what is being said, and what somebody has to decide.

import * as api from "./api.js";
import { element, markdown } from "./markdown.js";
import * as timeline from "./timeline.js";

const log = document.getElementById("log");
const state = document.getElementById("state");
const send = document.getElementById("send");
const stop = document.getElementById("stop");
let watching = null;
let run = null;
let reply = null;
let ended = () => {};

export function onEnd(take) { ended = take; }

function add(kind, ...content) {
  const near = log.scrollHeight - log.scrollTop - log.clientHeight < 80;
  const turn = element("div", { class: `turn ${kind}` }, ...content);
  log.append(turn);
  if (near) log.scrollTop = log.scrollHeight;
  return turn;
}

// Forgets what is shown, and shows a session.
export async function show(session) {
  watching?.abort();
  watching = run = reply = null;
  log.replaceChildren();
  timeline.clear();
  busy(false);
  if (!session) return;
  for (const entry of await api.entries(session)) said(entry);
  const last = await api.lastRun(session);
  // In the middle of a run: what happened so far is told again, and then what happens.
  if (last) follow(last.id, last.status === "working");
}

function said(entry) {
  switch (entry.entry) {
    case "user": add("user", entry.text); break;
    case "reply":
      if (entry.text) add("agent", markdown(entry.text));
      for (const call of entry.calls ?? []) add("call", `→ ${call.tool} ${JSON.stringify(call.input).slice(0, 160)}`);
      break;
    case "notice": case "summary": add("notice", entry.text); break;
  }
}

function busy(is) {
  send.disabled = is;
  stop.hidden = !is;
  state.textContent = is ? "working" : "";
}

export async function say(agent, session, text) {
  add("user", text);
  busy(true);
  try {
    const begun = await api.begin(agent, session, text);
    follow(begun.id, true);
  } catch (problem) {
    busy(false);
    add("failed", problem.message);
  }
}

export async function cancel() {
  if (run) await api.cancel(run).catch((problem) => add("failed", problem.message));
}

// Shows what happens in a run; of one that is over only the calls, because what was said is shown already.
function follow(id, live) {
  watching?.abort();
  watching = new AbortController();
  run = id;
  busy(live);
  const { signal } = watching;
  api.watch(id, (event) => tell(event, live, id), signal).then(() => {
    if (signal.aborted) return;
    reply = null;
    busy(false);
    if (live) ended();
  });
}

function tell(event, live, id) {
  timeline.tell(event);
  if (!live) return;
  switch (event.event) {
    case "step_started": state.textContent = `step ${event.step}`; break;
    case "reply_text":
      reply ??= { text: "", turn: add("agent") };
      reply.text += event.text;
      reply.turn.replaceChildren(markdown(reply.text));
      break;
    case "reply_again": reply?.turn.remove(); reply = null; add("notice", `asked again: ${event.why}`); break;
    case "model_replied":
      if (event.text) {
        reply ??= { text: "", turn: add("agent") };
        reply.turn.replaceChildren(markdown(event.text));
      } else reply?.turn.remove();
      reply = null;
      break;
    case "call_started": state.textContent = event.tool; add("call", `→ ${event.tool} ${event.input}`); break;
    case "noticed": add("notice", event.text); break;
    case "approval_wanted": ask(event, id); break;
    case "approval_given": log.querySelector(`[data-approval="${CSS.escape(event.approval)}"]`)?.remove(); break;
    case "run_ended":
      if (event.ending !== "answered") add("failed", `ended: ${typeof event.ending === "string" ? event.ending : Object.entries(event.ending)[0].join(": ")}`);
      break;
  }
  log.scrollTop = log.scrollHeight;
}

function ask(event, id) {
  const decide = (decision) => () => api.decide(id, event.approval, decision).catch((problem) => add("failed", problem.message));
  const card = add("approval",
    element("p", {}, element("strong", {}, `May \`${event.tool}\` be called?`), ` ${event.why}`),
    element("pre", {}, element("code", {}, JSON.stringify(event.input, null, 2))),
    element("div", { class: "row" },
      element("button", { type: "button", onclick: decide("allow") }, "Allow"),
      element("button", { type: "button", onclick: decide("deny") }, "Deny")));
  card.dataset.approval = event.approval;
  card.querySelector("button").focus();
}
