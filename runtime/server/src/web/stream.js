// What happens in a run, as the server tells it: from an event on, until it is over. A connection that breaks is made
// again where it broke, so that nothing is missing and nothing is told twice.

import { at, headers, problem, run as about } from "./api.js";

const SOON = 250;
const LATE = 8000;
// A server that has nothing to tell shows every 15 seconds that it is there. Whoever hears nothing for longer speaks to
// nobody, whatever stands between the two.
const SILENCE = 45_000;

// Calls `tell(event, number)` for each event after `last`, in order. Ends when the run has; `broken(true)` is called
// while the server cannot be reached, `broken(false)` when it can be again.
export async function watch(run, last, tell, broken, signal) {
  for (let wait = SOON; !signal.aborted; wait = Math.min(wait * 2, LATE)) {
    const line = new AbortController();
    const heard = () => { clearTimeout(silence); silence = setTimeout(() => line.abort(), SILENCE); };
    let silence;
    try {
      heard();
      const response = await fetch(at("runs", run, "events"), {
        headers: headers({ Accept: "text/event-stream", "Last-Event-ID": String(last) }),
        signal: AbortSignal.any([signal, line.signal]),
        credentials: "omit", redirect: "error", cache: "no-store",
      });
      if (!response.ok) throw await problem(response);
      broken(false);
      let over = false;
      for await (const { id, data } of events(response.body, heard)) {
        wait = SOON;
        // What was heard already is not told again, whatever the server does.
        if (id <= last) continue;
        last = id;
        over ||= data.event === "run_ended";
        tell(data, id);
      }
      // A server that stops ends its streams, and the run goes on when it is started again.
      if (over || (await about(run)).status === "ended") return last;
    } catch (wrong) {
      if (signal.aborted) return last;
      // A refusal stays one; whatever else may pass.
      if (wrong.status >= 400 && wrong.status < 500 && wrong.status !== 429) throw wrong;
      broken(true);
    } finally {
      clearTimeout(silence);
    }
    await pause(wait, signal);
  }
  return last;
}

function pause(milliseconds, signal) {
  return new Promise((resume) => {
    const timer = setTimeout(resume, milliseconds);
    signal.addEventListener("abort", () => { clearTimeout(timer); resume(); }, { once: true });
  });
}

// The events of a body, each with its number; `heard` is called whenever something comes in.
export async function* events(body, heard) {
  const reader = body.pipeThrough(new TextDecoderStream()).getReader();
  let [rest, fields] = ["", null];
  for (;;) {
    const { value, done } = await reader.read();
    // What is not whole is told again when somebody asks for it.
    if (done) return;
    heard();
    const lines = (rest + value).split(/\r\n|\n|\r(?=[^])/);
    rest = lines.pop();
    for (const line of lines) {
      if (line === "") {
        const event = fields && whole(fields);
        fields = null;
        if (event) yield event;
      } else if (!line.startsWith(":")) {
        fields ??= { id: "", data: [] };
        const colon = line.indexOf(":");
        const [name, text] = colon < 0 ? [line, ""] : [line.slice(0, colon), line.slice(colon + 1).replace(/^ /, "")];
        if (name === "data") fields.data.push(text);
        else if (name === "id") fields.id = text;
      }
    }
  }
}

function whole({ id, data }) {
  if (!data.length || !/^\d+$/.test(id)) return null;
  try {
    const event = JSON.parse(data.join("\n"));
    return event && typeof event === "object" ? { id: Number(id), data: event } : null;
  } catch {
    return null;
  }
}
