// One table of what can happen to a call or a stream, run twice: through the native client, and through a `fetch` of
// the user's. What the caller gets and what the server sees must be the same.

import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { OpenAPIServiceRegistry } from "@alkdev/operations";
import { answers, documentOf, serve, until } from "./support.mjs";

const genuine = globalThis.fetch;
export const EVENTS = { "content-type": "text/event-stream" };
export const JSON_TYPE = { "content-type": "application/json" };
export const json = { requestBody: { content: { "application/json": {} } } };
export const RETRY = { retries: 2, delay: 1 };

/** What differs between the drivers by nature: ports, and the words in which a network describes its failures. */
function comparable(text, hosts) {
  let out = text.replaceAll(/(failed: )[^"]*?( \(tried|"|$)/g, "$1<why>$2");
  for (const [index, host] of hosts.entries()) out = out.replaceAll(host, `<host ${index}>`);
  return out;
}

/** An error as what a program can see of it. Why the network failed is worded by whoever noticed. */
function errorOf({ code, message, details }) {
  const { cause, body, headers, ...rest } = details ?? {};
  const bytes = body instanceof ArrayBuffer ? [...new Uint8Array(body)] : body;
  return { code, message, details: { ...rest, body: bytes, type: headers?.["content-type"] } };
}

function envelopeOf({ data, meta: { statusCode, contentType, headers, sse } }) {
  const bytes = data instanceof ArrayBuffer ? [...new Uint8Array(data)] : data;
  return { data: bytes, statusCode, contentType, marker: headers["x-marker"], sse };
}

/** Runs one case with one driver: what the caller got, and what the servers saw. */
async function run(scenario, fetch) {
  const other = await serve((request, response) => scenario.other?.(request, response));
  let count = 0;
  const state = { closed: 0, other: other.url };
  const { url, received } = await serve((request, response) => {
    response.on("close", () => state.closed++);
    return scenario.answer(response, ++count, request, state);
  });
  const { method = "get", stream, operation, config, input = {} } = scenario;
  const type = stream === true ? "text/event-stream" : (stream ?? "application/json");
  const services = new OpenAPIServiceRegistry();
  const document = documentOf({
    "/": { [method]: { operationId: "it", responses: answers(type), ...operation } },
  });
  const [{ handler }] = services.add("t", document, { namespace: "t", baseUrl: url, fetch, ...config });
  const controller = new AbortController();
  const help = { abort: () => controller.abort(), close: () => services.closeAll(), until, received, state };
  const context = { signal: controller.signal, metadata: { headers: scenario.headers ?? {} } };
  const got = [];
  const running = (async () => {
    try {
      const result = handler(input, context);
      if (stream === undefined) got.push(envelopeOf(await result));
      else {
        for await (const envelope of result) {
          got.push(envelopeOf(envelope));
          if (got.length === scenario.leaveAfter) break;
        }
      }
      got.push("end");
    } catch (error) {
      got.push(errorOf(error));
    }
  })();
  await scenario.meanwhile?.({ ...help, got });
  await running;
  if (scenario.closes === true) await until(() => state.closed >= 1);
  await services.closeAll();
  const seen = (requests) =>
    requests.map(({ method, url, headers, content }) => ({
      request: `${method} ${url}`,
      body: content.toString(),
      type: headers["content-type"],
      accept: headers.accept,
      authorization: headers.authorization,
      key: headers["x-api-key"],
      own: headers["x-own"],
      after: headers["last-event-id"],
    }));
  const hosts = [new URL(url).host, new URL(other.url).host];
  const outcome = JSON.stringify({ got, seen: seen(received), other: seen(other.received) }, undefined, 1);
  return JSON.parse(comparable(outcome, hosts));
}

export const to =
  (location, status = 302) =>
  (response) => {
    response.writeHead(status, { location });
    response.end("moved");
  };
export const events =
  (text, how = (response) => response.end()) =>
  (response) => {
    response.writeHead(200, EVENTS);
    response.write(text);
    setTimeout(() => how(response), 10);
  };
export const broken = (response) => response.destroy();
export const sized = (response, type, length, text) => {
  response.writeHead(200, { "content-type": type, "content-length": length });
  response.write(text);
};

/** Runs cases. Each says what the server does, and what must come of it, so that two equal mistakes do not count as
 * agreement. */
export function throughBothDrivers(about, cases, usual = {}) {
  describe(`${about}, through both drivers`, () => {
    for (const [name, given] of Object.entries(cases)) {
      it(`both drivers agree on ${name}`, async () => {
        const scenario = { ...usual, ...given };
        const native = await run(scenario, undefined);
        const driven = await run(scenario, (url, init) => genuine(url, init));
        given.gives(native);
        given.gives(driven);
        assert.deepEqual(driven, native);
      });
    }
  });
}
