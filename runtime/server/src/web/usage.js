// What was used up, by agent and by day.

import * as api from "./api.js";
import { element } from "./markdown.js";

function bars(rows, value, text) {
  const most = Math.max(1, ...rows.map(value));
  return element("div", { class: "bars" }, ...rows.flatMap((row) => [
    element("span", {}, row.of),
    element("meter", { min: 0, max: most, value: value(row), "aria-label": `${row.of}: ${text(row)}` }),
    element("span", { class: "dim" }, text(row)),
  ]));
}

const tokens = (row) => row.spending.usage.input_tokens + row.spending.usage.output_tokens;
const dollars = (row) => ((row.spending.usage.cost_micros ?? 0) / 1e6).toFixed(2);

export async function usage() {
  const [agents, days] = await Promise.all([api.usage("agent"), api.usage("day")]);
  const text = (row) => `${row.runs} runs, ${tokens(row)} tokens, ${row.spending.calls} calls, $${dollars(row)}`;
  return element("div", {},
    element("h3", {}, "By agent"), bars(agents.data, tokens, text),
    element("h3", {}, "By day"), bars(days.data, (row) => row.runs, text));
}
