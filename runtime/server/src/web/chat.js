// One conversation: what was said, what is being said, and what somebody has to decide.

import * as api from "./api.js";
import * as approvals from "./approvals.js";
import * as context from "./context.js";
import { announce, button, element, get } from "./dom.js";
import { beginning, retold } from "./history.js";
import { Told } from "./kept.js";
import { Growing, markdown } from "./markdown.js";
import { watch } from "./stream.js";
import * as timeline from "./timeline.js";
import { ending, plain, short, whole } from "./words.js";

const log = get("log");
let current = { session: null, agent: "", run: null, stop: null, told: null };
let reply = null;
let calls = new Map();
// What was shown of the run that is attended to: the turns, what was said in them, and whether its end was told.
let shown = { turns: [], said: [], over: false };
let loading = 0;
let changed = () => {};

// Whom to tell that a run is at work (`working`), that none is, or that one has just ended (`ended`).
export function onChange(take) { changed = take; }

const isNear = () => log.scrollHeight - log.scrollTop - log.clientHeight < 120;
const follow = (near) => { if (near) log.scrollTop = log.scrollHeight; };

function add(kind, ...content) {
  get("empty").hidden = true;
  const near = isNear();
  const turn = element("article", { class: `turn ${kind}` }, ...content);
  log.append(turn);
  shown.turns.push(turn);
  follow(near);
  return turn;
}

function say(state) { get("state").textContent = state; }

// Leaves what is shown.
export function leave() {
  current.stop?.abort();
  current.told?.flush();
  current = { session: null, agent: "", run: null, stop: null, told: null };
  [reply, calls, shown] = [null, new Map(), { turns: [], said: [], over: false }];
  log.replaceChildren(get("empty"));
  get("empty").hidden = false;
  timeline.clear();
  approvals.clear();
  say("");
  changed("idle");
}

// Shows a session: what was said before from its entries; the last run, if it is at work, as it tells itself.
export async function show(session, agent) {
  leave();
  if (!session) return;
  loading++;
  try { await load(session, agent); } finally { loading--; }
}

async function load(session, agent) {
  const own = (current = { ...current, session, agent });
  const entries = await api.entries(session);
  const run = entries.length ? await api.lastRun(session) : null;
  if (own !== current) return;
  const from = beginning(entries, run);
  const live = run?.status === "working";
  if (from) past(entries.slice(0, from));
  if (live) {
    past(entries.slice(from, from + 1), false);
    attend(run.id, run.model);
  } else if (run) {
    past(entries.slice(from), false);
    ended({ ending: run.ending }, false);
    await after(run, entries.slice(from), own);
  }
  log.scrollTop = log.scrollHeight;
}

// Shows what was said; with its calls beside it, unless those are told otherwise.
function past(entries, beside = true) {
  for (const event of retold(entries)) {
    if (event.event === "asked" && beside) timeline.begin(current.agent, current.session, short(event.text));
    tell(event);
    if (beside) timeline.tell(event);
  }
}

// The calls of a run that is over, with the agents it asked, which only its events know; and what the entries know
// better than the events.
async function after(run, entries, own) {
  timeline.begin(current.agent, current.session, run.model);
  own.stop = new AbortController();
  try {
    await watch(run.id, 0, (event) => own === current && timeline.tell(event), () => {}, own.stop.signal);
  } catch { /* the entries have to do */ }
  if (own !== current) return;
  for (const event of retold(entries)) if (event.event.startsWith("call_")) timeline.tell(event);
  timeline.settle(run.spending);
}

// Has the agent work on something.
export async function ask(agent, session, text) {
  const own = (current = { ...current, agent, session });
  const turn = asked(text);
  changed("working");
  say("waiting");
  try {
    const run = await api.begin(agent, session, text);
    if (own === current) attend(run.id, run.model);
  } catch (problem) {
    changed("idle");
    say("");
    turn.remove();
    throw problem;
  }
}

// Attends to a run until it is over, from what this tab knows of it.
export async function attend(id, model) {
  current.stop?.abort();
  const own = (current = { ...current, run: id, stop: new AbortController(), told: new Told(id) });
  changed("working");
  say("working");
  timeline.begin(own.agent, own.session, model);
  shown = { turns: [], said: [], over: false };
  let last = 0;
  const take = (event) => {
    timeline.tell(event);
    tell(event, id);
  };
  for (const [number, event] of own.told.restore()) {
    last = number;
    take(event);
  }
  const heard = (event, number) => {
    if (own !== current) return;
    own.told.keep(number, event);
    take(event);
  };
  const broken = (is) => own === current && say(is ? "the server cannot be reached, trying again" : "working");
  try {
    await watch(id, last, heard, broken, own.stop.signal);
  } catch (problem) {
    if (own === current) add("failed", problem.message);
  }
  if (own === current) await complete(own, id).catch((problem) => own === current && add("failed", problem.message));
  if (own === current) end();
}

