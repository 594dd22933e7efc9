// What was said before, in the words in which a run tells what happens: one way to show both.

import { short } from "./words.js";

export function* retold(entries) {
  const tools = new Map();
  for (const entry of entries) {
    switch (entry.entry) {
      case "user":
        yield { event: "asked", text: entry.text, at: entry.at };
        break;
      case "reply":
        yield { event: "model_replied", text: entry.text ?? "", thinking: entry.thinking ?? "", calls: entry.calls?.length ?? 0 };
        for (const { id, tool, input } of entry.calls ?? []) {
          tools.set(id, tool);
          yield { event: "call_started", id, tool, input: short(JSON.stringify(input), 400), whole: input };
        }
        break;
      case "result":
        yield finished(entry, tools.get(entry.id) ?? "?");
        break;
      case "notice":
        yield { event: "noticed", text: entry.text };
        break;
      case "summary":
        yield { event: "summarised", text: entry.text, covers: entry.covers };
        break;
    }
  }
}

function finished({ id, result }, tool) {
  const text = result.done ?? result.failed?.text ?? "";
  return {
    event: "call_finished", id, tool, failure: result.failed?.kind ?? null, summary: short(text.split("\n", 1)[0]),
    micros: result.cost?.micros ?? 0, peak_memory: result.cost?.peak_memory ?? 0,
    bytes: new TextEncoder().encode(text).length, denials: result.denials ?? [], artifact: result.artifact, whole: text,
  };
}

// Where the last run begins in the entries of its session: at what was asked of it.
export function beginning(entries, run) {
  if (!run) return entries.length;
  const asked = entries.findLastIndex((entry) => entry.entry === "user");
  return asked < 0 ? entries.length : asked;
}
