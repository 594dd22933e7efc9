// What the keyboard does everywhere on the page.

import { element } from "./dom.js";
import { show } from "./dialog.js";

// By place on the keyboard, because some machines write other letters with Alt.
const keys = new Map();

export function on(code, shown, words, act) { keys.set(code, { shown, words, act }); }

const OTHERS = [
  ["Enter", "send the message"],
  ["Shift + Enter", "begin a new line"],
  ["Esc", "stop the run, or leave a box"],
  ["↑ ↓", "go from session to session, when one has the focus"],
  ["F2, Delete", "rename or delete the session that has the focus"],
  ["?", "this list"],
];

export function help() {
  const row = ([key, words]) => element("tr", {}, element("th", { scope: "row" }, element("kbd", {}, key)), element("td", {}, words));
  const own = [...keys.values()].map(({ shown, words }) => [`Alt + ${shown}`, words]);
  return show("Keys", element("table", { class: "keys" }, element("tbody", {}, [...own, ...OTHERS].map(row))));
}

const isWriting = (target) => target.closest?.("input, textarea, select, [contenteditable]") !== null;

export function start(stop) {
  document.addEventListener("keydown", (event) => {
    if (document.querySelector("dialog[open]")) return;
    if (event.key === "Escape" && !event.defaultPrevented && !document.querySelector(":popover-open")) return stop();
    if (event.key === "?" && !isWriting(event.target)) return void help();
    const known = event.altKey && !event.ctrlKey && !event.metaKey ? keys.get(event.code) : null;
    if (!known) return;
    event.preventDefault();
    known.act();
  });
}
