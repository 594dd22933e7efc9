// Speaks to the server: every request of this page but the stream of events is here.

import { key } from "./kept.js";

export class Problem extends Error {
  constructor(status, text) {
    super(text);
    this.status = status;
  }
}

let refused = () => {};

// Whom to tell that a key is wanted.
export function onRefused(take) { refused = take; }

export const headers = (more = {}) => (key() ? { Authorization: `Bearer ${key()}`, ...more } : more);

// What went wrong, as the server says it.
export async function problem(response) {
  const body = await response.json().catch(() => ({}));
  if (response.status === 401) refused(body.detail);
  return new Problem(response.status, body.detail || body.title || response.statusText || `status ${response.status}`);
}

async function send(method, path, body, more = {}) {
  const kind = body === undefined ? {} : { "Content-Type": "application/json" };
  let response;
  try {
    response = await fetch(path, {
      method, headers: headers({ ...kind, ...more }), body: body === undefined ? undefined : JSON.stringify(body),
      credentials: "omit", redirect: "error", cache: "no-store",
    });
  } catch {
    throw new Problem(0, "the server cannot be reached");
  }
  if (!response.ok) throw await problem(response);
  return response.status === 204 ? null : response.json();
}

// Every page of a list.
async function all(path) {
  const found = [];
  for (let offset = 0; offset !== undefined; ) {
    const page = await send("GET", `${path}${path.includes("?") ? "&" : "?"}limit=200&offset=${offset}`);
    found.push(...page.data);
    offset = page.next;
  }
  return found;
}

export const at = (...parts) => "/api/" + parts.map(encodeURIComponent).join("/");
const query = (path, values) => {
  const given = new URLSearchParams(Object.entries(values).filter(([, value]) => value));
  return given.size ? `${path}?${given}` : path;
};
const unless = (status) => (wrong) => {
  if (wrong.status === status) return null;
  throw wrong;
};

// A name for a request, so that it is not done twice if it has to be sent twice.
function once() {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  return { "Idempotency-Key": Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("") };
}

export const me = () => send("GET", "/api/me");
export const agents = () => all("/api/agents");
export const explain = (agent, chain = []) => send("GET", query(at("agents", agent, "explain"), { under: chain.join(",") }));
export const sessions = () => all("/api/sessions");
export const session = (id) => send("GET", at("sessions", id)).catch(unless(404));
export const children = (id) => all(query("/api/sessions", { parent: id }));
export const newSession = (agent) => send("POST", "/api/sessions", { agent });
export const changeSession = (id, change) => send("PATCH", at("sessions", id), change);
export const clearSession = (id) => send("POST", at("sessions", id, "clear"));
export const deleteSession = (id) => send("DELETE", at("sessions", id));
export const entries = (id) => all(at("sessions", id, "entries"));
export const lastRun = (id) => send("GET", at("sessions", id, "run")).catch(unless(404));
export const run = (id) => send("GET", at("runs", id));
// Those that are at work; more than one page of them is not marked.
export const working = () => send("GET", "/api/runs").then((page) => page.data);
export const begin = (agent, session, input) => send("POST", "/api/runs", { agent, session, input }, once());
export const cancel = (run) => send("POST", at("runs", run, "cancel"));
export const approvals = (run) => send("GET", at("runs", run, "approvals")).then((answer) => answer.data);
export const decide = (run, approval, decision) => send("POST", at("runs", run, "approvals", approval), { decision });
export const usage = (by, since) => send("GET", query("/api/usage", { by, since })).then((answer) => answer.data);
export const audit = (session) => send("GET", query("/api/audit", { session, limit: 200 })).then((answer) => answer.data);
