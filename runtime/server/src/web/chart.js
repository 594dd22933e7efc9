// Charts, drawn here: bars, with the numbers as a table for whoever wants them, or does not see the bars.

import { element, shape } from "./dom.js";

const WIDTH = 720;
const HEIGHT = 220;
const LEFT = 64;
const BELOW = 28;

// A round number that is not less.
function ceiling(value) {
  if (value <= 0) return 1;
  const power = 10 ** Math.floor(Math.log10(value));
  return [1, 2, 2.5, 5, 10].map((step) => step * power).find((step) => step >= value);
}

function table(title, rows, parts, show) {
  const head = element("tr", {}, ["of", ...parts.map((part) => part.name)].map((name) => element("th", { scope: "col" }, name)));
  const lines = rows.map((row) => element("tr", {}, element("th", { scope: "row" }, row.of), parts.map((part) => element("td", { class: "end" }, show(part.value(row))))));
  return element("details", {}, element("summary", {}, "As a table"),
    element("div", { class: "wide", tabindex: "0", role: "group", "aria-label": title },
      element("table", {}, element("caption", { class: "hidden" }, title), element("thead", {}, head), element("tbody", {}, lines))));
}

const legend = (parts) =>
  element("p", { class: "legend" }, parts.map((part, at) => element("span", { class: `part-${at}` }, element("span", { class: "swatch", "aria-hidden": "true" }), part.name)));

// A bar for each row, standing; `parts` are `{ name, value(row) }`, one on the other.
export function columns(title, rows, parts, show) {
  const sum = (row) => parts.reduce((all, part) => all + part.value(row), 0);
  const most = ceiling(Math.max(0, ...rows.map(sum)));
  const [inner, tall] = [WIDTH - LEFT, HEIGHT - BELOW];
  const step = inner / Math.max(rows.length, 1);
  const y = (value) => tall - (value / most) * (tall - 12);
  const lines = [0, 0.25, 0.5, 0.75, 1].map((share) => [
    shape("line", { class: "grid", x1: LEFT, x2: WIDTH, y1: y(share * most), y2: y(share * most) }),
    shape("text", { class: "axis", x: LEFT - 6, y: y(share * most) + 4, "text-anchor": "end" }, show(share * most)),
  ]);
  const bars = rows.map((row, at) => {
    let base = 0;
    return parts.map((part, index) => {
      const value = part.value(row);
      const bar = shape("rect", {
        class: `part-${index}`, x: LEFT + at * step + step * 0.15, width: Math.max(step * 0.7, 1),
        y: y(base + value), height: Math.max(y(base) - y(base + value), value ? 1 : 0),
      }, shape("title", {}, `${row.of}, ${part.name}: ${show(value)}`));
      base += value;
      return bar;
    });
  });
  const every = Math.ceil(rows.length / 8);
  const names = rows.map((row, at) => (at % every ? null : shape("text", { class: "axis", x: LEFT + (at + 0.5) * step, y: HEIGHT - 8, "text-anchor": "middle" }, row.of.slice(5))));
  const said = `${title}: ${rows.length} days, the most ${show(Math.max(0, ...rows.map(sum)))}`;
  return element("figure", { class: "chart" }, element("figcaption", {}, title), parts.length > 1 ? legend(parts) : null,
    shape("svg", { viewBox: `0 0 ${WIDTH} ${HEIGHT}`, role: "img", "aria-label": said }, lines.flat(), bars.flat(), names),
    table(title, rows, parts, show));
}

// A bar for each row, lying, the longest first.
export function bars(title, rows, parts, show) {
  const sum = (row) => parts.reduce((all, part) => all + part.value(row), 0);
  const shown = [...rows].sort((one, other) => sum(other) - sum(one)).slice(0, 12);
  const most = Math.max(1, ...shown.map(sum));
  const [name, line] = [180, 26];
  const room = WIDTH - name - 110;
  const drawn = shown.map((row, at) => {
    let from = name;
    const made = parts.map((part, index) => {
      const width = (part.value(row) / most) * room;
      const bar = shape("rect", { class: `part-${index}`, x: from, y: at * line + 5, width, height: line - 10 }, shape("title", {}, `${row.of}, ${part.name}: ${show(part.value(row))}`));
      from += width;
      return bar;
    });
    const label = row.of.length > 24 ? `${row.of.slice(0, 23)}…` : row.of;
    return [
      shape("text", { class: "axis", x: name - 8, y: at * line + line / 2 + 4, "text-anchor": "end" }, label), ...made,
      shape("text", { class: "axis", x: from + 6, y: at * line + line / 2 + 4 }, show(sum(row))),
    ];
  });
  return element("figure", { class: "chart" }, element("figcaption", {}, title),
    shape("svg", { viewBox: `0 0 ${WIDTH} ${Math.max(shown.length, 1) * line}`, role: "img", "aria-label": `${title}: ${shown.map((row) => `${row.of} ${show(sum(row))}`).join(", ") || "nothing"}` }, drawn.flat()),
    table(title, rows, parts, show));
}
