// One ceiling, drawn: what is below it, and what of an agent's own definition it cuts.

import { element, facts } from "./dom.js";
import { badges, grants } from "./scopes.js";
import { plain, size, time } from "./words.js";

const LIMITS = [
  ["memory", "memory", size],
  ["call_time_ms", "time of a call", (value) => time(value * 1000)],
  ["output", "output", size],
  ["written", "written", size],
  ["created", "files made", String],
  ["open_files", "open files", String],
];

const all = (list) => list.map((text) => (text === "*" ? "any" : text));

// Words for each kind of grant: what is there.
function words(of) {
  const { files, http, commands, agents, env, secrets, outside, storage } = grants(of);
  return {
    files: files.map((file) => `${file.path === "." ? "the workspace" : file.path}: ${file.access === "none" ? "hidden" : file.access}`),
    http: all(http), commands: all(commands), agents: all(agents), env: all(env), secrets: all(secrets), outside: all(outside),
    storage: storage ? [size(storage.bytes ?? 0)] : [],
  };
}

const NAMES = {
  files: "files", http: "hosts", commands: "programs", agents: "may ask", env: "variables", secrets: "secrets", outside: "outside programs",
  storage: "own space",
};

// The grants of an agent; those of its own definition that are not left are struck out.
export function powers(left, own = left) {
  const [now, before] = [words(left), words(own)];
  const rows = Object.keys(NAMES).map((name) => {
    const there = now[name].map((text) => element("span", { class: "chip there" }, plain(text)));
    const gone = before[name].filter((text) => !now[name].includes(text)).map((text) =>
      element("del", { class: "chip gone", title: "cut" }, plain(text)));
    const none = there.length + gone.length ? [] : [element("span", { class: "chip absent" }, "none")];
    return [NAMES[name], element("span", { class: "chips" }, there, gone, none)];
  });
  return facts(rows, { class: "facts powers-of" });
}

// What each call may use up; a limit that was lowered says so.
export function limits(left, own = left) {
  const rows = LIMITS.filter(([name]) => left?.[name] != null).map(([name, title, show]) => {
    const lowered = own?.[name] != null && own[name] > left[name];
    const both = lowered && element("span", { class: "warn" }, element("del", {}, show(own[name])), ` ${show(left[name])}`);
    return [title, both || show(left[name])];
  });
  return facts(rows);
}

// What a run may use up.
export function budget(of) {
  const { steps, tokens, calls, cost_micros, time: seconds, depth } = of ?? {};
  return facts([
    ["steps", steps != null && steps < 2 ** 32 - 1 ? String(steps) : null], ["tokens", tokens && String(tokens)], ["calls", calls && String(calls)],
    ["cost", cost_micros && `$${cost_micros / 1e6}`], ["time", seconds && `${seconds} s`], ["agents below", depth != null ? String(depth) : null],
  ]);
}

export function cuts(list) {
  if (!list?.length) return element("p", { class: "dim" }, "Nothing is cut here.");
  return element("ul", { class: "cuts", "aria-label": "What is cut here" }, list.map((text) => element("li", {}, plain(text))));
}

export const marks = (of) => badges(of).map(([text, kind]) => element("span", { class: `badge ${kind}` }, text));

// The tools that are there, each with what it needs; and those that are not, each with the reason.
export function tools({ tools = [], excluded = [] }) {
  const there = tools.map((tool) => element("li", { class: tool.unavailable ? "absent" : "there", title: tool.unavailable },
    element("code", {}, tool.name), " ", element("span", { class: "dim" }, [...tool.capabilities, tool.source === "core" ? null : tool.source, tool.unavailable].filter(Boolean).join(", "))));
  const absent = excluded.map((tool) => element("li", {}, element("del", {}, element("code", {}, tool.name)), ` ${plain(tool.reason)}`, tool.rule && element("code", { class: "dim" }, ` ${plain(tool.rule)}`)));
  return [
    element("ul", { class: "tools", "aria-label": "Tools" }, there.length ? there : element("li", { class: "absent" }, "no tools")),
    absent.length ? element("details", {}, element("summary", {}, `${absent.length} not there, and why`), element("ul", { class: "excluded" }, absent)) : null,
  ];
}
