// Markdown as elements. What a model wrote is text: HTML in it is shown, not followed, and nothing is fetched.

import { button, element } from "./dom.js";
import { inline } from "./inline.js";

// How deep quotes and lists may stand inside each other; what is deeper is shown as it was written.
const DEEPEST = 10;
const FENCE = /^ {0,3}(`{3,}|~{3,})\s*([^\s`]*)/;
const HEADING = /^ {0,3}(#{1,6})(?=\s|$)/;
const RULE = /^ {0,3}(?:(?:\*\s*){3,}|(?:-\s*){3,}|(?:_\s*){3,})$/;
const ITEM = /^( *)([-*+]|\d{1,9}[.)])(?:\s+(.*)|$)/;
const QUOTE = /^ {0,3}>/;
const DASHES = /^[\s|:-]+$/;
// A table that is wider is no table for people.
const COLUMNS = 64;

const indent = (line) => line.length - line.trimStart().length;
const begins = (line) => FENCE.test(line) || HEADING.test(line) || RULE.test(line) || ITEM.test(line) || QUOTE.test(line);

// Cuts a text into blocks: `{ kind, lines }`.
function blocks(lines) {
  const found = [];
  let at = 0;
  const take = (fits) => {
    const from = at++;
    while (at < lines.length && fits(lines[at], at)) at++;
    return lines.slice(from, at);
  };
  while (at < lines.length) {
    const line = lines[at];
    const fence = FENCE.exec(line);
    if (!line.trim()) at++;
    else if (fence) {
      const [mark] = fence[1];
      const closes = (text) => text.trim().length >= fence[1].length && [...text.trim()].every((sign) => sign === mark);
      const taken = take((next) => !closes(next));
      at++;
      found.push({ kind: "code", lines: taken });
    } else if (HEADING.test(line)) found.push({ kind: "heading", lines: take(() => false) });
    else if (RULE.test(line)) found.push({ kind: "rule", lines: take(() => false) });
    else if (QUOTE.test(line)) found.push({ kind: "quote", lines: take((next) => QUOTE.test(next)) });
    else if (ITEM.test(line)) {
      const [, before, mark] = ITEM.exec(line);
      const ordered = /\d/.test(mark);
      const same = (next) => {
        const item = ITEM.exec(next);
        return item && (indent(next) > before.length + 1 || /\d/.test(item[2]) === ordered);
      };
      const deeper = (next) => indent(next) > before.length + 1;
      const goesOn = (next, index) => same(next) || deeper(next) ||
        (!next.trim() ? same(lines[index + 1] ?? "") || deeper(lines[index + 1] ?? "") : !begins(next) && lines[index - 1].trim() !== "");
      found.push({ kind: "list", lines: take(goesOn) });
    } else if (line.includes("|") && isTable(lines[at + 1] ?? "")) {
      found.push({ kind: "table", lines: take((next) => next.trim() && next.includes("|")) });
    } else found.push({ kind: "words", lines: take((next) => next.trim() && !begins(next)) });
  }
  return found;
}

const isTable = (line) => line.includes("-") && line.includes("|") && DASHES.test(line) && cells(line).length <= COLUMNS;

const cells = (line) => line.trim().replace(/^\||(?<!\\)\|$/g, "").split(/(?<!\\)\|/).map((cell) => cell.trim().replaceAll("\\|", "|"));

function code({ lines }) {
  const language = FENCE.exec(lines[0])[2];
  const text = lines.slice(1).join("\n");
  const copy = button("Copy", async () => {
    try { await navigator.clipboard.writeText(text); copy.textContent = "Copied"; } catch { copy.textContent = "Cannot copy"; }
  }, { class: "copy" });
  return element("figure", { class: "code" },
    element("figcaption", {}, element("span", {}, language || "text"), copy),
    element("pre", { tabindex: "0", "aria-label": `Code: ${language || "text"}` }, element("code", {}, text)));
}

