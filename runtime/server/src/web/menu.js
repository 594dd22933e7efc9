// A button that opens a short list of things to do, by pointer or by keyboard.

import { button, element, styled } from "./dom.js";
import { complain } from "./dialog.js";

// `items()` gives `[label, act, kind]` when the menu is opened.
export function menu(label, items) {
  const opener = button(element("span", { "aria-hidden": "true" }, "⋯"), () => open(opener, items), {
    class: "sign", "aria-label": label, title: label, "aria-haspopup": "menu", "aria-expanded": "false",
  });
  opener.addEventListener("keydown", (event) => {
    if (event.key !== "ArrowDown") return;
    event.preventDefault();
    open(opener, items);
  });
  return opener;
}

// Opens the menu of a button at that button.
export function open(opener, items) {
  const entries = items().map(([label, act, kind]) => button(label, async () => {
    list.hidePopover();
    try { await act(); } catch (problem) { complain(problem); }
  }, { role: "menuitem", tabindex: "-1", class: kind }));
  const list = element("div", { role: "menu", class: "menu", popover: "auto", "aria-label": opener.getAttribute("aria-label") }, entries);
  list.addEventListener("keydown", (event) => move(event, entries, list));
  list.addEventListener("toggle", (event) => {
    const opened = event.newState === "open";
    opener.setAttribute("aria-expanded", String(opened));
    if (opened) return;
    const inside = list.contains(document.activeElement) || document.activeElement === document.body;
    list.remove();
    if (inside && opener.isConnected) opener.focus();
  });
  // Beside what it belongs to, for whoever reads the page from landmark to landmark.
  (opener.closest("nav, main, aside") ?? document.body).append(list);
  list.showPopover();
  const [at, own] = [opener.getBoundingClientRect(), list.getBoundingClientRect()];
  const top = at.bottom + own.height > innerHeight ? Math.max(0, at.top - own.height) : at.bottom;
  styled(list, { left: `${Math.max(4, Math.min(at.left, innerWidth - own.width - 4))}px`, top: `${top}px` });
  entries[0].focus();
}

function move(event, entries, list) {
  const at = entries.indexOf(document.activeElement);
  const to = { ArrowDown: at + 1, ArrowUp: at - 1, Home: 0, End: entries.length - 1 }[event.key];
  if (event.key === "Tab") list.hidePopover();
  if (to === undefined) return;
  event.preventDefault();
  entries.at(to % entries.length).focus();
}
