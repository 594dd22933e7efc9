// Somebody outside who would like to be asked: every request that comes here is one that should not have been made.

import http from "node:http";

export class Trap {
  hits = [];
  #server;
  #spring;
  // The first of them.
  sprung = new Promise((resolve) => { this.#spring = resolve; });

  static async set() {
    const trap = new Trap();
    trap.#server = http.createServer((request, response) => {
      // A page of its own, which nothing protects.
      if (request.url === "/bare") {
        response.writeHead(200, { "content-type": "text/html; charset=utf-8" });
        return response.end(trap.bare);
      }
      trap.hits.push(request.url);
      trap.#spring();
      response.writeHead(200, { "content-type": "image/svg+xml", "access-control-allow-origin": "*" });
      response.end("<svg xmlns=\"http://www.w3.org/2000/svg\"/>");
    });
    await new Promise((resolve) => trap.#server.listen(0, "127.0.0.1", resolve));
    trap.url = `http://127.0.0.1:${trap.#server.address().port}`;
    return trap;
  }

  stop() {
    this.#server.closeAllConnections();
    this.#server.close();
  }
}
