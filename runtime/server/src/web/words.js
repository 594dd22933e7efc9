// Numbers, moments and foreign text in words.

export const count = (number, one, many = `${one}s`) => `${whole(number)} ${number === 1 ? one : many}`;

export const whole = (number) => Math.round(number).toLocaleString("en");

export function time(micros) {
  if (micros < 1000) return `${micros} µs`;
  if (micros < 1e6) return `${(micros / 1000).toFixed(micros < 1e4 ? 1 : 0)} ms`;
  if (micros < 6e7) return `${(micros / 1e6).toFixed(1)} s`;
  return `${Math.floor(micros / 6e7)} min ${Math.round((micros % 6e7) / 1e6)} s`;
}

export function size(bytes) {
  if (bytes < 1024) return `${bytes} B`;
  for (const [unit, shift] of [["KiB", 10], ["MiB", 20], ["GiB", 30]]) {
    const value = bytes / 2 ** shift;
    if (value < 1024 || unit === "GiB") return `${Number.isInteger(value) ? value : value.toFixed(1)} ${unit}`;
  }
}

export const dollars = (micros) => `$${(micros / 1e6).toFixed(micros && micros < 1e4 ? 4 : 2)}`;

export function ago(moment, now = Date.now()) {
  const seconds = Math.max(0, (now - Date.parse(moment)) / 1000);
  if (seconds < 60) return "now";
  if (seconds < 3600) return `${Math.floor(seconds / 60)} min`;
  if (seconds < 86400) return `${Math.floor(seconds / 3600)} h`;
  if (seconds < 7 * 86400) return `${Math.floor(seconds / 86400)} d`;
  return new Date(moment).toLocaleDateString();
}

export const short = (text, length = 120) => (text.length > length ? `${text.slice(0, length)}…` : text);

// The words of a Markdown text, for where there is room for a line.
export const bare = (text) => text.replace(/^<context[^>]*>/, "").replace(/[#*`>_~|]+/g, " ").replace(/\s+/g, " ").trim();

// Signs that cannot be seen or that turn the order of what follows: what somebody decides about must look as it is.
const UNSEEN = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u2028-\u202e\u2060-\u206f\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff9-\ufffb]|[\u{1bca0}-\u{1bca3}\u{e0000}-\u{e0fff}]/gu;

export const plain = (text) =>
  String(text).replace(UNSEEN, (sign) => `⟨U+${sign.codePointAt(0).toString(16).toUpperCase().padStart(4, "0")}⟩`);

// Something as JSON for people, as it is.
export const json = (value) => plain(JSON.stringify(value, null, 2) ?? "");

// How a run ended, in words.
export function ending(ended) {
  const [kind, detail] = typeof ended === "string" ? [ended, null] : (Object.entries(ended ?? {})[0] ?? ["unknown", null]);
  const known = {
    answered: "answered",
    spent: `its budget is spent: ${detail}`,
    circling: "the model did nothing but repeat itself",
    cancelled: "cancelled",
    failed: `the model gave no reply: ${detail}`,
    unfit: `the answer does not have the form it should have: ${detail}`,
    unwritten: `what was done could not be written down: ${detail}`,
  };
  return { kind, text: known[kind] ?? [kind, detail].filter(Boolean).join(": ") };
}

// A colour of its own for each agent, the same everywhere and every day.
export function hue(agent) {
  let sum = 7;
  for (const letter of agent) sum = (sum * 31 + letter.codePointAt(0)) % 360;
  return sum;
}
