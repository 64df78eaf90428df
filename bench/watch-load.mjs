// A process of its own for `watch.bench.mjs`: the upstream server of an imported operation, and the client that calls it through
// a served registry. So neither counts as time of the process that serves.

import { Agent, createServer, request } from "node:http";

const upstream = createServer((_, response) => {
  response.writeHead(200, { "content-type": "application/json" });
  response.end('{"id":"7","name":"a name"}');
});
upstream.listen(0, "127.0.0.1", () => process.send({ port: upstream.address().port }));

const CONNECTIONS = 16;
const agent = new Agent({ keepAlive: true, maxSockets: CONNECTIONS });

function call(url) {
  return new Promise((resolve, reject) => {
    const sent = request(url, { agent }, (response) => {
      response.resume();
      response.on("end", () =>
        response.statusCode === 200 ? resolve() : reject(new Error(`HTTP ${response.statusCode}`)),
      );
    });
    sent.on("error", reject);
    sent.end();
  });
}

process.on("message", async ({ url, calls }) => {
  let left = calls;
  const work = async () => {
    while (left-- > 0) await call(url);
  };
  await Promise.all(Array.from({ length: CONNECTIONS }, work));
  process.send({ done: true });
});
