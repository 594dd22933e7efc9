// The line that says what a message is about. A client writes it in front of the message; the server keeps it as it is.
// This page writes one when somebody asks about a call, and shows the lines of others as what they mean.

import { element, sign } from "./dom.js";
import { plain, short } from "./words.js";

const LINE = /^<context((?:\s+[a-z][a-z-]*="[^"<>\n]*")+)\s*\/>(?:\n|$)/i;
const PART = /([a-z][a-z-]*)="([^"]*)"/gi;
const ESCAPES = { "&": "&amp;", "\"": "&quot;", "<": "&lt;", ">": "&gt;" };
const escape = (text) => plain(text).replace(/["&<>]/g, (sign) => ESCAPES[sign]).replaceAll("\n", " ");
const unescape = (text) => text.replace(/&(amp|quot|lt|gt);/g, (whole) => Object.keys(ESCAPES).find((sign) => ESCAPES[sign] === whole));

// What a message is about, and the message itself.
export function split(text) {
  const found = text.length < 1e6 ? LINE.exec(text) : null;
  if (!found) return { about: null, rest: text };
  const about = Object.fromEntries([...found[1].matchAll(PART)].map(([, name, value]) => [name, unescape(value)]));
  return { about, rest: text.slice(found[0].length) };
}

// The line for an item.
export const item = (type, id, name) => `<context type="${escape(type)}" id="${escape(id)}" name="${escape(short(name, 80))}" />`;

const words = ({ type, id, name, panel, view, ...more }) =>
  [type, name ?? id, panel, view, ...Object.values(more)].filter(Boolean).join(" · ");

// What a message is about, to be seen; with `drop` it can be taken away.
export const chip = (about, drop) =>
  element("span", { class: "about" }, `About: ${plain(words(about))}`, drop && sign("×", "Ask about nothing in particular", drop));
