// What an agent may do: one ceiling inside the other, and what each of them cuts.

import * as api from "./api.js";
import { element } from "./markdown.js";

const words = (value) => typeof value === "string" ? value : Array.isArray(value) ? value.join(", ") || "none" : JSON.stringify(value);

function grants(of) {
  const list = element("dl");
  for (const [name, value] of Object.entries(of ?? {})) {
    if (value == null || (Array.isArray(value) && !value.length)) continue;
    list.append(element("dt", {}, name), element("dd", {}, words(value)));
  }
  return list;
}

export async function scope(agent, session, chain = []) {
  const explained = await api.explain(agent);
  const shown = element("div", { class: "scope" });
  const tools = element("ul", {}, ...(explained.tools ?? []).map((tool) => element("li", {}, element("code", {}, tool.name ?? tool), ` ${(tool.needs ?? tool.capabilities ?? []).join(", ")}`)));
  const absent = element("ul", {}, ...(explained.absent ?? explained.not_there ?? []).map((tool) =>
    element("li", {}, element("span", { class: "cut" }, tool.name ?? tool.tool), ` ${tool.why ?? tool.reason ?? ""}`)));
  const own = element("section", { class: "ceiling" },
    element("h3", {}, agent), grants(explained.grants), element("h4", {}, "Tools"), tools,
    element("details", {}, element("summary", {}, "Not there, and why"), absent));
  // Every spawn was written down with its chain, its ceiling and what was cut.
  if (session) {
    const records = (await api.audit(session)).data.filter((record) => record.kind === "spawn");
    for (const record of records.reverse()) {
      const cut = (record.detail.cut ?? []).map((text) => element("li", { class: "warn" }, text));
      own.append(element("section", { class: "ceiling" },
        element("h4", {}, `${(record.detail.chain ?? []).join(" → ")} → ${record.detail.agent}`),
        grants(record.detail.ceiling?.grants), cut.length ? element("ul", {}, ...cut) : element("p", { class: "dim" }, "nothing was cut")));
    }
  }
  shown.append(own);
  return shown;
}