// What is told faster than it can be written is missing from the stream, and from nothing else: the session has it, and
// knows some things better. If the two differ, what the session has is shown.
async function complete(own, id) {
  const [entries, run] = await Promise.all([api.entries(own.session), api.run(id)]);
  if (own !== current) return;
  const [, ...events] = retold(entries.slice(beginning(entries, run)));
  for (const event of events) if (event.event.startsWith("call_")) timeline.tell(event);
  timeline.settle(run.spending);
  finish(null);
  const said = events.filter((event) => event.event === "model_replied" && event.text).map((event) => event.text);
  if (JSON.stringify(said) !== JSON.stringify(shown.said)) {
    for (const turn of shown.turns) turn.remove();
    calls = new Map();
    for (const event of events) tell(event);
  }
  if (!shown.over) ended({ ending: run.ending });
}

function end() {
  finish(null);
  current.told?.flush();
  current.run = null;
  approvals.clear();
  say("");
  changed("ended");
}

export async function cancel() {
  if (!current.run) return;
  say("stopping");
  await api.cancel(current.run);
}

export const isWorking = () => current.run !== null;

// Whether what is shown is all there is: nothing is being loaded, and nothing is at work.
export const isIdle = () => !loading && !isWorking();

// A reply that comes in: what the model thinks, and what it says.
function replying() {
  if (reply) return reply;
  const [thought, said] = [element("div", { class: "thought" }), element("div", { class: "markdown" })];
  const folder = element("details", { class: "thinking", hidden: true }, element("summary", {}, "Thinking"), thought);
  const turn = add("agent", folder, said);
  turn.setAttribute("aria-busy", "true");
  return (reply = { turn, folder, thought, said: new Growing(said) });
}

// The reply is whole, as `text`, or as much of it as there is; nothing at all leaves nothing behind.
function finish(text) {
  if (!reply) return;
  const { turn, said, folder } = reply;
  if (text !== null) said.set(text);
  said.settle();
  turn.removeAttribute("aria-busy");
  if (folder.hidden) folder.remove();
  if (!said.text && folder.hidden) turn.remove();
  reply = null;
}

function tell(event, run) {
  const near = isNear();
  switch (event.event) {
    case "asked": asked(event.text); break;
    // Somebody else goes on with the run: what was not whole is said again.
    case "run_started": reply?.turn.remove(); reply = null; break;
    case "step_started": say(event.step > 1 ? `step ${event.step}` : "working"); break;
    case "reply_text": replying().said.add(event.text ?? ""); break;
    case "reply_thinking":
      replying().folder.hidden = false;
      reply.thought.append(event.text ?? "");
      break;
    case "reply_call": say(`writes a call of ${plain(event.tool)}`); break;
    case "reply_again":
      reply?.turn.remove();
      reply = null;
      add("notice", `The model is asked again: ${plain(event.why)}`);
      break;
    case "model_replied": replied(event); break;
    case "call_started": called(event); break;
    case "call_progress": say(short(plain(event.message), 60)); break;
    case "call_finished": mark(event); break;
    case "subagent_start": say(`${event.agent} works`); break;
    case "compacted": add("notice", `The conversation became too long: ${whole(event.entries)} entries are read as a summary from now on.`); break;
    case "summarised": add("notice", element("details", {}, element("summary", {}, `A summary stands for ${whole(event.covers)} entries`), markdown(event.text))); break;
    case "noticed": add("notice", plain(event.text)); break;
    case "approval_wanted":
      if (event.omitted) approvals.fetchAll(run, (card) => log.append(card)).catch(() => {});
      else approvals.ask(run, event, (card) => log.append(card));
      say("waits for your decision");
      break;
    case "approval_given": approvals.decided(event); say("working"); break;
    case "run_ended": ended(event); break;
  }
  follow(near);
}

function asked(text) {
  const { about, rest } = context.split(text);
  return add("user", about && context.chip(about), element("div", { class: "words", dir: "auto" }, rest));
}

function replied({ text, thinking, omitted }) {
  if (thinking) {
    replying().folder.hidden = false;
    reply.thought.replaceChildren(thinking);
  }
  // One that is too long for the stream is in the session; what came in of it is all that is shown until then.
  if (text && !omitted) replying();
  if (text && !omitted) announce(`The agent says: ${short(text, 300)}`);
  if (text && !omitted) shown.said.push(text);
  finish(omitted ? null : text ?? "");
}

function called({ id, tool, input }) {
  if (id == null || calls.has(id)) return;
  const state = element("span", { class: "mark" }, "…");
  const made = button([state, element("code", {}, plain(tool)), ` ${short(plain(timeline.brief(input)), 100)}`], () => {
    if (document.body.dataset.calls === "no") get("show-calls").click();
    timeline.reveal(id);
  }, { class: "call", title: "Show this call" });
  calls.set(id, { state, made });
  add("call-line", made);
}

function mark({ id, failure, denials }) {
  const call = calls.get(id);
  if (!call) return;
  const refused = failure === "denied" || denials?.length > 0;
  call.state.textContent = failure ? (refused ? "⊘" : "✗") : refused ? "!" : "✓";
  call.state.className = `mark ${failure ? "bad" : refused ? "warn" : "good"}`;
}

function ended({ ending: how }, now = true) {
  const { kind, text } = ending(how);
  shown.over = true;
  finish(null);
  if (kind === "answered") now && announce("The run is over: answered.");
  else add("failed", `The run is over: ${plain(text)}`);
}

addEventListener("pagehide", () => current.told?.flush());
