// What an agent may do: the tree of ceilings down the delegation chain. Each stands inside the one it cannot exceed.

import * as api from "./api.js";
import * as ceiling from "./ceiling.js";
import { element, folded } from "./dom.js";
import * as scopes from "./scopes.js";
import { tag } from "./timeline.js";
import { plain, short } from "./words.js";

const DEEPEST = 6;
const section = (title, ...content) => element("section", {}, element("h3", {}, title), ...content);

// An agent as its definition has it, and below it the agents it may ask, each under this one's ceiling.
export async function scope(agent, session) {
  scopes.forget();
  const explained = await scopes.of(agent);
  const below = session ? await asked(session, agent, 1) : [];
  return element("div", { class: "scope" },
    element("p", { class: "dim" }, "Every box is a ceiling: nothing inside it reaches beyond it. What is struck out was cut."),
    node(explained, explained, agent, []),
    below.length ? element("section", { class: "was" }, element("h3", {}, "Asked in this session"), element("ul", { class: "tree" }, below)) : null);
}

function head(agent, of, about) {
  return element("header", {}, tag(agent), element("strong", {}, agent), ceiling.marks(of), about && element("span", { class: "dim" }, about));
}

// One agent under a chain: what is left (`explained`) of what it would have alone (`own`).
function node(explained, own, agent, chain) {
  const from = [explained.source, explained.plugin, explained.model].filter(Boolean).join(", ");
  const warnings = (explained.warnings ?? []).map((text) => element("li", {}, plain(text)));
  return element("article", { class: "ceiling", "aria-label": `Ceiling of ${agent}` },
    head(agent, explained.grants, from),
    section("May touch", ceiling.powers(explained.grants, own.grants)),
    chain.length || explained.cut?.length ? section("Cut", ceiling.cuts(explained.cut)) : null,
    section("Tools", ...ceiling.tools(explained).filter(Boolean)),
    warnings.length ? section("Warnings", element("ul", { class: "cuts" }, warnings)) : null,
    element("details", {}, element("summary", {}, "Limits of a call, budget of a run"), ceiling.limits(explained.limits, own.limits), ceiling.budget(explained.budget)),
    chain.length < DEEPEST ? peers(explained, agent, chain) : null);
}

// The agents that one may ask, each opened when somebody looks.
function peers(explained, agent, chain) {
  const names = explained.asks ?? [];
  if (!names.length) return null;
  const items = names.map((name) => element("li", {}, folded([tag(name), element("span", {}, name)], async () => {
    const under = [...chain, agent];
    const [left, own] = await Promise.all([scopes.of(name, under), scopes.of(name)]);
    return node(left, own, name, under);
  })));
  return section("May ask", element("ul", { class: "tree" }, items));
}

// The agents that were asked in a session, with the ceiling each was given and what was cut.
async function asked(session, asker, depth) {
  const children = await api.children(session);
  return Promise.all(children.map(async (child) => {
    const agent = child.agentId;
    const [records, own] = await Promise.all([api.audit(child.sessionId).catch(() => []), scopes.of(agent).catch(() => null)]);
    const spawn = records.find((record) => record.kind === "spawn")?.detail;
    const left = spawn?.ceiling ?? child.ceiling;
    const below = depth < DEEPEST ? await asked(child.sessionId, agent, depth + 1) : [];
    const chain = spawn?.chain ?? child.chain ?? [asker];
    return element("li", {}, element("article", { class: "ceiling", "aria-label": `Ceiling of ${agent}` },
      head(agent, left?.grants, [...chain, agent].join(" → ")),
      element("p", {}, element("a", { href: `#${child.sessionId}` }, short(child.name ?? child.lastSnippet ?? child.sessionId, 80))),
      section("May touch", ceiling.powers(left?.grants, own?.grants ?? left?.grants)),
      section("Cut", ceiling.cuts(spawn?.cut)),
      below.length ? element("ul", { class: "tree" }, below) : null));
  }));
}
