// What an upstream server says, as clients and models get it: statuses, bodies, and who may store an answer.

import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { FromOpenAPI } from "@alkdev/operations";
import { documentOf, sendJson, serve as upstream } from "../http/support.mjs";
import { hubOf, registryOf, spokeOf } from "../hub/support.mjs";
import { serving } from "./support.mjs";

const api = await upstream((request, response) => {
  const { pathname, searchParams } = new URL(request.url, "http://x");
  if (pathname === "/cached") {
    for (const [name, value] of searchParams) response.setHeader(name, value);
    return sendJson(response, { mine: true });
  }
  const [, , status, size] = pathname.split("/");
  if (status === "429") response.setHeader("retry-after", "7");
  const body = { reason: `why ${status}`, filler: "x".repeat(Number(size ?? 0)) };
  return sendJson(response, body, Number(status));
});

const parameters = ["status", "size"].map((name) => ({
  in: "path",
  name,
  required: true,
  schema: { type: "string" },
}));
const object = { "application/json": { schema: { type: "object" } } };
const statuses = (...codes) => ({
  responses: Object.fromEntries(
    ["200", ...codes].map((code) => [code, { description: "", content: object }]),
  ),
});
const paths = {
  "/declared/{status}/{size}": {
    get: {
      operationId: "declared",
      parameters,
      ...statuses("401", "403", "404", "409", "410", "412", "422", "429", "500"),
    },
  },
  "/range/{status}/{size}": { get: { operationId: "range", parameters, ...statuses("4XX") } },
  "/silent/{status}/{size}": { get: { operationId: "silent", parameters, ...statuses() } },
  "/cached": {
    get: {
      operationId: "cached",
      parameters: ["cache-control", "vary", "expires"].map((name) => ({
        in: "query",
        name,
        schema: { type: "string" },
      })),
      ...statuses(),
    },
  },
};
const imported = () => FromOpenAPI(documentOf(paths), { namespace: "up", baseUrl: api.url });

const RELAYED = [404, 409, 410, 412, 422, 429];

for (const how of ["natively", "by JavaScript"]) {
  describe(`an error of an upstream server, answered ${how}`, () => {
    const start = async (options) => {
      const served = await serving(imported(), options);
      if (how !== "natively") served.registry.use((_call, next) => next());
      return served;
    };

    it(`an upstream error keeps a declared status that a client can act on, and its body, answered ${how}`, async () => {
      const { url } = await start();
      for (const status of RELAYED) {
        for (const path of ["declared", "range"]) {
          const response = await fetch(`${url}/api/${path}/${status}/0`);
          assert.equal(response.status, status, path);
          assert.equal(response.headers.get("content-type"), "application/problem+json");
          const { code, details, status: relayed } = await response.json();
          assert.equal(code, "EXECUTION_ERROR");
          assert.equal(relayed, status);
          assert.deepEqual(details.body, { reason: `why ${status}`, filler: "" });
        }
      }
      assert.equal((await fetch(`${url}/api/declared/429/0`)).headers.get("retry-after"), "7");
    });

    it(`any other upstream error has status 502 and its body, answered ${how}`, async () => {
      const { url } = await start();
      const others = [
        "declared/401",
        "declared/403",
        "declared/500",
        "silent/404",
        "silent/422",
        "range/400",
      ];
      for (const path of others) {
        const response = await fetch(`${url}/api/${path}/0`);
        assert.equal(response.status, 502, path);
        const { details } = await response.json();
        assert.equal(details.body.reason, `why ${path.split("/")[1]}`);
      }
    });

    it(`an upstream error has no more than 4 KiB of its body, answered ${how}`, async () => {
      const { url } = await start();
      const { details } = await (await fetch(`${url}/api/declared/404/100000`)).json();
      assert.equal(typeof details.body, "string");
      assert.ok(details.body.startsWith('{"reason":"why 404","filler":"xxx'));
      assert.ok(details.body.length > 4000 && details.body.length < 4200, String(details.body.length));
    });

    it(`an upstream error reaches a model with its body, answered ${how}`, async () => {
      const { url } = await start({ doors: { mcp: { name: "t", version: "1" } } });
      for (const [name, status] of [
        ["up_declared", "422"],
        ["up_silent", "500"],
      ]) {
        const params = { name, arguments: { status, size: "0" } };
        const response = await fetch(`${url}/mcp`, {
          method: "POST",
          headers: { "content-type": "application/json", accept: "application/json, text/event-stream" },
          body: JSON.stringify({ jsonrpc: "2.0", id: 1, method: "tools/call", params }),
        });
        const text = await response.text();
        const { result } = JSON.parse(text.startsWith("{") ? text : /^data: (\{.*)$/m.exec(text)[1]);
        assert.equal(result.isError, true);
        assert.ok(result.content[0].text.startsWith(`HTTP ${status}`), text);
        assert.ok(result.content[0].text.includes(`why ${status}`), text);
      }
    });
  });
}

it("an error of a spoke's upstream server keeps its status through the hub", async () => {
  const { address, url } = await hubOf([], { hub: { accept: ({ name }) => ({ namespace: name }) } });
  const spoke = await spokeOf(address, { name: "up", token: "ada" });
  await spoke.serve(registryOf(...imported()));
  const headers = { authorization: "Bearer ada" };
  for (const [name, expected] of [
    ["declared", 404],
    ["silent", 502],
  ]) {
    const response = await fetch(`${url}/api/up/${name}?status=404&size=0`, { headers });
    assert.equal(response.status, expected);
    assert.equal((await response.json()).details.body.reason, "why 404");
  }
});

describe("an upstream answer that any cache may store", () => {
  it("an upstream answer that any cache may store is private when it is served, and keeps vary", async () => {
    const { url } = await serving(imported());
    for (const [sent, expected] of [
      ["public, max-age=60", "private, max-age=60"],
      ["Public, s-maxage=600, max-age=60, proxy-revalidate", "private, max-age=60"],
      ["max-age=60", "private, max-age=60"],
      ["private", "private"],
      ["no-store", "private, no-store"],
      ['private="set-cookie, x", max-age=9', "no-store"],
    ]) {
      const query = new URLSearchParams({ "cache-control": sent, vary: "accept-language, authorization" });
      const { headers } = await fetch(`${url}/api/cached?${query}`);
      assert.equal(headers.get("cache-control"), expected, sent);
      assert.equal(headers.get("vary"), "accept-language, authorization");
    }
    const query = new URLSearchParams({ expires: "Fri, 01 Jan 2100 00:00:00 GMT" });
    const { headers } = await fetch(`${url}/api/cached?${query}`);
    assert.equal(headers.get("cache-control"), "no-store");
  });

  it("an upstream answer varies with the origin, too, when pages of other origins may read it", async () => {
    const { url } = await serving(imported(), { cors: true, allowedOrigins: ["https://app.example"] });
    const { headers } = await fetch(`${url}/api/cached?vary=accept`, {
      headers: { origin: "https://app.example" },
    });
    assert.deepEqual(headers.get("vary").toLowerCase().split(", ").sort(), ["accept", "origin"]);
  });
});
