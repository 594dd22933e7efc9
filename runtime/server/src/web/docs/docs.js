// Shows /openapi.json. Every text goes into the page as text.

const about = document.getElementById("about");
const search = document.getElementById("search");
const count = document.getElementById("count");
const routes = document.getElementById("routes");

/** An element with attributes and children. */
function make(name, attributes, ...children) {
  const element = document.createElement(name);
  for (const [key, value] of Object.entries(attributes ?? {})) element.setAttribute(key, value);
  element.append(...children.filter((child) => child !== null));
  return element;
}

/** What a reference leads to. */
function resolve(api, value) {
  const path = value?.$ref?.replace(/^#\//, "").split("/");
  return path ? path.reduce((at, part) => at?.[part], api) : value;
}

/** A type in a few words. */
function brief(schema) {
  if (!schema) return "anything";
  if (schema.$ref) return schema.$ref.split("/").pop();
  for (const word of ["oneOf", "anyOf", "allOf"]) {
    if (schema[word]) return schema[word].map(brief).join(word === "allOf" ? " & " : " | ");
  }
  if (schema.enum) return schema.enum.map((value) => JSON.stringify(value)).join(" | ");
  const types = [schema.type ?? "anything"].flat();
  const words = types.map((type) => (type === "array" ? `${brief(schema.items)}[]` : type));
  return words.join(" | ") + (schema.format ? ` (${schema.format})` : "");
}

/** A type with all that is in it, as indented lines. */
function whole(api, schema, depth, above) {
  const pad = "  ".repeat(depth);
  const name = schema?.$ref;
  if (name && above.includes(name)) return `${pad}… ${brief(schema)}, as above`;
  const found = resolve(api, schema) ?? {};
  const inside = name ? [...above, name] : above;
  if (depth > 8) return `${pad}…`;
  const parts = found.allOf ?? found.oneOf ?? found.anyOf;
  if (parts) {
    const joint = found.allOf ? "\n" : `\n${pad}or\n`;
    return parts.map((part) => whole(api, part, depth, inside)).join(joint);
  }
  if ([found.type].flat().includes("array")) return `${pad}list of\n${whole(api, found.items, depth + 1, inside)}`;
  const members = Object.entries(found.properties ?? {});
  if (members.length === 0) return `${pad}${brief(found)}`;
  const lines = members.map(([key, value]) => {
    const mark = found.required?.includes(key) ? "" : "?";
    const text = resolve(api, value)?.description ?? value.description ?? "";
    const deep = JSON.stringify(value).includes("$ref") && !above.includes(value.$ref);
    const below = deep ? `\n${whole(api, value, depth + 1, inside)}` : "";
    return `${pad}${key}${mark}: ${brief(value)}${text ? `  — ${text}` : ""}${below}`;
  });
  return lines.join("\n");
}

function contents(api, content) {
  const kinds = Object.entries(content ?? {});
  return kinds.map(([kind, { schema }]) => make("div", null, make("span", { class: "quiet" }, kind),
    make("pre", { tabindex: "0" }, whole(api, schema, 0, []))));
}

function parameters(operation) {
  const all = operation.parameters ?? [];
  if (all.length === 0) return null;
  const items = all.flatMap((parameter) => [
    make("dt", null, `${parameter.name}${parameter.required ? "" : "?"}: ${brief(parameter.schema)}`),
    make("dd", null, make("span", { class: "quiet" }, `${parameter.in}. `), parameter.description ?? ""),
  ]);
  return make("section", null, make("h3", null, "Parameters"), make("dl", null, ...items));
}

function body(api, operation) {
  if (!operation.requestBody) return null;
  return make("section", null, make("h3", null, "Body"), ...contents(api, operation.requestBody.content));
}

/** Answers: what works in full, what fails in a line each. */
function answers(api, operation) {
  const all = Object.entries(operation.responses);
  const good = all.filter(([status]) => status < "400");
  const bad = all.filter(([status]) => status >= "400");
  const items = good.flatMap(([status, answer]) => [
    make("dt", null, status),
    make("dd", null, answer.description, ...contents(api, answer.content)),
  ]);
  const failures = bad.flatMap(([status, answer]) => [make("dt", null, status), make("dd", null, answer.description)]);
  return make("section", null, make("h3", null, "Answers"), make("dl", null, ...items),
    make("h3", null, "Failures"), make("dl", null, ...failures));
}

/** A route; what is in it is made when it is first opened. */
function route(api, path, method, operation) {
  const inside = make("div");
  const open = operation.security?.some((way) => Object.keys(way).length === 0);
  const head = make("summary", null, make("span", { class: "method" }, method.toUpperCase()), " ",
    make("span", { class: "path" }, path), make("span", { class: "quiet" }, `  ${operation.summary ?? ""}`));
  const details = make("details", { id: operation.operationId }, head, inside);
  details.addEventListener("toggle", () => {
    if (!details.open || inside.hasChildNodes()) return;
    const more = [operation.description, open ? "No key is needed." : null].filter(Boolean);
    inside.append(...more.map((text) => make("p", null, text)),
      ...[parameters(operation), body(api, operation), answers(api, operation)].filter(Boolean));
  });
  details.dataset.words = [method, path, operation.summary, operation.operationId].join(" ").toLowerCase();
  return details;
}

function show(api) {
  document.title = `${api.info.title}: API ${api.info.version}`;
  about.textContent = api.info.description;
  for (const tag of api.tags) {
    const found = Object.entries(api.paths).flatMap(([path, item]) => Object.entries(item)
      .filter(([, operation]) => operation.tags?.includes(tag.name))
      .map(([method, operation]) => route(api, path, method, operation)));
    if (found.length === 0) continue;
    routes.append(make("section", { class: "group", "aria-label": tag.name }, make("h2", null, tag.name),
      make("p", null, tag.description ?? ""), ...found));
  }
  find();
  const wanted = document.getElementById(decodeURIComponent(location.hash.slice(1)));
  if (wanted instanceof HTMLDetailsElement) {
    wanted.open = true;
    wanted.scrollIntoView();
  }
}

/** Hides what does not have all the words. */
function find() {
  const words = search.value.toLowerCase().split(/\s+/).filter(Boolean);
  let shown = 0;
  for (const details of routes.querySelectorAll("details")) {
    details.hidden = !words.every((word) => details.dataset.words.includes(word));
    shown += details.hidden ? 0 : 1;
  }
  for (const group of routes.querySelectorAll(".group")) {
    group.hidden = group.querySelector("details:not([hidden])") === null;
  }
  count.textContent = `${shown} routes`;
}

search.addEventListener("input", find);
try {
  const response = await fetch("/openapi.json");
  if (!response.ok) throw new Error(`status ${response.status}`);
  show(await response.json());
} catch (error) {
  count.textContent = `/openapi.json cannot be read: ${error.message}`;
}
