// Who calls a served operation, and what follows from it.

import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { CallError } from "@alkdev/operations";
import { serve } from "@alkdev/operations/serve";
import { deferred, operation, serving } from "./support.mjs";

const whoami = operation({ name: "whoami", handler: (_, { identity }) => identity ?? null });
const secret = operation({
  name: "secret",
  accessControl: { requiredScopes: ["admin", "write"] },
  handler: () => "fine",
});
const ADA = { id: "ada", scopes: ["admin", "write"], team: "a" };
const BOB = { id: "bob", scopes: ["write"], resources: { "task:1": ["read"] } };
const bearer = (token) => ({ headers: { authorization: `Bearer ${token}` } });

describe("tokens", () => {
  it("tokens identify callers to access rules and to handlers", async () => {
    const { post } = await serving([whoami, secret], {
      tokens: { "ada-token": ADA, "bob-token": BOB },
      anonymous: true,
    });
    assert.deepEqual(await (await post("test/whoami", {}, bearer("ada-token"))).json(), ADA);
    assert.equal(await (await post("test/whoami", {})).json(), null);
    assert.equal((await post("test/secret", {}, bearer("ada-token"))).status, 200);
    const refused = await post("test/secret", {}, bearer("bob-token"));
    assert.equal(refused.status, 403);
    assert.equal(refused.headers.get("www-authenticate"), 'Bearer error="insufficient_scope", scope="admin"');
    const { code, details, mayHaveRun } = await refused.json();
    assert.deepEqual([code, details.missingScopes, mayHaveRun], ["ACCESS_DENIED", ["admin"], false]);
    const wrong = await post("test/whoami", {}, bearer("guessed"));
    assert.equal(wrong.status, 401);
    assert.equal(wrong.headers.get("www-authenticate"), 'Bearer error="invalid_token"');
  });

  it("tokens are not quoted in errors about them", async () => {
    const { registry } = await serving([whoami]);
    for (const tokens of [{ "my-secret": { id: 7 } }, { "my-secret\n": ADA }]) {
      await assert.rejects(serve(registry, { doors: { http: true }, tokens }), (error) => {
        assert.equal(error.code, "VALIDATION_ERROR");
        assert.doesNotMatch(error.message, /my-secret/);
        return true;
      });
    }
  });
});

describe("identify", () => {
  it("identify is asked for what tokens do not know", async () => {
    const asked = [];
    const identify = ({ headers }) => {
      asked.push(headers.get("authorization"));
      return BOB;
    };
    const { post } = await serving([whoami], { tokens: { "ada-token": ADA }, identify });
    assert.deepEqual(await (await post("test/whoami", {}, bearer("ada-token"))).json(), ADA);
    assert.deepEqual(await (await post("test/whoami", {}, bearer("other"))).json(), BOB);
    assert.deepEqual(await (await post("test/whoami", {})).json(), BOB);
    assert.deepEqual(asked, ["Bearer other", null]);
  });

  it("identify gets the request, and may be async", async () => {
    const seen = [];
    const { post } = await serving([whoami], {
      anonymous: true,
      identify: async (request) => {
        await new Promise(setImmediate);
        seen.push([request.method, request.url, request.headers.get("X-User")]);
        const id = request.headers.get("x-user");
        return id === null ? undefined : { id, scopes: [] };
      },
    });
    const response = await post("test/whoami", {}, { headers: { "x-user": "n\u00efna" } });
    assert.deepEqual(await response.json(), { id: "n\u00efna", scopes: [] });
    assert.equal(await (await post("test/whoami", {})).json(), null);
    assert.deepEqual(seen, [
      ["POST", "/api/test/whoami", "n\u00efna"],
      ["POST", "/api/test/whoami", null],
    ]);
  });

  it("identify is not called again while its result is valid, for requests that it could not distinguish", async () => {
    let asked = 0;
    const { post } = await serving([whoami], {
      identify: ({ headers }) => {
        asked += 1;
        const id = headers.get("authorization");
        return { identity: id === null ? undefined : { id, scopes: [] }, maxAge: 60_000 };
      },
    });
    const call = async (token, more = {}) => {
      const headers = { ...bearer(token).headers, ...more };
      return (await (await post("test/whoami", {}, { headers })).json()).id;
    };
    assert.equal(await call("a"), "Bearer a");
    assert.equal(await call("a", { "accept-language": "de" }), "Bearer a");
    assert.equal(asked, 1);
    assert.equal(await call("b"), "Bearer b");
    assert.equal(asked, 2);
    assert.equal(await call("a"), "Bearer a");
    assert.equal(asked, 2);
    await post("test/whoami", {});
    await post("test/whoami", {});
    assert.equal(asked, 3);
  });

  it("an identify that reads all headers is called for each request that differs", async () => {
    let asked = 0;
    const { post } = await serving([whoami], {
      identify: ({ headers }) => {
        asked += 1;
        return { identity: { id: String([...headers].length), scopes: [] }, maxAge: 60_000 };
      },
    });
    for (const language of ["de", "de", "en"]) {
      await post("test/whoami", {}, { headers: { "accept-language": language } });
    }
    assert.equal(asked, 2);
  });
});

