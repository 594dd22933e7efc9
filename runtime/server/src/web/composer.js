// Where a message is written: it grows with its text, and what was not sent is kept until it is.

import * as context from "./context.js";
import { get } from "./dom.js";
import { draft } from "./kept.js";

const field = get("say");
const about = get("context");
let session = null;
let line = "";
let send = () => {};

// Who takes a message. It is kept until that has worked.
export function onSend(take) { send = take; }

function grow() {
  field.style.height = "auto";
  field.style.height = `${Math.min(field.scrollHeight + 2, innerHeight / 2)}px`;
}

// Shows what was being written for a session.
export function open(id) {
  session = id;
  field.value = draft(session);
  aboutNothing();
  grow();
}

// The next message is about something.
export function askAbout(type, id, name) {
  line = context.item(type, id, name);
  about.replaceChildren(context.chip(context.split(line).about, () => { aboutNothing(); field.focus(); }));
  about.hidden = false;
  field.focus();
}

function aboutNothing() {
  line = "";
  about.hidden = true;
  about.replaceChildren();
}

// Whether something can be sent now.
export function busy(is) {
  get("send").disabled = is;
  get("stop").hidden = !is;
}

export const focus = () => field.focus();

async function submit(event) {
  event.preventDefault();
  const text = field.value.trim();
  if (!text || get("send").disabled) return;
  const [own, whole, from] = [line, line ? `${line}\n${text}` : text, session];
  field.value = "";
  aboutNothing();
  grow();
  // Nothing is sent twice, however fast somebody is.
  busy(true);
  try {
    await send(whole);
    draft(from, "");
  } catch {
    busy(false);
    // Nothing that was written is lost; a newer text stands before it.
    field.value = field.value ? `${text}\n${field.value}` : text;
    line = own;
    if (own) about.replaceChildren(context.chip(context.split(own).about, aboutNothing));
    about.hidden = !own;
    grow();
  }
}

field.addEventListener("input", () => {
  grow();
  draft(session, field.value);
});
field.addEventListener("keydown", (event) => {
  if (event.key === "Enter" && !event.shiftKey && !event.isComposing) submit(event);
});
get("composer").addEventListener("submit", submit);
