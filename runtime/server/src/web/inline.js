// What stands inside a paragraph: code, emphasis, links. Read once from left to right, so that no text, however it is
// made, takes longer than its length.

import { element } from "./dom.js";

// How deep emphasis and links may stand inside each other; what is deeper stays as it was written.
const DEEPEST = 16;
const LONGEST_ADDRESS = 2000;
const PUNCTUATION = /[!-/:-@[-`{-~]/;
const BARE = /https?:\/\/[^\s<>"'`|\\^{}]{1,2000}/y;
const AFTER_ADDRESS = ".,;:!?*_~])";
const ENTITIES = { "&amp;": "&", "&lt;": "<", "&gt;": ">", "&quot;": "\"", "&#39;": "'", "&nbsp;": "\u00a0" };

// The address of a link, if it is one that may be followed: a page on the web, and nothing that this page would run.
export function address(text) {
  if (text.length > LONGEST_ADDRESS) return null;
  let url;
  try { url = new URL(text); } catch { return null; }
  // Names and passwords in an address only serve to look like another one.
  return (url.protocol === "http:" || url.protocol === "https:") && !url.username && !url.password ? url : null;
}

// A link that says where it leads, whatever its text says. Nothing is fetched before somebody follows it.
export function link(url, label) {
  const shown = label.map((part) => (typeof part === "string" ? part : part.textContent)).join("");
  const tells = shown.includes(url.host);
  return element("a", {
    href: url.href, title: url.href, target: "_blank", rel: "noopener noreferrer nofollow", referrerpolicy: "no-referrer",
  }, label, tells ? null : element("span", { class: "host" }, ` (${url.host})`));
}

export function inline(text) {
  const reader = new Reader(text);
  reader.read();
  return reader.out;
}

class Reader {
  out = [];
  #text;
  #at = 0;
  #plain = "";
  // What was opened and not closed: `{ mark, index }`, where it begins in `out`.
  #open = [];
  // Lengths of runs of backticks that nothing closes from here on.
  #unclosed = new Set();

  constructor(text) { this.#text = text; }

  read() {
    const text = this.#text;
    while (this.#at < text.length) {
      const sign = text[this.#at];
      if (sign === "\\" && PUNCTUATION.test(text[this.#at + 1] ?? "")) this.#add(text[this.#at + 1], 2);
      else if (sign === "\\" && text[this.#at + 1] === "\n") this.#push(element("br"), 2);
      else if (sign === "\n") this.#lineEnd();
      else if (sign === "`") this.#code();
      else if (sign === "*" || sign === "_" || sign === "~") this.#emphasis(sign);
      else if (sign === "!" && text[this.#at + 1] === "[") this.#opens("![");
      else if (sign === "[") this.#opens("[");
      else if (sign === "]") this.#closes();
      else if (sign === "<") this.#angle();
      else if (sign === "h" && !/\w/.test(text[this.#at - 1] ?? "")) this.#bare();
      else if (sign === "&") this.#entity();
      else this.#add(sign, 1);
    }
    this.#flush();
  }

  #add(text, length) {
    this.#plain += text;
    this.#at += length;
  }

  #flush() {
    if (this.#plain) this.out.push(this.#plain);
    this.#plain = "";
  }

  #push(node, length) {
    this.#flush();
    this.out.push(node);
    this.#at += length;
  }

  #lineEnd() {
    const [text, at] = [this.#text, this.#at];
    if (text[at - 1] !== " " || text[at - 2] !== " ") return this.#add("\n", 1);
    this.#plain = this.#plain.trimEnd();
    this.#push(element("br"), 1);
  }

  #code() {
    let length = 1;
    while (this.#text[this.#at + length] === "`") length++;
    const from = this.#at + length;
    for (let at = from; !this.#unclosed.has(length); ) {
      at = this.#text.indexOf("`", at);
      if (at < 0) { this.#unclosed.add(length); break; }
      let end = at + 1;
      while (this.#text[end] === "`") end++;
      if (end - at === length) {
        const code = this.#text.slice(from, at).replaceAll("\n", " ");
        const padded = code.startsWith(" ") && code.endsWith(" ") && code.trim() !== "";
        return this.#push(element("code", {}, padded ? code.slice(1, -1) : code), end - this.#at);
      }
      at = end;
    }
    this.#add("`".repeat(length), length);
  }

  #emphasis(sign) {
    let length = 1;
    while (this.#text[this.#at + length] === sign) length++;
    const [before, after] = [this.#text[this.#at - 1] ?? " ", this.#text[this.#at + length] ?? " "];
    const marks = sign === "~" ? (length === 2 ? ["~~"] : []) : { 1: [sign], 2: [sign + sign], 3: [sign, sign + sign] }[length] ?? [];
    const inWord = sign === "_" && /\w/.test(before) && /\w/.test(after);
    if (!marks.length || inWord) return this.#add(sign.repeat(length), length);
    for (const mark of /\S/.test(before) ? [...marks].reverse() : marks) {
      const opened = /\S/.test(before) ? this.#open.findLastIndex((open) => open.mark === mark) : -1;
      if (opened >= 0) this.#wrap(opened, { "~~": "s", [sign]: "em" }[mark] ?? "strong", mark.length);
      else if (/\S/.test(after) && this.#open.length < DEEPEST) this.#opens(mark);
      else this.#add(mark, mark.length);
    }
  }

  #opens(mark) {
    if (this.#open.length >= DEEPEST) return this.#add(mark, mark.length);
    this.#flush();
    this.#open.push({ mark, index: this.out.length });
    this.#push(mark, mark.length);
  }

  // Takes what follows an opening mark into an element.
  #wrap(opened, name, length) {
    this.#flush();
    const { index } = this.#open[opened];
    this.#open.length = opened;
    const inside = this.out.splice(index).slice(1);
    this.#push(element(name, {}, inside), length);
  }

  #closes() {
    const opened = this.#open.findLastIndex(({ mark }) => mark === "[" || mark === "![");
    const target = /^\]\(\s*<?([^\s<>()]*(?:\([^\s<>()]*\)[^\s<>()]*)*)>?(?:\s+(?:"[^"]*"|'[^']*'))?\s*\)/;
    const found = opened < 0 ? null : target.exec(this.#text.slice(this.#at, this.#at + LONGEST_ADDRESS + 200));
    if (!found) {
      if (opened >= 0) this.#open.splice(opened, 1);
      return this.#add("]", 1);
    }
    const url = address(found[1]);
    // What leads nowhere stays as it was written, to be seen for what it is.
    if (!url) {
      this.#open.splice(opened, 1);
      return this.#add(found[0], found[0].length);
    }
    this.#flush();
    const { mark, index } = this.#open[opened];
    this.#open.length = opened;
    const label = this.out.splice(index).slice(1).map((part) => (part.nodeName === "A" ? part.textContent : part));
    // Pictures are not fetched: whoever draws one would be told that, and when, it was looked at.
    const shown = mark === "![" ? ["🖼 ", ...(label.length ? label : ["picture"])] : label.length ? label : [url.href];
    this.#push(link(url, shown), found[0].length);
  }

  #angle() {
    const found = /^<(https?:\/\/[^\s<>]{1,2000})>/.exec(this.#text.slice(this.#at, this.#at + LONGEST_ADDRESS));
    const url = found && address(found[1]);
    if (url) this.#push(link(url, [found[1]]), found[0].length);
    else this.#add("<", 1);
  }

  #bare() {
    BARE.lastIndex = this.#at;
    const found = BARE.exec(this.#text);
    let text = found?.[0] ?? "";
    const balanced = text.includes("(");
    while (AFTER_ADDRESS.includes(text.at(-1) ?? " ") && !(balanced && text.endsWith(")"))) text = text.slice(0, -1);
    const url = text && !this.#open.some(({ mark }) => mark === "[") ? address(text) : null;
    if (url) this.#push(link(url, [text]), text.length);
    else this.#add("h", 1);
  }

  #entity() {
    const found = /^&(?:amp|lt|gt|quot|#39|nbsp);/.exec(this.#text.slice(this.#at, this.#at + 8))?.[0];
    this.#add(found ? ENTITIES[found] : "&", found?.length ?? 1);
  }
}
