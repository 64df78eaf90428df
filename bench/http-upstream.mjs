// The server behind a served imported operation, in a process of its own: it answers every request without a body with one pet. A server on node:http
// would need as much of a processor for that as those who are measured. Its address is its first message.

import { createServer } from "node:net";

const pet = JSON.stringify({
  id: 1,
  name: "pet 1",
  status: "available",
  tags: ["small", "friendly", "brown"],
  owner: { name: "Ada", email: "ada@example.com", since: "2024-02-29T12:00:00Z" },
  weight: 12.5,
});
const head = [
  "HTTP/1.1 200 OK",
  "content-type: application/json",
  `content-length: ${pet.length}`,
  `date: ${new Date().toUTCString()}`,
  "connection: keep-alive",
];
const answer = Buffer.from(`${head.join("\r\n")}\r\n\r\n${pet}`);

const server = createServer({ noDelay: true }, (socket) => {
  let waiting = "";
  socket.setEncoding("latin1");
  socket.on("data", (text) => {
    waiting += text;
    if (!waiting.endsWith("\r\n\r\n")) return;
    waiting = "";
    socket.write(answer);
  });
  socket.on("error", () => socket.destroy());
});
server.listen(0, "127.0.0.1", () => process.send(`http://127.0.0.1:${server.address().port}`));
process.on("disconnect", () => process.exit());
