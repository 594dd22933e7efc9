// A model of the tests' own, spoken to as chat completions. It says what a scenario tells it to, and waits in the
// middle of a reply for as long as the scenario wants: nothing here depends on time.

import http from "node:http";

// A place in a reply where it stops until it is let go on.
export class Hold {
  constructor() {
    this.reached = new Promise((resolve) => { this.reach = resolve; });
    this.released = new Promise((resolve) => { this.release = resolve; });
  }
}

export class Model {
  // What it was asked, newest last.
  asked = [];
  #turns = [];
  #server;

  // `turns` are replies: `{ say: text or [text, Hold, …], think: text, call: [[tool, input], …] }`.
  script(...turns) { this.#turns.push(...turns); }

  // How many replies nobody has asked for yet.
  get left() { return this.#turns.length; }

  async start() {
    this.#server = http.createServer((request, response) => this.#answer(request, response).catch(() => response.destroy()));
    await new Promise((resolve) => this.#server.listen(0, "127.0.0.1", resolve));
    return `http://127.0.0.1:${this.#server.address().port}/v1`;
  }

  stop() {
    this.#server.closeAllConnections();
    this.#server.close();
  }

  async #answer(request, response) {
    let body = "";
    for await (const part of request) body += part;
    this.asked.push(JSON.parse(body));
    const turn = this.#turns.shift();
    if (!turn) {
      response.writeHead(400, { "content-type": "application/json" });
      return response.end(JSON.stringify({ error: { message: "the scenario has no reply left" } }));
    }
    response.writeHead(200, { "content-type": "text/event-stream" });
    const send = (value) => response.write(`data: ${JSON.stringify(value)}\n\n`);
    const chunk = (delta, finish_reason = null) =>
      send({ id: "reply", object: "chat.completion.chunk", created: 1, model: "speaker", choices: [{ index: 0, delta, finish_reason }] });
    if (turn.think) chunk({ reasoning_content: turn.think });
    for (const part of [turn.say ?? []].flat()) {
      if (!(part instanceof Hold)) { chunk({ content: part }); continue; }
      part.reach();
      await part.released;
    }
    const calls = (turn.call ?? []).map(([name, input], index) =>
      ({ index, id: `call-${this.asked.length}-${index}`, type: "function", function: { name, arguments: JSON.stringify(input) } }));
    if (calls.length) chunk({ tool_calls: calls });
    chunk({}, calls.length ? "tool_calls" : "stop");
    send({ id: "reply", object: "chat.completion.chunk", created: 1, model: "speaker", choices: [], usage: { prompt_tokens: 100, completion_tokens: 20, total_tokens: 120 } });
    response.end("data: [DONE]\n\n");
  }
}
