// `auth` and `headers` as functions of the call's context: credentials per user.

import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { CallError } from "@alkdev/operations";
import { answers, failureOf, registryOf, serve } from "./support.mjs";

const genuine = globalThis.fetch;
const drivers = { "the native client": undefined, "a fetch": (url, init) => genuine(url, init) };
const tokens = { ann: "token-of-ann", bob: "token-of-bob" };
const auth = async ({ identity }) => identity && { type: "bearer", token: tokens[identity.id] };
const by = (id) => ({ identity: { id, scopes: [] } });

for (const [name, fetch] of Object.entries(drivers)) {
  describe(`credentials per user, through ${name}`, () => {
    async function service(
      config,
      answer = (request, response) => response.end(JSON.stringify(request.headers)),
    ) {
      const { url: baseUrl } = await serve((request, response) => {
        const isStream = request.url === "/events";
        response.setHeader("content-type", isStream ? "text/event-stream" : "application/json");
        if (isStream) response.end(`data: ${JSON.stringify(request.headers)}\n\n`);
        else answer(request, response);
      });
      const paths = {
        "/it": { get: { operationId: "it", responses: answers() } },
        "/events": { get: { operationId: "events", responses: answers("text/event-stream") } },
      };
      return registryOf(paths, { baseUrl, fetch, ...config });
    }

    it(`credentials per user are those of the caller, or absent, through ${name}`, async () => {
      const registry = await service({ auth });
      const seen = await Promise.all(
        [by("ann"), by("bob"), {}].map(async (context) => {
          const { data } = await registry.execute("t.it", {}, context);
          return data.authorization;
        }),
      );
      assert.deepEqual(seen, ["Bearer token-of-ann", "Bearer token-of-bob", undefined]);
    });

    it(`credentials per user are sent with streams, too, through ${name}`, async () => {
      const registry = await service({ auth });
      for await (const { data } of registry.subscribe("t.events", {}, by("bob"))) {
        assert.equal(data.authorization, "Bearer token-of-bob");
      }
    });

    it(`headers per call rank below those of the call itself, through ${name}`, async () => {
      const headers = ({ requestId }) => ({ "x-request": requestId, "x-tenant": "one" });
      const registry = await service({ headers, auth: { type: "apiKey", token: "k" } });
      const metadata = { headers: { "x-tenant": "two" } };
      const { data } = await registry.execute("t.it", {}, { requestId: "r-1", metadata });
      assert.equal(data["x-request"], "r-1");
      assert.equal(data["x-tenant"], "two");
      assert.equal(data["x-api-key"], "k");
    });

    it("credentials per user are in no message", async () => {
      const registry = await service({ auth }, (request, response) => {
        response.statusCode = 500;
        response.end(JSON.stringify({ got: request.headers.authorization }));
      });
      const error = await failureOf(registry.execute("t.it", {}, by("ann")));
      assert.equal(JSON.stringify([error.message, error.details]).includes("token-of-ann"), false);
    });

    it(`a credentials function that fails is its own error, and nothing is sent, through ${name}`, async () => {
      const mine = new CallError("NO_TOKEN", "sign in first");
      const registry = await service({
        auth: () => {
          throw mine;
        },
      });
      assert.equal(await failureOf(registry.execute("t.it", {}, {})), mine);
      assert.equal(await failureOf(registry.subscribe("t.events", {}, {}).next()), mine);
    });

    it(`a credentials function that returns something else is refused without quoting it, through ${name}`, async () => {
      const registry = await service({ auth: () => ({ type: "secret-type", token: "secret-token" }) });
      const error = await failureOf(registry.execute("t.it", {}, {}));
      assert.equal(error.code, "VALIDATION_ERROR");
      assert.match(error.message, /config\.auth\(\)/);
      assert.equal(error.message.includes("secret-token"), false);
    });

    it(`a credentials function that never settles ends with the signal and the deadline, through ${name}`, async () => {
      const registry = await service({ auth: () => new Promise(() => {}) });
      const controller = new AbortController();
      const aborted = failureOf(registry.execute("t.it", {}, { signal: controller.signal }));
      controller.abort();
      assert.equal((await aborted).code, "ABORTED");
      const late = await failureOf(registry.execute("t.it", {}, { deadline: Date.now() + 200 }));
      assert.equal(late.code, "TIMEOUT");
      const stream = registry.subscribe("t.events", {}, { deadline: Date.now() + 200 });
      assert.equal((await failureOf(stream.next())).code, "TIMEOUT");
    });
  });
}
