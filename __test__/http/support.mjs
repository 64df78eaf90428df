// A real server on the loopback interface, and operations that call it.

import { createServer } from "node:http";
import { after } from "node:test";
import { FromOpenAPI, OperationRegistry } from "@alkdev/operations";

export { failureOf, until } from "../support/waiting.mjs";

/**
 * Starts a server that answers with `answer(request, response)`; `request.content` is the whole body as a Buffer.
 * It is stopped when the tests of the file are done. `received` has every request so far.
 */
export async function serve(answer) {
  const received = [];
  const server = createServer(async (request, response) => {
    const chunks = [];
    try {
      for await (const chunk of request) chunks.push(chunk);
    } catch {
      // The client has gone before its request was there, which some tests make it do.
      return;
    }
    request.content = Buffer.concat(chunks);
    received.push(request);
    await answer(request, response);
  });
  await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
  const stop = () =>
    new Promise((resolve) => {
      server.close(resolve);
      server.closeAllConnections();
    });
  after(stop);
  return { url: `http://127.0.0.1:${server.address().port}`, received, server, stop };
}

export function sendJson(response, value, status = 200) {
  response.writeHead(status, { "content-type": "application/json" });
  response.end(JSON.stringify(value));
}

/** Answers with the request itself. */
export function echo(request, response) {
  const { method, url, headers, content } = request;
  sendJson(response, { method, url, headers, body: content.toString() });
}

/** An OpenAPI document with these paths. */
export function documentOf(paths, more = {}) {
  return { openapi: "3.1.0", info: { title: "test", version: "1" }, paths, ...more };
}

/** What a document says about responses of one type. */
export const answers = (mediaType = "application/json") => ({
  200: { description: "fine", content: { [mediaType]: {} } },
});

/** The operations of a document, by name, as functions that call their handlers. */
export function handlers(paths, config) {
  const operations = FromOpenAPI(documentOf(paths), { namespace: "t", ...config });
  return Object.fromEntries(operations.map(({ name, handler }) => [name, handler]));
}

/** A registry with the operations of a document. */
export function registryOf(paths, config) {
  const registry = new OperationRegistry();
  registry.registerAll(FromOpenAPI(documentOf(paths), { namespace: "t", ...config }));
  return registry;
}

/** One operation on `/`: its handler. */
export function single(method, operation, config) {
  return handlers({ "/": { [method]: { operationId: "it", responses: answers(), ...operation } } }, config)
    .it;
}
