// A registry that is served, and requests to it.

import { connect } from "node:net";
import { after } from "node:test";
import { OperationRegistry } from "@alkdev/operations";
import { serve } from "@alkdev/operations/serve";

export { operation, subscription } from "../registry/support/operations.mjs";
export { deferred } from "../support/waiting.mjs";

/** Serves operations until the tests of the file are done. */
export async function serving(operations, options = {}, registryOptions = {}) {
  const registry = new OperationRegistry(registryOptions);
  registry.registerAll(operations);
  const served = await serve(registry, { doors: { http: true }, ...options });
  after(() => served.close({ drain: 0 }));
  return Object.assign(served, {
    registry,
    /** Calls an operation as any HTTP client would. */
    post: (path, input, more = {}) => post(`${served.url}/api/${path}`, input, more),
  });
}

export function post(url, input, { headers, ...more } = {}) {
  const body = input === undefined ? {} : { body: JSON.stringify(input) };
  return fetch(url, {
    method: "POST",
    headers: { "content-type": "application/json", ...headers },
    ...body,
    ...more,
  });
}

/** Sends a request, and never reads the response unless the socket is resumed. `headers` are lines that end with CRLF. */
export function unread(url, path, { body = "{}", headers = "" } = {}) {
  const { hostname, port } = new URL(url);
  const socket = connect(Number(port), hostname);
  after(() => socket.destroy());
  socket.on("error", () => {});
  socket.pause();
  const head = `POST ${path} HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\n${headers}`;
  socket.write(`${head}content-length: ${Buffer.byteLength(body)}\r\n\r\n${body}`);
  return socket;
}

/** Writes bytes to a server and reads until it hangs up. */
export function raw(url, text) {
  const { hostname, port } = new URL(url);
  return new Promise((resolve) => {
    const socket = connect(Number(port), hostname, () => socket.write(text));
    let said = "";
    socket.setEncoding("utf8").on("data", (data) => {
      said += data;
    });
    socket.on("error", () => {});
    socket.on("close", () => resolve(said));
  });
}
