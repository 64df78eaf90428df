// The server of the http and sse benchmarks, in a process of its own.

import { createServer } from "node:http";
import { answer } from "./rounds.mjs";

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
  if (pathname === "/events") {
    const wanted = (name) => Number(searchParams.get(name));
    return sendEvents(response, wanted("count"), wanted("together"), wanted("bytes"));
  }
  request.resume();
  const body = bodies[pathname] ?? "{}";
  response.writeHead(200, { "content-type": "application/json", "content-length": Buffer.byteLength(body) });
  response.end(body);
});

/** So many events in each write, of about so many bytes each, as fast as the other side reads. */
function sendEvents(response, count, together, bytes) {
  response.writeHead(200, { "content-type": "text/event-stream", "cache-control": "no-store" });
  // Words of an answer, with the characters that JSON escapes.
  const words = 'some "words" of an answer\n'.repeat(Math.ceil(bytes / 25)).slice(0, Math.max(1, bytes - 40));
  let sent = 0;
  const send = () => {
    while (sent < count) {
      let text = "";
      for (const end = Math.min(sent + together, count); sent < end; sent++) {
        text += `event: delta\nid: ${sent}\ndata: ${JSON.stringify({ index: sent, delta: words })}\n\n`;
      }
      if (!response.write(text)) return response.once("drain", send);
    }
    response.end();
  };
  send();
}

server.keepAliveTimeout = 60_000;
server.listen(0, "127.0.0.1", () =>
  answer(() => ({}), { baseUrl: `http://127.0.0.1:${server.address().port}` }),
);
