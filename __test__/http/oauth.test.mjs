// Tokens that a service fetches for itself.

import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer } from "node:http";
import { after, test } from "node:test";

import { FromOpenAPI, OperationRegistry } from "@alkdev/operations";

const SECRET = "s3cret & more";
const servers = [];
after(() => {
  for (const server of servers) server.close().closeAllConnections();
});

/** An authorization server and an API behind it. */
async function start({ life = 3600, refuse } = {}) {
  const seen = { tokens: [], calls: [], valid: undefined };
  const server = createServer(async (request, response) => {
    const json = (status, value) =>
      response.writeHead(status, { "content-type": "application/json" }).end(JSON.stringify(value));
    if (request.url === "/token") {
      let body = "";
      for await (const piece of request) body += piece;
      seen.tokens.push({ authorization: request.headers.authorization, body });
      // Long enough for every call that was made at once to wait for this answer.
      await new Promise((resolve) => setTimeout(resolve, 250));
      if (refuse) return json(401, { error: "invalid_client", error_description: `not ${SECRET}` });
      seen.valid = `token-${seen.tokens.length}`;
      return json(200, { access_token: seen.valid, token_type: "Bearer", expires_in: life });
    }
    seen.calls.push(request.headers.authorization);
    if (request.headers.authorization !== `Bearer ${seen.valid}`) return json(401, { error: "no" });
    json(200, { ok: true });
  });
  servers.push(server);
  await once(server.listen(0, "127.0.0.1"), "listening");
  const url = `http://127.0.0.1:${server.address().port}`;
  const registry = new OperationRegistry();
  const document = {
    openapi: "3.1.0",
    info: { title: "t", version: "1" },
    paths: { "/ok": { get: { operationId: "ok", responses: { 200: { description: "" } } } } },
  };
  const auth = {
    type: "oauth2",
    grant: "client_credentials",
    tokenUrl: `${url}/token`,
    clientId: "hub:1",
    clientSecret: SECRET,
    scopes: ["read", "write"],
  };
  const config = { namespace: "api", baseUrl: url, auth };
  registry.registerAll(FromOpenAPI(document, config));
  return { seen, config, document, call: () => registry.execute("api.ok", {}, {}) };
}

test("the first calls wait for one token, and later calls use it", async () => {
  const { seen, call } = await start();
  const replies = await Promise.all(Array.from({ length: 20 }, call));
  assert.deepEqual(replies[0].data, { ok: true });
  await call();
  assert.equal(seen.tokens.length, 1);
  assert.deepEqual(new Set(seen.calls), new Set(["Bearer token-1"]));
  const { authorization, body } = seen.tokens[0];
  const basic = Buffer.from(authorization.split(" ")[1], "base64").toString();
  assert.equal(basic, "hub%3A1:s3cret+%26+more");
  assert.deepEqual(Object.fromEntries(new URLSearchParams(body)), {
    grant_type: "client_credentials",
    scope: "read write",
  });
});

test("a token that the service refuses is renewed once, and the call succeeds", async () => {
  const { seen, call } = await start();
  await call();
  seen.valid = "revoked";
  assert.deepEqual((await call()).data, { ok: true });
  assert.deepEqual(seen.calls, ["Bearer token-1", "Bearer token-1", "Bearer token-2"]);
});

test("a token is renewed when its life is over", async () => {
  const { seen, call } = await start({ life: 0 });
  await call();
  await call();
  assert.deepEqual(seen.calls, ["Bearer token-1", "Bearer token-2"]);
});

test("without a token nothing is sent, and the error shows no secret", async () => {
  const { seen, call } = await start({ refuse: true });
  const errors = await Promise.all(Array.from({ length: 5 }, () => call().catch((error) => error)));
  assert.equal(seen.tokens.length, 1);
  assert.deepEqual(seen.calls, []);
  const [error] = errors;
  assert.equal(error.details.delivery, "none");
  assert.equal(error.details.reason, "not-authorized");
  assert.match(error.message, /HTTP 401 \(invalid_client\)/);
  assert.doesNotMatch(JSON.stringify(error) + error.message + error.stack, /s3cret/);
});

test("a configuration that cannot be used is refused without its secrets", async () => {
  const { config, document } = await start();
  const refused = (change) => () => FromOpenAPI(document, { ...config, ...change });
  assert.throws(refused({ fetch: globalThis.fetch }), /needs the native client/);
  const auth = { ...config.auth, tokenUrl: "http://login.example/token" };
  assert.throws(refused({ auth }), (error) => /tokenUrl must be an https URL/.test(error.message));
  assert.throws(refused({ auth: { ...config.auth, grant: SECRET } }), /grant/);
});