describe("an identify that fails lets nobody in", () => {
  for (const [what, identify, status] of [
    ["denies", () => Promise.reject(new CallError("ACCESS_DENIED", "expired")), 401],
    [
      "throws",
      () => {
        throw new Error("the password is 123");
      },
      500,
    ],
    ["returns what is no identity", () => ({ id: "ada" }), 500],
    ["returns an odd maxAge", () => ({ identity: ADA, maxAge: "long" }), 500],
  ]) {
    it(`an identify that ${what} lets no caller in`, async () => {
      let ran = false;
      const open = operation({
        name: "open",
        handler: () => {
          ran = true;
        },
      });
      const { post } = await serving([open], { identify });
      const response = await post("test/open", {}, bearer("x"));
      assert.equal(response.status, status);
      assert.doesNotMatch(await response.text(), /password/);
      assert.equal(ran, false);
    });
  }
});

describe("OAuth", () => {
  it("OAuth metadata says where clients get a token", async () => {
    const oauth = {
      resource: "https://api.example.com/mcp",
      authorizationServers: ["https://login.example.com"],
      scopes: ["admin"],
    };
    const { post, url } = await serving([secret], { oauth, identify: () => undefined });
    const refused = await post("test/secret", {});
    assert.equal(refused.status, 401);
    assert.equal(
      refused.headers.get("www-authenticate"),
      'Bearer resource_metadata="https://api.example.com/.well-known/oauth-protected-resource/mcp"',
    );
    const metadata = await fetch(`${url}/.well-known/oauth-protected-resource/mcp`);
    assert.deepEqual(await metadata.json(), {
      resource: "https://api.example.com/mcp",
      authorization_servers: ["https://login.example.com"],
      bearer_methods_supported: ["header"],
      scopes_supported: ["admin"],
    });
  });
});

describe("limits per caller", () => {
  it("limits per caller keep one caller from using every permit", async () => {
    const begun = deferred();
    const held = deferred();
    const slow = operation({
      name: "slow",
      handler: () => {
        begun.resolve();
        return held.promise;
      },
    });
    const { post } = await serving([slow, whoami], { perCaller: 1, queue: 0, tokens: { a: ADA, b: BOB } });
    const first = post("test/slow", {}, bearer("a"));
    await begun.promise;
    assert.equal((await post("test/whoami", {}, bearer("a"))).status, 503);
    assert.equal((await post("test/whoami", {}, bearer("b"))).status, 200);
    held.resolve("done");
    assert.equal((await first).status, 200);
  });
});

describe("everybody", () => {
  it("health and, without authentication, metrics are open to everyone", async () => {
    const { url } = await serving([whoami]);
    assert.deepEqual(await (await fetch(`${url}/health`)).json(), { status: "ok" });
    const metrics = await fetch(`${url}/metrics`);
    assert.match(metrics.headers.get("content-type"), /^text\/plain; version=0\.0\.4/);
    assert.match(await metrics.text(), /^operations_serve_requests_total \d+$/m);
  });

  it("metrics require an identity when authentication is configured", async () => {
    const { url } = await serving([whoami], { tokens: { a: ADA } });
    assert.equal((await fetch(`${url}/health`)).status, 200);
    const refused = await fetch(`${url}/metrics`);
    assert.equal(refused.status, 401);
    assert.equal(refused.headers.get("www-authenticate"), "Bearer");
    assert.equal((await fetch(`${url}/metrics`, bearer("a"))).status, 200);
  });

  it("an identity with an empty id is refused", async () => {
    await assert.rejects(serving([whoami], { tokens: { a: { id: "", scopes: [] } } }), /empty/);
    const { post } = await serving([whoami], { identify: () => ({ id: "", scopes: [] }) });
    assert.equal((await post("test/whoami")).status, 500);
  });

  it("CORS credentials cannot be allowed for every origin", async () => {
    const options = { allowedOrigins: ["*"], cors: { credentials: true } };
    await assert.rejects(serving([whoami], options), /cors\.credentials cannot be given to every page/);
  });

  it("a page of an allowed origin can read responses", async () => {
    const origin = "https://app.example.com";
    const { post, url } = await serving([whoami], { allowedOrigins: [origin], cors: true });
    const asked = await fetch(`${url}/api/test/whoami`, {
      method: "OPTIONS",
      headers: {
        origin,
        "access-control-request-method": "POST",
        "access-control-request-headers": "content-type",
      },
    });
    assert.equal(asked.status, 204);
    assert.equal(asked.headers.get("access-control-allow-origin"), origin);
    const response = await post("test/whoami", {}, { headers: { origin } });
    assert.equal(response.headers.get("access-control-allow-origin"), origin);
    assert.equal(response.headers.get("access-control-allow-credentials"), null);
    assert.equal(
      (await post("test/whoami", {}, { headers: { origin: "https://evil.example" } })).status,
      403,
    );
  });
});
