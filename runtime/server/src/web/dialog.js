// What stands before the page until somebody has read or decided it.

import { button, element, get, sign } from "./dom.js";

// A box with a title; `fill(close)` gives what is in it, now or later. Ends with what `close` is called with, or with
// nothing if it is left.
function box(title, kind, fill) {
  const before = document.activeElement;
  const id = `box-${kind}`;
  return new Promise((resolve) => {
    let answer;
    const close = (value) => { answer = value; made.close(); };
    const body = element("div", { class: "body" });
    const made = element("dialog", { class: kind, "aria-labelledby": id },
      element("header", {}, element("h2", { id }, title), sign("×", "Close", () => close())), body);
    made.addEventListener("close", () => {
      made.remove();
      // Whoever used the keyboard goes on where they were.
      if (before?.isConnected) before.focus();
      resolve(answer);
    });
    get("dialogs").replaceChildren(made);
    body.append(...[fill(close)].flat());
    made.showModal();
  });
}

// Something to look at. What is not there yet is waited for.
export function show(title, content) {
  return box(title, "look", () => {
    const body = element("div", {}, element("p", { class: "dim" }, "…"));
    Promise.resolve(content).then((made) => body.replaceChildren(made), (problem) => {
      body.replaceChildren(element("p", { class: "bad", role: "alert" }, problem.message));
    });
    return body;
  });
}

// Asks whether something is to be done that cannot be undone, and does it.
export function sure(title, text, action, work) {
  return form(title, [element("p", {}, text)], action, work, { danger: true });
}

// Asks for a line of text, and does something with it.
export function line(title, { label, value = "", hint, action, secret = false }, work) {
  const field = element("input", {
    id: "box-field", type: secret ? "password" : "text", value, autocomplete: "off", spellcheck: "false", maxlength: "512",
    autocapitalize: "off", "aria-describedby": hint ? "box-hint" : null,
  });
  const parts = [element("label", { for: "box-field" }, label), field, hint && element("p", { id: "box-hint", class: "dim" }, hint)];
  return form(title, parts.filter(Boolean), action, () => work(field.value.trim()), { field });
}

// What goes wrong is said in the box, which stays.
function form(title, parts, action, work, { danger = false, field } = {}) {
  return box(title, "ask", (close) => {
    const wrong = element("p", { class: "bad", role: "alert" });
    const act = element("button", { type: "submit", class: danger ? "danger" : "strong" }, action);
    const leave = button("Cancel", () => close(), { autofocus: danger });
    field?.setAttribute("autofocus", "");
    const made = element("form", {}, ...parts, wrong, element("div", { class: "row end" }, leave, act));
    made.addEventListener("submit", async (event) => {
      event.preventDefault();
      act.disabled = true;
      try {
        await work();
        close(true);
      } catch (problem) {
        wrong.textContent = problem.message;
        act.disabled = false;
      }
    });
    return made;
  });
}

// Something went wrong, and nobody is to be stopped by it.
export function complain(problem) {
  const said = element("p", {}, problem.message ?? String(problem));
  const made = element("div", { class: "complaint" }, said, sign("×", "Dismiss", () => made.remove()));
  get("complaints").append(made);
  setTimeout(() => made.remove(), 12_000);
}
