// A network in between that can be cut: a TCP proxy on loopback that counts connections, and can stop forwarding without
// closing anything, as a cable that was pulled out would.

import { once } from "node:events";
import { connect, createServer } from "node:net";

/** @param {number} port where it leads to */
export async function startProxy(port) {
  const pairs = new Set();
  let isCut = false;
  let connections = 0;
  const server = createServer((near) => {
    connections += 1;
    const far = connect(port, "127.0.0.1");
    const pair = [near, far];
    pairs.add(pair);
    for (const [from, to] of [pair, [far, near]]) {
      from.on("data", (data) => to.write(data));
      from.on("error", () => {});
      from.on("close", () => {
        to.destroy();
        pairs.delete(pair);
      });
      if (isCut) from.pause();
    }
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return {
    port: server.address().port,
    /** How many were made so far. */
    get connections() {
      return connections;
    },
    /** Nothing goes through from now on, and nobody is told. New connections are made, and are as silent. */
    cut() {
      isCut = true;
      for (const pair of pairs) for (const socket of pair) socket.pause();
    },
    /** Everything goes through again; what was sent meanwhile arrives late. */
    mend() {
      isCut = false;
      for (const pair of pairs) for (const socket of pair) socket.resume();
    },
    async stop() {
      for (const pair of pairs) for (const socket of pair) socket.destroy();
      server.close();
      await once(server, "close");
    },
  };
}
