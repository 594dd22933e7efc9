// Somebody outside who would like to be asked: every request that comes here is one that should not have been made.

import http from "node:http";

export class Trap {
  hits = [];
  #server;

  static async set() {
    const trap = new Trap();
    trap.#server = http.createServer((request, response) => {
      trap.hits.push(request.url);
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
