// What `inspectOpenAPI` says about the credentials that a document asks for.

import assert from "node:assert/strict";
import { test } from "node:test";
import { inspectOpenAPI } from "@alkdev/operations";
import { documentWith } from "../http/support/authorization-server.mjs";

const SCHEMES = {
  bearer: { type: "http", scheme: "bearer" },
  basic: { type: "http", scheme: "Basic" },
  key: { type: "apiKey", in: "header", name: "X-Key" },
  query: { type: "apiKey", in: "query", name: "key" },
  login: {
    type: "oauth2",
    flows: { clientCredentials: { tokenUrl: "https://login.example/token", scopes: {} } },
  },
  openid: {
    type: "openIdConnect",
    openIdConnectUrl: "https://login.example/.well-known/openid-configuration",
  },
  certificate: { type: "mutualTLS" },
};
const oauth = {
  type: "oauth2",
  grant: "client_credentials",
  tokenUrl: "https://login.example/token",
  clientId: "a",
  clientSecret: "b",
};

/** The schemes that a configuration answers. */
function answered(config) {
  const { security } = inspectOpenAPI(documentWith(SCHEMES), { namespace: "a", ...config });
  assert.equal(security.length, Object.keys(SCHEMES).length);
  return security.filter(({ isAnswered }) => isAnswered).map(({ scheme }) => scheme);
}

test("each scheme that operations ask for is listed, with whether the configuration answers it", () => {
  assert.deepEqual(answered({}), []);
  assert.deepEqual(answered({ auth: { type: "bearer", token: "t" } }), ["bearer", "login", "openid"]);
  assert.deepEqual(answered({ auth: oauth }), ["bearer", "login", "openid"]);
  assert.deepEqual(answered({ auth: { type: "basic", username: "u" } }), ["basic"]);
  assert.deepEqual(answered({ auth: { type: "apiKey", token: "t", headerName: "x-key" } }), ["key"]);
  assert.deepEqual(answered({ auth: { type: "apiKey", token: "t" } }), []);
  assert.deepEqual(answered({ headers: { "x-KEY": "t" } }), ["key"]);
  assert.deepEqual(answered({ auth: () => undefined }), Object.keys(SCHEMES));
});

test("a scheme says what it is, how many operations ask for it, and which scopes they want", () => {
  const document = documentWith(SCHEMES);
  document.security = [{ login: ["read"] }, { key: [] }];
  const responses = { 200: { description: "" } };
  document.paths["/you"] = {
    get: { operationId: "you", responses, security: [{ login: ["write", "read"] }] },
  };
  document.paths["/open"] = { get: { operationId: "open", responses, security: [] } };
  const { security } = inspectOpenAPI(document, { namespace: "a" });
  assert.deepEqual(security, [
    { scheme: "login", type: "oauth2", scopes: ["read", "write"], operations: 2, isAnswered: false },
    {
      scheme: "key",
      type: "apiKey",
      in: "header",
      name: "X-Key",
      scopes: [],
      operations: 1,
      isAnswered: false,
    },
  ]);
});
