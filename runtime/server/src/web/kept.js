// What this browser keeps. The key, what was being written and what a run told end with the tab; how the page looks
// stays. Where nothing can be kept, the page works without.

const KEY = "palisade.key";
const THEME = "palisade.theme";
const DRAFT = "palisade.draft.";
const FOLDED = "palisade.folded.";
const RUN = "palisade.run";
const TOLD = "palisade.told.";
// The most that is kept of a run, in letters; a browser has room for about five million.
const MOST = 1_500_000;

function read(storage, name) {
  try { return storage().getItem(name); } catch { return null; }
}

function write(storage, name, value) {
  try {
    value ? storage().setItem(name, value) : storage().removeItem(name);
    return true;
  } catch { return false; }
}

const tab = () => sessionStorage;
const browser = () => localStorage;

// The key of this server. It is never in an address, and another tab does not have it.
let own = read(tab, KEY) ?? "";
export function key(value) {
  if (value !== undefined) {
    own = value;
    write(tab, KEY, value);
  }
  return own;
}

export function theme(value) {
  if (value !== undefined) write(browser, THEME, value);
  return read(browser, THEME) ?? "";
}

export function draft(session, value) {
  if (value !== undefined) write(tab, DRAFT + (session ?? ""), value);
  return read(tab, DRAFT + (session ?? "")) ?? "";
}

export function isFolded(agent, value) {
  if (value !== undefined) write(browser, FOLDED + agent, value ? "yes" : "");
  return read(browser, FOLDED + agent) === "yes";
}

// Everything that belongs to whoever had the key.
export function forget() {
  key("");
  try {
    for (const name of Object.keys(tab())) if (name.startsWith("palisade.")) tab().removeItem(name);
  } catch { /* nothing is kept */ }
}

// What a run told so far, so that a page that is loaded again goes on where it was.
export class Told {
  #run;
  #waiting = [];
  #parts = 0;
  #length = 0;
  #full = false;
  #timer = null;

  constructor(run) {
    this.#run = run;
    if (read(tab, RUN) !== run) this.drop();
    this.#full = !write(tab, RUN, run);
  }

  // What is kept, in order: `[number, event]`.
  restore() {
    const found = [];
    for (;;) {
      const part = read(tab, TOLD + this.#parts);
      if (part === null) return found;
      try { found.push(...JSON.parse(part)); } catch { return found; }
      this.#parts++;
      this.#length += part.length;
    }
  }

  keep(number, event) {
    if (this.#full) return;
    this.#waiting.push([number, event]);
    this.#timer ??= setTimeout(() => this.flush(), 200);
  }

  flush() {
    clearTimeout(this.#timer);
    this.#timer = null;
    if (this.#full || !this.#waiting.length) return;
    const part = JSON.stringify(this.#waiting);
    this.#waiting = [];
    this.#length += part.length;
    if (this.#length > MOST || !write(tab, TOLD + this.#parts++, part)) {
      this.drop();
      this.#full = true;
    }
  }

  drop() {
    this.#waiting = [];
    try {
      for (const name of Object.keys(tab())) if (name === RUN || name.startsWith(TOLD)) tab().removeItem(name);
    } catch { /* nothing is kept */ }
  }

  get run() { return this.#run; }
}