function list({ lines }, depth) {
  const [, , mark] = ITEM.exec(lines[0]);
  const ordered = /\d/.test(mark);
  const base = indent(lines[0]);
  const items = [];
  for (const line of lines) {
    const item = ITEM.exec(line);
    if (item && indent(line) <= base + 1) items.push({ width: base + item[2].length + 1, lines: [item[3] ?? ""] });
    else items.at(-1).lines.push(line.slice(Math.min(indent(line), items.at(-1).width)));
  }
  const made = items.map(({ lines }) => {
    const task = /^\[([ xX])\]\s+/.exec(lines[0]);
    const rest = task ? [lines[0].slice(task[0].length), ...lines.slice(1)] : lines;
    const done = task && task[1] !== " ";
    const box = task && element("span", { role: "img", "aria-label": done ? "done" : "not done" }, done ? "☑ " : "☐ ");
    const inside = render(rest, depth + 1);
    // An item of one paragraph is a line.
    return element("li", {}, box, inside.length === 1 && inside[0].nodeName === "P" ? [...inside[0].childNodes] : inside);
  });
  const start = ordered ? Number.parseInt(mark, 10) : 1;
  return element(ordered ? "ol" : "ul", { start: start === 1 ? null : start }, made);
}

function table({ lines }) {
  const sides = cells(lines[1]).map((cell) => (cell.endsWith(":") ? (cell.startsWith(":") ? "middle" : "end") : "start"));
  const row = (kind, line) => {
    const found = cells(line);
    const cell = (side, at) => element(kind, { class: side, scope: kind === "th" ? "col" : null }, inline(found[at] ?? ""));
    return element("tr", {}, sides.map(cell));
  };
  return element("div", { class: "wide", tabindex: "0", role: "group", "aria-label": "Table" },
    element("table", {}, element("thead", {}, row("th", lines[0])), element("tbody", {}, lines.slice(2).map((line) => row("td", line)))));
}

// A heading without the marks that may stand behind it, too.
function title(text) {
  let end = text.length;
  while (text[end - 1] === "#") end--;
  return end === 0 || /\s/.test(text[end - 1]) ? text.slice(0, end).trimEnd() : text;
}

function block(of, depth) {
  switch (of.kind) {
    case "code": return code(of);
    case "rule": return element("hr");
    case "heading": {
      const [whole, marks] = HEADING.exec(of.lines[0]);
      // The page has two levels of its own; most answers begin with the second.
      const level = Math.max(3, Math.min(marks.length + 1, 6));
      return element(`h${level}`, { class: `level-${marks.length}` }, inline(title(of.lines[0].slice(whole.length).trim())));
    }
    case "quote": return element("blockquote", {}, render(of.lines.map((line) => line.replace(/^ {0,3}> ?/, "")), depth + 1));
    case "list": return list(of, depth);
    case "table": return table(of);
    default: return element("p", { dir: "auto" }, inline(of.lines.map((line) => line.trimStart()).join("\n")));
  }
}

function render(lines, depth) {
  if (depth > DEEPEST) return [element("p", {}, lines.join("\n"))];
  return blocks(lines).map((of) => block(of, depth));
}

// A text that grows: what was shown and is still the same is left alone.
export class Growing {
  #into;
  #text = "";
  #shown = [];
  #frame = null;

  constructor(into) { this.#into = into; }

  get text() { return this.#text; }

  add(text) { this.set(this.#text + text); }

  set(text) {
    this.#text = text;
    this.#frame ??= requestAnimationFrame(() => this.settle());
  }

  settle() {
    cancelAnimationFrame(this.#frame);
    this.#frame = null;
    const found = blocks(this.#text.split("\n")).map((of) => ({ ...of, raw: `${of.kind}\n${of.lines.join("\n")}` }));
    let same = 0;
    while (same < found.length && found[same].raw === this.#shown[same]?.raw) same++;
    for (const { node } of this.#shown.splice(same)) node.remove();
    for (const of of found.slice(same)) {
      const node = block(of, 0);
      this.#into.append(node);
      this.#shown.push({ raw: of.raw, node });
    }
  }
}

export function markdown(text) {
  const made = element("div", { class: "markdown" });
  for (const node of render(text.split("\n"), 0)) made.append(node);
  return made;
}
