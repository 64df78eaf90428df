// The server of the http and sse benchmarks, in a process of its own. Its port is its first line.

import { createServer } from "node:http";

const pet = (id) => ({
  id,
  name: `pet ${id}`,
  status: "available",
  tags: ["small", "friendly", "brown"],
  owner: { name: "Ada", email: "ada@example.com", since: "2024-02-29T12:00:00Z" },
  weight: 12.5,
});
const bodies = {
  "/small": JSON.stringify(pet(1)),
  "/large": JSON.stringify(Array.from({ length: 100 }, (_, id) => pet(id))),
};

const server = createServer((request, response) => {
  const { pathname, searchParams } = new URL(request.url, "http://bench");
  if (pathname === "/events") return sendEvents(response, Number(searchParams.get("count")));
  request.resume();
  const body = bodies[pathname] ?? "{}";
  response.writeHead(200, { "content-type": "application/json", "content-length": Buffer.byteLength(body) });
  response.end(body);
});

/** Events of about 100 bytes, as fast as the other side reads. */
function sendEvents(response, count) {
  response.writeHead(200, { "content-type": "text/event-stream", "cache-control": "no-store" });
  let sent = 0;
  const send = () => {
    while (sent < count) {
      let text = "";
      for (const end = Math.min(sent + 64, count); sent < end; sent++) {
        const data = JSON.stringify({
          type: "delta",
          index: sent,
          delta: { text: "some words of an answer" },
        });
        text += `event: delta\nid: ${sent}\ndata: ${data}\n\n`;
      }
      if (!response.write(text)) return response.once("drain", send);
    }
    response.end();
  };
  send();
}

server.keepAliveTimeout = 60_000;
server.listen(0, "127.0.0.1", () => console.log(server.address().port));
process.on("disconnect", () => process.exit());
