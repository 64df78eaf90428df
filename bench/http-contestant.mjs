// A client of the http benchmark: `node http-contestant.mjs <who> <baseUrl>`. The references run nothing of this package: they are what one writes
// without it, with the quickest client of Node (undici's `Pool`) and with `fetch`.

import { performance } from "node:perf_hooks";
import { mainThreadTime } from "./main-thread.mjs";
import { answer } from "./rounds.mjs";

const [who, baseUrl] = process.argv.slice(2);
const BODY = { name: "a pet", tags: ["x", "y"], weight: 3 };

const clients = {
  async ours() {
    const { FromOpenAPI, OperationRegistry } = await import("@alkdev/operations");
    const json = { 200: { description: "", content: { "application/json": { schema: {} } } } };
    const requestBody = { content: { "application/json": { schema: { type: "object" } } } };
    const paths = {
      "/small": {
        get: { operationId: "small", responses: json },
        post: { operationId: "post", requestBody, responses: json },
      },
      "/large": { get: { operationId: "large", responses: json } },
    };
    const document = { openapi: "3.1.0", info: { title: "bench", version: "1" }, paths };
    const registry = new OperationRegistry();
    registry.registerAll(FromOpenAPI(document, { namespace: "bench", baseUrl }));
    return {
      small: () => registry.execute("bench.small", {}, {}),
      large: () => registry.execute("bench.large", {}, {}),
      post: () => registry.execute("bench.post", { body: BODY }, {}),
    };
  },

  /** Many programs import undici through a dependency, which sets a global dispatcher. */
  async "ours, undici imported"() {
    await import("undici");
    return clients.ours();
  },

  async pool() {
    const { Pool } = await import("undici");
    const pool = new Pool(baseUrl, { connections: 64 });
    const request = async (options) => {
      const { statusCode, body } = await pool.request(options);
      if (statusCode !== 200) throw new Error(`HTTP ${statusCode}`);
      return body.json();
    };
    const headers = { "content-type": "application/json" };
    return {
      small: () => request({ method: "GET", path: "/small" }),
      large: () => request({ method: "GET", path: "/large" }),
      post: () => request({ method: "POST", path: "/small", headers, body: JSON.stringify(BODY) }),
    };
  },

  fetch() {
    const request = async (path, options) => {
      const response = await fetch(`${baseUrl}${path}`, options);
      if (!response.ok) throw new Error(`HTTP ${response.status}`);
      return response.json();
    };
    const headers = { "content-type": "application/json" };
    return {
      small: () => request("/small"),
      large: () => request("/large"),
      post: () => request("/small", { method: "POST", headers, body: JSON.stringify(BODY) }),
    };
  },
};

const client = await clients[who]();
answer(async ({ work, requests, inFlight }) => {
  globalThis.gc();
  let left = requests;
  const worker = async () => {
    while (left-- > 0) await client[work]();
  };
  const busy = mainThreadTime();
  const start = performance.now();
  await Promise.all(Array.from({ length: inFlight }, worker));
  const elapsed = performance.now() - start;
  return { rate: (requests / elapsed) * 1000, thread: ((mainThreadTime() - busy) / requests) * 1000 };
});
