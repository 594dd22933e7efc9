// What was called, by whom, at what cost, and what the sandbox refused; agents that were asked stand below who asked.

import { element } from "./markdown.js";

const side = document.getElementById("timeline");
let root, open, calls;

export function clear() {
  root = element("ol");
  open = new Map([["", root]]);
  calls = new Map();
  side.replaceChildren(element("h2", {}, "Calls"), root);
}

const time = (micros) => micros < 1000 ? `${micros} µs` : micros < 1e6 ? `${(micros / 1000).toFixed(1)} ms` : `${(micros / 1e6).toFixed(1)} s`;
const size = (bytes) => bytes < 1024 ? `${bytes} B` : bytes < 1 << 20 ? `${(bytes / 1024).toFixed(1)} KiB` : `${(bytes / (1 << 20)).toFixed(1)} MiB`;

function line(list, mark, name, took = "") {
  const parts = {
    mark: element("span", { class: "mark" }, mark),
    took: element("span", { class: "took" }, took),
    facts: element("dl"),
  };
  const details = element("details", {}, element("summary", {}, parts.mark, element("span", {}, name), parts.took), parts.facts);
  list.append(element("li", {}, details));
  return { ...parts, details };
}

const fact = (line, name, value, kind = "") => line.facts.append(element("dt", {}, name), element("dd", { class: kind }, value));

export function tell(event, task = "") {
  const list = open.get(task) ?? root;
  const key = (id) => `${task}/${id}`;
  switch (event.event) {
    case "call_started": {
      const made = line(list, "…", event.tool);
      fact(made, "input", event.input);
      calls.set(key(event.id), made);
      break;
    }
    case "call_progress": {
      const made = calls.get(key(event.id));
      if (made) made.took.textContent = event.message;
      break;
    }
    case "call_finished": {
      const made = calls.get(key(event.id)) ?? line(list, "…", event.tool);
      const refused = event.denials.length > 0;
      made.mark.textContent = event.failure ? "✗" : refused ? "!" : "✓";
      made.mark.className = `mark ${event.failure ? "bad" : refused ? "warn" : "good"}`;
      made.took.textContent = time(event.micros);
      fact(made, "result", event.summary);
      fact(made, "cost", `${time(event.micros)}, ${size(event.bytes)} read by the model`);
      if (event.failure) fact(made, "failed", event.failure, "bad");
      fact(made, "sandbox", refused ? "" : "refused nothing");
      for (const denial of event.denials) fact(made, "refused", denial, "warn");
      if (event.artifact) fact(made, "whole output", event.artifact);
      if (refused || event.failure) made.details.open = true;
      break;
    }
    case "subagent_start": {
      const made = line(list, "◆", `${event.agent}: ${event.description}`);
      fact(made, "session", event.session);
      for (const cut of event.cut) fact(made, "cut", cut, "warn");
      const below = element("ol");
      made.details.append(below);
      made.details.open = true;
      open.set(event.task, below);
      calls.set(`task/${event.task}`, made);
      break;
    }
    case "subagent_progress": tell(event.of, event.task); break;
    case "subagent_end": {
      const made = calls.get(`task/${event.task}`);
      if (!made) break;
      made.mark.className = `mark ${event.success ? "good" : "bad"}`;
      made.took.textContent = `${event.usage.input_tokens + event.usage.output_tokens} tokens`;
      break;
    }
  }
}

clear();
