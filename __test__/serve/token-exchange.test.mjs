// `grant: "token_exchange"`: a hub that trades the tokens of its callers for those of an API.

import assert from "node:assert/strict";
import { generateKeyPairSync, sign } from "node:crypto";
import { test } from "node:test";
import { FromOpenAPI, OperationRegistry } from "@alkdev/operations";
import { serve } from "@alkdev/operations/serve";
import {
  documentWith,
  SECRET,
  startApi,
  startAuthorizationServer,
} from "../http/support/authorization-server.mjs";
import { defer } from "../mcp/support/defer.mjs";
import { operation } from "./support.mjs";

const key = generateKeyPairSync("ec", { namedCurve: "P-256" });
const ISSUER = "https://login.example";
const encode = (value) => Buffer.from(JSON.stringify(value)).toString("base64url");

/** A token of a user of the hub. */
function tokenFor(sub) {
  const claims = { iss: ISSUER, aud: "hub", sub, exp: Math.floor(Date.now() / 1000) + 600 };
  const text = `${encode({ alg: "ES256" })}.${encode(claims)}`;
  const signature = sign("sha256", Buffer.from(text), { key: key.privateKey, dsaEncoding: "ieee-p1363" });
  return `${text}.${signature.toString("base64url")}`;
}

/** What the authorization server knows of such a token. */
const subjectOf = (token) => JSON.parse(Buffer.from(token.split(".")[1] ?? "", "base64url")).sub;

async function startHub(t, { jwt = true, middleware } = {}) {
  const server = await startAuthorizationServer(t, { subjectOf });
  const api = await startApi(t, server);
  const registry = new OperationRegistry();
  const auth = {
    type: "oauth2",
    grant: "token_exchange",
    tokenUrl: `${server.issuer}/token`,
    clientId: "hub:1",
    clientSecret: SECRET,
  };
  registry.registerAll(FromOpenAPI(documentWith(), { namespace: "api", baseUrl: api.url, auth }));
  const contexts = [];
  registry.register(
    operation({
      namespace: "hub",
      name: "whose",
      handler: async (_, context) => {
        contexts.push(context);
        return (await context.env.api.me({})).data;
      },
    }),
  );
  if (middleware !== undefined) registry.use(middleware);
  const jwks = { keys: [key.publicKey.export({ format: "jwk" })] };
  const hub = await serve(registry, {
    port: 0,
    ...(jwt && { jwt: { issuer: ISSUER, audience: "hub", jwks } }),
    doors: { http: true, mcp: true },
  });
  defer(t, () => hub.close());
  const call = async (path, token) => {
    const headers = { authorization: `Bearer ${token}`, "content-type": "application/json" };
    const response = await fetch(`${hub.url}${path}`, { method: "POST", headers, body: "{}" });
    return { status: response.status, body: await response.json() };
  };
  return { ...server, api, registry, contexts, call, hub };
}

test("each caller's token is traded once, and the API sees who calls", async (t) => {
  const { call, grants, api } = await startHub(t);
  const [ada, bob] = [tokenFor("ada"), tokenFor("bob")];
  const answers = await Promise.all([ada, ada, bob, ada, bob].map((token) => call("/api/api/me", token)));
  assert.deepEqual(
    answers.map(({ body }) => body),
    ["ada", "ada", "bob", "ada", "bob"],
  );
  assert.equal(grants.length, 2);
  assert.ok(api.tokens.every((token) => token !== `Bearer ${ada}` && token !== `Bearer ${bob}`));
});

test("a token that the API refuses is traded again, once", async (t) => {
  const { call, grants, api } = await startHub(t);
  const ada = tokenFor("ada");
  await call("/api/api/me", ada);
  api.refuse.add(api.tokens[0]);
  assert.equal((await call("/api/api/me", ada)).body, "ada");
  assert.equal(grants.length, 2);
});

test("a handler calls the API for its caller, and cannot read the token", async (t) => {
  const { call, contexts } = await startHub(t);
  const ada = tokenFor("ada");
  assert.equal((await call("/api/hub/whose", ada)).body, "ada");
  const { inspect } = await import("node:util");
  assert.ok(!inspect(contexts[0], { depth: 8, showHidden: true }).includes(ada));
  assert.ok(!JSON.stringify({ ...contexts[0], env: undefined }).includes(ada));
});

test("with middleware, when JavaScript makes the call, it is the same", async (t) => {
  const { call, grants } = await startHub(t, { middleware: (_, next) => next() });
  assert.equal((await call("/api/api/me", tokenFor("ada"))).body, "ada");
  assert.deepEqual(grants.length, 1);
});

test("a tool call over MCP trades its caller's token", async (t) => {
  const { hub } = await startHub(t);
  const response = await fetch(`${hub.url}/mcp`, {
    method: "POST",
    headers: {
      authorization: `Bearer ${tokenFor("bob")}`,
      "content-type": "application/json",
      accept: "application/json, text/event-stream",
      "mcp-protocol-version": "2025-11-25",
    },
    body: JSON.stringify({
      jsonrpc: "2.0",
      id: 1,
      method: "tools/call",
      params: { name: "api_me", arguments: {} },
    }),
  });
  assert.match(await response.text(), /bob/);
});

test("a call without a verified token fails, and nothing is sent", async (t) => {
  const { call, registry, api, grants } = await startHub(t, { jwt: false });
  const served = await call("/api/api/me", tokenFor("ada"));
  assert.equal(served.status, 502);
  const direct = await registry
    .execute("api.me", {}, { identity: { id: "ada", scopes: [] } })
    .catch((error) => error);
  assert.match(direct.message, /this call came without one/);
  assert.equal(direct.details.delivery, "none");
  assert.deepEqual([api.tokens, grants], [[], []]);
});
