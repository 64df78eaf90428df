// What an authorization server has to offer before a user is sent to it, or a secret or a token.

import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { CallError, createMCPClient } from "@alkdev/operations";
import { startAuthorizationServer, visit } from "./support/authorization-server.mjs";
import { startHTTPServer } from "./support/http-server.mjs";
import { failure } from "./support/servers.mjs";

const program = { clientCredentials: { clientId: "nightly", clientSecret: "s3cret" } };
const programs = { nightly: { secret: "s3cret" } };

/** Connects, which fails. Gives the error, the pages that the user was shown, and the tokens that the server was sent. */
async function refused(test, options, oauth) {
  const authorization = await startAuthorizationServer(test, options);
  const sent = [];
  const server = await startHTTPServer(test, {
    before: (request, response, message) => {
      if (request.headers.authorization !== undefined) sent.push(request.headers.authorization);
      return authorization.guard(request, response, message);
    },
  });
  const shown = [];
  const onAuthorize = (page) => {
    shown.push(page.url);
    return visit(page);
  };
  const config = { url: server.url, connectTimeout: 20_000, oauth: oauth ?? { onAuthorize } };
  const error = await failure(createMCPClient("guarded", config));
  assert.ok(error instanceof CallError, String(error));
  assert.equal(error.code, "EXECUTION_ERROR", error.message);
  return { error, shown, sent, events: authorization.events };
}

describe("an authorization server", () => {
  it("an authorization server that does not announce PKCE with S256 is not used", async (t) => {
    for (const code_challenge_methods_supported of [undefined, [], ["plain"]]) {
      const { error, shown, events } = await refused(t, { metadata: { code_challenge_methods_supported } });
      assert.match(error.message, /PKCE/);
      assert.deepEqual([shown, events], [[], []]);
    }
  });

  it("an authorization server whose page or token endpoint is not encrypted gets neither users nor secrets", async (t) => {
    for (const metadata of [
      { authorization_endpoint: "http://auth.example/authorize" },
      { token_endpoint: "http://auth.example/token" },
      { registration_endpoint: "http://auth.example/register" },
    ]) {
      const { error, shown, events } = await refused(t, { metadata });
      assert.match(error.message, /endpoint .* must be an https URL/);
      assert.deepEqual([shown, events], [[], []]);
    }
    const metadata = { token_endpoint: "http://auth.example/token" };
    const { error } = await refused(t, { metadata, programs }, program);
    assert.match(error.message, /token endpoint .* must be an https URL/);
  });

  it("an authorization server whose token endpoint is not encrypted does not get stored tokens", async (t) => {
    const stored = {
      client_id: "client-1",
      token_response: {
        access_token: "old",
        refresh_token: "r3fresh",
        token_type: "bearer",
        expires_in: 3600,
      },
      granted_scopes: ["tools"],
      token_received_at: 1,
    };
    const store = { load: () => stored, save() {}, clear() {} };
    const metadata = { token_endpoint: "http://auth.example/token" };
    const { error, sent } = await refused(t, { metadata }, { onAuthorize: visit, tokenStore: store });
    assert.match(error.message, /must be an https URL/);
    assert.deepEqual(sent, []);
  });

  it("tokens of a type other than Bearer are not sent as if they were Bearer tokens", async (t) => {
    const mac = (_, response) => {
      response.writeHead(200, { "Content-Type": "application/json" });
      response.end(JSON.stringify({ access_token: "t0ken", token_type: "mac", expires_in: 3600 }));
    };
    const dpop = (_, response) => {
      response.writeHead(200, { "Content-Type": "application/json" });
      response.end(JSON.stringify({ access_token: "t0ken", token_type: "DPoP", expires_in: 3600 }));
    };
    for (const token of [mac, dpop]) {
      for (const oauth of [undefined, program]) {
        const { error, sent } = await refused(t, { programs, odd: { "POST /token": token } }, oauth);
        assert.match(error.message, /only Bearer/);
        assert.doesNotMatch(error.message, /t0ken/);
        assert.deepEqual(sent, []);
      }
    }
  });
});
