// Light, dark, or as the machine is set.

import { get } from "./dom.js";
import { theme as kept } from "./kept.js";

const NEXT = { "": "light", light: "dark", dark: "" };
const SHOWN = { "": ["◐", "as this machine"], light: ["☀", "light"], dark: ["☾", "dark"] };

function apply(name) {
  const root = document.documentElement;
  if (name) root.dataset.theme = name;
  else delete root.dataset.theme;
  const [mark, words] = SHOWN[name] ?? SHOWN[""];
  const toggle = get("theme");
  toggle.firstElementChild.textContent = mark;
  toggle.setAttribute("aria-label", `Colours: ${words}`);
  toggle.title = `Colours: ${words}`;
}

export function start() {
  const known = kept() in NEXT ? kept() : "";
  apply(known);
  get("theme").addEventListener("click", () => {
    const next = NEXT[kept()] ?? "light";
    kept(next);
    apply(next);
  });
}
