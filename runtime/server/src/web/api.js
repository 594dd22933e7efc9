// Speaks to the server. The key, where one is wanted, stays in this browser.

const KEY = "palisade.key";

export class Problem extends Error {
  constructor(status, text) {
    super(text);
    this.status = status;
  }
}

export function key(value) {
  if (value !== undefined) value ? localStorage.setItem(KEY, value) : localStorage.removeItem(KEY);
  return localStorage.getItem(KEY) || "";
}

function headers(more = {}) {
  return key() ? { Authorization: `Bearer ${key()}`, ...more } : more;
}

async function answer(response) {
  if (response.status === 204) return null;
  const body = await response.json().catch(() => ({}));
  if (!response.ok) throw new Problem(response.status, body.detail || response.statusText);
  return body;
}

async function send(method, path, body) {
  const json = body === undefined ? {} : { "Content-Type": "application/json" };
  const options = { method, headers: headers(json), body: body === undefined ? undefined : JSON.stringify(body) };
  return answer(await fetch(path, options));
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

const at = (...parts) => "/api/" + parts.map(encodeURIComponent).join("/");

export const agents = () => all("/api/agents");
export const explain = (agent) => send("GET", at("agents", agent, "explain"));
export const sessions = () => all("/api/sessions");
export const children = (session) => all(`/api/sessions?parent=${encodeURIComponent(session)}`);
export const newSession = (agent) => send("POST", "/api/sessions", { agent });
export const changeSession = (id, change) => send("PATCH", at("sessions", id), change);
export const clearSession = (id) => send("POST", at("sessions", id, "clear"));
export const deleteSession = (id) => send("DELETE", at("sessions", id));
export const entries = (id) => all(at("sessions", id, "entries"));
export const lastRun = (id) => send("GET", at("sessions", id, "run")).catch((problem) => {
  if (problem.status === 404) return null;
  throw problem;
});
export const begin = (agent, session, input) => send("POST", "/api/runs", { agent, session, input });
export const cancel = (run) => send("POST", at("runs", run, "cancel"));
export const decide = (run, approval, decision) => send("POST", at("runs", run, "approvals", approval), { decision });
export const usage = (by) => send("GET", `/api/usage?by=${by}`);
export const audit = (session) => send("GET", `/api/audit?session=${encodeURIComponent(session)}&limit=200`);

// Tells what happens in a run, from an event on, until it is over. A connection that breaks is made again where it
// broke.
export async function watch(run, tell, signal) {
  let last = 0;
  for (let wait = 250; !signal.aborted; wait = Math.min(wait * 2, 8000)) {
    try {
      const response = await fetch(at("runs", run, "events"), { headers: headers({ "Last-Event-ID": String(last) }), signal });
      if (!response.ok) throw new Problem(response.status, "the run cannot be watched");
      for await (const event of lines(response.body)) {
        last = event.id || last;
        wait = 250;
        tell(event.data, last);
      }
      return;
    } catch (problem) {
      if (signal.aborted || problem.status < 500) return;
    }
    await new Promise((resume) => setTimeout(resume, wait));
  }
}

async function* lines(body) {
  const reader = body.pipeThrough(new TextDecoderStream()).getReader();
  let text = "";
  for (;;) {
    const { value, done } = await reader.read();
    if (done) return;
    text += value;
    const parts = text.split(/\r?\n\r?\n/);
    text = parts.pop();
    for (const part of parts) {
      const field = (name) => part.split(/\r?\n/).filter((line) => line.startsWith(name + ":"))
        .map((line) => line.slice(name.length + 1).replace(/^ /, "")).join("\n");
      const data = field("data");
      if (data) yield { id: Number(field("id")), data: JSON.parse(data) };
    }
  }
}
