// A reader of the sse benchmark: `node sse-contestant.mjs <who> <baseUrl>`. The reference runs nothing of this package: `fetch`, eventsource-parser's own
// fast path (`createParser` with a callback), and an envelope for each event.

import { performance } from "node:perf_hooks";
import { mainThreadTime } from "./main-thread.mjs";
import { answer } from "./rounds.mjs";

const [who, baseUrl] = process.argv.slice(2);

const readers = {
  async ours() {
    const { FromOpenAPI, OperationRegistry, subscribe } = await import("@alkdev/operations");
    const number = (name) => ({ name, in: "query", schema: { type: "integer" } });
    const get = {
      operationId: "events",
      parameters: ["count", "together", "bytes"].map(number),
      responses: { 200: { description: "", content: { "text/event-stream": { schema: {} } } } },
    };
    const document = {
      openapi: "3.1.0",
      info: { title: "bench", version: "1" },
      paths: { "/events": { get } },
    };
    const registry = new OperationRegistry();
    registry.registerAll(FromOpenAPI(document, { namespace: "bench", baseUrl }));
    return (input) => subscribe(registry, "bench.events", input, {});
  },

  async "eventsource-parser"() {
    const { createParser } = await import("eventsource-parser");
    return async function* (input) {
      const response = await fetch(`${baseUrl}/events?${new URLSearchParams(input)}`);
      const headers = Object.fromEntries(response.headers);
      const meta = {
        source: "http",
        statusCode: response.status,
        headers,
        contentType: headers["content-type"],
      };
      let events = [];
      const parser = createParser({
        onEvent({ data, event = "message", id = "" }) {
          events.push({
            data: JSON.parse(data),
            meta: { ...meta, sse: { event, id }, timestamp: Date.now() },
          });
        },
      });
      const decoder = new TextDecoder();
      for await (const chunk of response.body) {
        parser.feed(decoder.decode(chunk, { stream: true }));
        const parsed = events;
        events = [];
        yield* parsed;
      }
    };
  },
};

const read = await readers[who]();
answer(async (input) => {
  globalThis.gc();
  let seen = 0;
  const busy = mainThreadTime();
  const start = performance.now();
  for await (const { data } of read(input)) {
    if (data.index !== seen++) throw new Error(`event ${data.index} came as number ${seen}`);
  }
  const elapsed = performance.now() - start;
  if (seen !== input.count) throw new Error(`${seen} events came`);
  return { rate: (seen / elapsed) * 1000, thread: ((mainThreadTime() - busy) / seen) * 1000 };
});
