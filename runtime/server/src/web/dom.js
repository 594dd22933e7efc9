// Elements, made of a name, attributes and children. A child that is a text stays a text: there is no way from what a
// model or a tool wrote to markup of this page.

const DRAWING = "http://www.w3.org/2000/svg";

export const get = (id) => document.getElementById(id);

function fill(made, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) {
    if (typeof value === "function") made.addEventListener(name.replace(/^on/, ""), value);
    else if (value === true) made.setAttribute(name, "");
    else if (value !== false && value != null) made.setAttribute(name, value);
  }
  for (const child of children.flat()) if (child != null && child !== false) made.append(child);
  return made;
}

export const element = (name, attributes = {}, ...children) => fill(document.createElement(name), attributes, children);

// The same for drawings.
export const shape = (name, attributes = {}, ...children) => fill(document.createElementNS(DRAWING, name), attributes, children);

export const button = (label, act, attributes = {}) => element("button", { type: "button", onclick: act, ...attributes }, label);

// A button that shows a sign, and says what it does to whoever does not see it.
export const sign = (mark, label, act, attributes = {}) =>
  button(element("span", { "aria-hidden": "true" }, mark), act, { class: "sign", "aria-label": label, title: label, ...attributes });

// Sets a property of a style: the policy of this page allows no style in an attribute.
export function styled(made, properties) {
  for (const [name, value] of Object.entries(properties)) made.style.setProperty(name, value);
  return made;
}

// A list of names and what they stand for; those that stand for nothing are left out.
export function facts(rows, attributes = {}) {
  const list = element("dl", { class: "facts", ...attributes });
  for (const [name, value, kind] of rows) {
    if (value == null || value === "" || (Array.isArray(value) && !value.length)) continue;
    const values = Array.isArray(value) ? value : [value];
    list.append(element("div", {}, element("dt", {}, name), ...values.map((one) => element("dd", { class: kind }, one))));
  }
  return list;
}

// A folder that opens: its content is made when somebody looks at it for the first time.
export function folded(title, content, attributes = {}) {
  const body = element("div", { class: "inside" });
  const made = element("details", attributes, element("summary", {}, title), body);
  let asked = false;
  made.addEventListener("toggle", async () => {
    if (!made.open || asked) return;
    asked = true;
    body.replaceChildren(element("p", { class: "dim" }, "…"));
    try {
      body.replaceChildren(await content());
    } catch (problem) {
      asked = false;
      body.replaceChildren(element("p", { class: "bad" }, problem.message));
    }
  });
  return made;
}

// Tells whoever does not see the page.
export function announce(text, urgent = false) {
  const region = get(urgent ? "urgent" : "announced");
  region.textContent = "";
  // A region that is filled anew is read again even if the text is the same.
  requestAnimationFrame(() => { region.textContent = text; });
}
