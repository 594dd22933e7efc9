// What was used up: by day, by agent, by session.

import * as api from "./api.js";
import { bars, columns } from "./chart.js";
import { button, element } from "./dom.js";
import { complain } from "./dialog.js";
import { find, title } from "./sessions.js";
import { count, dollars, short, time, whole } from "./words.js";

const DAY = 86_400_000;
const PERIODS = [[7, "7 days"], [30, "30 days"], [90, "90 days"]];
const usage = (row) => row.spending.usage;
const UNITS = {
  Tokens: { parts: [{ name: "read", value: (row) => usage(row).input_tokens }, { name: "written", value: (row) => usage(row).output_tokens }], show: whole },
  Cost: { parts: [{ name: "cost", value: (row) => usage(row).cost_micros ?? 0 }], show: dollars },
  Runs: { parts: [{ name: "answered", value: (row) => row.answered }, { name: "ended otherwise", value: (row) => row.runs - row.answered }], show: whole },
  Calls: { parts: [{ name: "calls", value: (row) => row.spending.calls }], show: whole },
};

// Every day of a period, also those on which nothing was done.
function days(rows, period) {
  const known = new Map(rows.map((row) => [row.of.slice(0, 10), row]));
  const empty = { runs: 0, answered: 0, spending: { calls: 0, usage: { input_tokens: 0, output_tokens: 0 } } };
  return Array.from({ length: period }, (_, at) => {
    const of = new Date(Date.now() - (period - 1 - at) * DAY).toISOString().slice(0, 10);
    return { ...empty, ...known.get(of), of };
  });
}

function sums(rows) {
  const sum = (value) => rows.reduce((all, row) => all + value(row), 0);
  const shown = [
    [count(sum((row) => row.runs), "run"), `${whole(sum((row) => row.answered))} answered`],
    [count(sum((row) => row.spending.calls), "call"), "in sandboxes"],
    [count(sum((row) => usage(row).input_tokens + usage(row).output_tokens), "token"), `${whole(sum((row) => usage(row).cached_tokens ?? 0))} from a cache`],
    [dollars(sum((row) => usage(row).cost_micros ?? 0)), "where prices are known"],
    [time(sum((row) => row.spending.micros ?? 0)), "at work"],
  ];
  return element("ul", { class: "sums" }, shown.map(([large, small]) => element("li", {}, element("strong", {}, large), element("span", { class: "dim" }, small))));
}

// A choice of one of several.
function choice(label, options, chosen, take) {
  const made = options.map(([value, text]) => button(text, () => take(value), { "aria-pressed": String(value === chosen) }));
  return element("div", { class: "choice", role: "group", "aria-label": label }, made);
}

export async function usageView() {
  const view = element("div", { class: "usage" });
  let [period, unit] = [30, "Tokens"];
  const draw = async () => {
    const since = new Date(Date.now() - (period - 1) * DAY).toISOString().slice(0, 10) + "T00:00:00Z";
    const [byDay, byAgent, bySession] = await Promise.all(["day", "agent", "session"].map((by) => api.usage(by, since)));
    const { parts, show } = UNITS[unit];
    const named = bySession.map((row) => ({ ...row, of: find(row.of) ? short(title(find(row.of)), 40) : row.of.slice(0, 8) || "deleted" }));
    const again = (change) => async (value) => { change(value); await draw().catch(complain); view.querySelector("[aria-pressed=true]")?.focus(); };
    view.replaceChildren(
      element("div", { class: "row" }, choice("Period", PERIODS, period, again((value) => { period = value; })),
        choice("Unit", Object.keys(UNITS).map((name) => [name, name]), unit, again((value) => { unit = value; }))),
      sums(byAgent), columns(`${unit} by day`, days(byDay, period), parts, show),
      bars(`${unit} by agent`, byAgent, parts, show), bars(`${unit} by session`, named, parts, show));
  };
  await draw();
  return view;
}
