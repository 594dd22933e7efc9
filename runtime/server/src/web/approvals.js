// Calls that wait until somebody decides. Nothing is decided by a key or a click that was meant for something else:
// a question takes no focus, and its buttons work only after it has been in sight for a moment.

import * as api from "./api.js";
import { announce, button, element } from "./dom.js";
import { json, plain } from "./words.js";

// How long a question is in sight before it can be answered, in milliseconds.
const SIGHT = 600;
const cards = new Map();

// The question about a call. `place(card)` puts it on the page.
export function ask(run, event, place) {
  if (!event.approval || cards.has(event.approval)) return;
  const wrong = element("p", { class: "bad", role: "alert" });
  const decide = (decision) => async () => {
    for (const one of [allow, deny]) one.disabled = true;
    try {
      await api.decide(run, event.approval, decision);
      decided({ approval: event.approval, allowed: decision === "allow" });
    } catch (problem) {
      // Somebody else may have been faster, or the run is over.
      wrong.textContent = problem.status === 404 ? "This was decided already, or nobody waits for it any more." : problem.message;
      if (problem.status !== 404) for (const one of [allow, deny]) one.disabled = false;
    }
  };
  const allow = button("Allow once", decide("allow"), { class: "strong", disabled: true });
  const deny = button("Deny", decide("deny"), { class: "danger", disabled: true });
  setTimeout(() => { for (const one of [allow, deny]) one.disabled = false; }, SIGHT);
  const may = document.body.dataset.may?.split(" ").includes("approve");
  const who = event.agent ? `${event.agent} wants to call ` : "May this be called: ";
  const card = element("section", { class: "approval", tabindex: "-1", "aria-label": `Decide about ${event.tool}`, "data-approval": event.approval },
    element("h3", {}, who, element("code", {}, plain(event.tool))),
    element("p", {}, plain(event.why ?? "")),
    element("pre", { tabindex: "0", "aria-label": "What it is called with" }, element("code", {}, json(event.input))),
    may ? element("div", { class: "row" }, allow, deny) : element("p", { class: "dim" }, "The key of this page may not decide about it."), wrong);
  cards.set(event.approval, card);
  place(card);
  announce(`A decision is wanted about ${event.tool}. Press Alt and A to go there.`, true);
}

// It was decided.
export function decided({ approval, allowed }) {
  const card = cards.get(approval);
  if (!card) return;
  cards.delete(approval);
  const had = card.contains(document.activeElement);
  const tool = card.querySelector("h3 code").textContent;
  card.replaceChildren(element("p", { class: allowed ? "good" : "bad" }, allowed ? `Allowed: ${tool}` : `Denied: ${tool}`));
  card.className = "approval decided";
  if (had) card.focus();
}

// Questions that came in a form too long for the stream are fetched.
export async function fetchAll(run, place) {
  for (const event of await api.approvals(run)) ask(run, event, place);
}

// Nobody waits any more.
export function clear() {
  for (const card of cards.values()) card.remove();
  cards.clear();
}

export const waiting = () => cards.size;

// Goes to the first question.
export function go() {
  const card = cards.values().next().value;
  card?.scrollIntoView({ block: "center" });
  card?.focus({ preventScroll: true });
}
