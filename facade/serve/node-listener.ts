// A handler for servers that have Node's own requests and responses.

import { once } from "node:events";
import type { IncomingMessage, ServerResponse } from "node:http";
import { Readable } from "node:stream";
import type { ReadableStream as WebStream } from "node:stream/web";
import { logger } from "../logging.js";
import type { RegistryHandler } from "./handler.js";

/**
 * What `node:http` and Express call for each request.
 *
 * @example
 * ```ts
 * const listener: NodeListener = toNodeListener(createHandler(registry, { doors: { http: true } }));
 * ```
 */
export type NodeListener = (request: IncomingMessage, response: ServerResponse) => void;

const log = logger("serve");

/**
 * Makes a handler fit `http.createServer` and Express. In Express, put it before body parsers. If a body parser ran
 * first, its parsed JSON body is used.
 *
 * @example
 * ```ts
 * import { createServer } from "node:http";
 *
 * const handler = createHandler(registry, { doors: { http: true } });
 * createServer(toNodeListener(handler)).listen(8080);
 * ```
 */
export function toNodeListener(handler: Pick<RegistryHandler, "fetch">): NodeListener {
  return (request, response) => {
    const gone = new AbortController();
    response.once("close", () => {
      if (!response.writableFinished) gone.abort();
    });
    respond(handler, request, response, gone.signal).catch((error) => {
      if (!gone.signal.aborted) log.debug(`A request was not answered: ${String(error)}`);
      // There is no answer, or no more of it: closing the connection shows that.
      response.destroy();
    });
  };
}

async function respond(
  handler: Pick<RegistryHandler, "fetch">,
  request: IncomingMessage,
  response: ServerResponse,
  signal: AbortSignal,
): Promise<void> {
  if (!isPlain(targetOf(request))) {
    response.statusCode = 400;
    response.setHeader("content-type", "text/plain");
    response.end("The path of the request has to be absolute, and without dots and backslashes as segments");
    return;
  }
  const answer = await handler.fetch(toRequest(request, signal));
  response.statusCode = answer.status;
  for (const [name, value] of answer.headers) response.setHeader(name, value);
  if (answer.body === null) {
    response.end();
    return;
  }
  // A stream may take its time to its first piece.
  response.flushHeaders();
  const reader = answer.body.getReader();
  const cancel = () => void reader.cancel().catch(() => {});
  const gone = closed(response);
  signal.addEventListener("abort", cancel);
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) break;
      if (!response.write(value) && !signal.aborted) await Promise.race([once(response, "drain"), gone]);
    }
    response.end();
  } finally {
    signal.removeEventListener("abort", cancel);
  }
}

function closed(response: ServerResponse): Promise<unknown> {
  return new Promise((resolve) => response.once("close", resolve));
}

function targetOf(request: IncomingMessage): string {
  return (request as IncomingMessage & { originalUrl?: string }).originalUrl ?? request.url ?? "/";
}

/** Whether a path means the same to the code that read it before us: a URL loses its dots when it is read. */
function isPlain(target: string): boolean {
  const [path = ""] = target.split("?", 1);
  return /^\/(?!\/)/.test(path) && !/\\|(^|\/)(\.|%2e){1,2}(\/|$)/i.test(path);
}

function toRequest(request: IncomingMessage, signal: AbortSignal): Request {
  const { method = "GET" } = request;
  const headers = new Headers();
  for (let i = 0; i + 1 < request.rawHeaders.length; i += 2) {
    const name = request.rawHeaders[i] as string;
    // HTTP/2 has such.
    if (!name.startsWith(":")) headers.append(name, request.rawHeaders[i + 1] as string);
  }
  const { body } = request as IncomingMessage & { body?: unknown };
  const url = new URL(targetOf(request), "http://localhost");
  const host = request.headers[":authority"] ?? request.headers.host;
  if (typeof host === "string" && !headers.has("host")) headers.set("host", host);
  if (method === "GET" || method === "HEAD") return new Request(url, { method, headers, signal });
  // A body parser has read it already.
  if (request.readableEnded && body !== undefined) {
    const text = body instanceof Uint8Array ? body : JSON.stringify(body);
    headers.delete("content-length");
    return new Request(url, { method, headers, signal, body: text as string });
  }
  const stream = Readable.toWeb(request) as WebStream<Uint8Array>;
  return new Request(url, { method, headers, signal, body: stream, duplex: "half" } as RequestInit);
}
