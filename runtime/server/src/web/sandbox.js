// One call as the sandbox saw it: what it was allowed, what was refused, and what it cost.

import { element, facts, folded } from "./dom.js";
import { POWERS, reach } from "./scopes.js";
import { count, json, plain, size, time, whole } from "./words.js";

// How a call ended: a sign, its colour, and words for it.
export function outcome(event) {
  if (event.failure === "denied") return ["⊘", "bad", "refused"];
  if (event.failure) return ["✗", "bad", event.failure.replaceAll("_", " ")];
  if (event.denials?.length) return ["!", "warn", "done, some of it was refused"];
  return ["✓", "good", "done"];
}

// What a tool could reach: each kind of power, there or not there.
export function allowed(explained, name) {
  const tool = (explained.tools ?? []).find((tool) => tool.name.toLowerCase() === name.toLowerCase());
  if (!tool) return element("p", { class: "dim" }, "This agent has no such tool: nothing was linked, and nothing was run.");
  const own = tool.grants ?? explained.grants;
  const powers = POWERS.map(([power, meaning]) => {
    const reached = tool.capabilities.includes(power) ? reach(power, own) : [];
    const title = reached.length ? `${meaning}: ${reached.join(", ")}` : `not linked: it is not there`;
    return element("li", { class: reached.length ? "there" : "absent", title },
      element("code", {}, power), reached.length ? ` ${plain(reached.slice(0, 4).join(", "))}${reached.length > 4 ? ` and ${reached.length - 4} more` : ""}` : null,
      element("span", { class: "hidden" }, reached.length ? "" : " not there"));
  });
  const lacks = tool.not_granted && element("p", { class: "warn" }, `Not granted: ${tool.not_granted.words.join(", ")}; ${tool.not_granted.remedy}`);
  return [element("ul", { class: "powers", "aria-label": "What was linked" }, powers), lacks];
}

// What was refused on the way, each with what would allow it.
export function refused({ denials = [] }) {
  if (!denials.length) return element("p", { class: "dim" }, "Nothing was refused.");
  return element("ul", { class: "denials" }, denials.map((text) => element("li", {}, plain(text))));
}

// What it used up, against what it might have.
export function cost(event, limits) {
  const bar = (used, most) => (most ? element("meter", { min: 0, max: most, value: Math.min(used, most), "aria-hidden": "true" }) : null);
  const row = (used, most, words) => element("span", { class: "cost" }, bar(used, most), ` ${words(used)}${most ? ` of ${words(most)}` : ""}`);
  return facts([
    ["time", row(event.micros, limits?.call_time_ms ? limits.call_time_ms * 1000 : 0, time)],
    ["memory", event.peak_memory ? row(event.peak_memory, limits?.memory, size) : null],
    ["output", row(event.bytes, limits?.output, size)],
    ["whole output", event.artifact && plain(event.artifact)],
  ]);
}

// The whole of a call: its parts are made when somebody opens it.
export function detail(call, explain, read) {
  const { started, event } = call;
  const heading = (text) => element("h4", {}, text);
  const parts = [heading("Input"), element("pre", { tabindex: "0", "aria-label": "Input" }, element("code", {}, input(started)))];
  const link = element("div", {}, element("p", { class: "dim" }, "…"));
  const spent = element("div");
  explain().then(
    (explained) => {
      link.replaceChildren(...[allowed(explained, started.tool)].flat().filter(Boolean));
      if (event) spent.replaceChildren(cost(event, explained.limits));
    },
    (problem) => {
      link.replaceChildren(element("p", { class: "dim" }, `What was allowed is not known: ${problem.message}`));
      if (event) spent.replaceChildren(cost(event));
    },
  );
  parts.push(heading("Allowed"), link);
  if (!event) return [...parts, element("p", { class: "dim" }, "It is still at work.")];
  parts.push(heading("Refused"), refused(event), heading("Cost"), spent);
  if (event.failure) parts.push(heading("Failed"), element("p", { class: "bad" }, `${outcome(event)[2]}: ${plain(event.summary)}`));
  parts.push(folded("What the model read", async () => {
    const text = event.whole ?? (await read(started.id));
    return element("pre", { tabindex: "0", "aria-label": "What the model read" }, element("code", {}, plain(text ?? event.summary)));
  }));
  return parts;
}

function input(started) {
  if (started.whole !== undefined) return json(started.whole);
  try { return json(JSON.parse(started.input)); } catch { return plain(started.input); }
}

// What all calls come to.
export function total({ calls, refused, failed, micros, tokens, cost_micros, steps }) {
  const parts = [count(calls, "call")];
  if (refused) parts.push(`${whole(refused)} refused`);
  if (failed) parts.push(`${whole(failed)} failed`);
  if (micros) parts.push(`${time(micros)} in tools`);
  if (steps) parts.push(count(steps, "step"));
  if (tokens) parts.push(count(tokens, "token"));
  if (cost_micros) parts.push(`$${(cost_micros / 1e6).toFixed(4)}`);
  return parts.join(" · ");
}
