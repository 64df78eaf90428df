// Authorization servers that want to lead the client elsewhere, or to keep it busy.

import assert from "node:assert/strict";
import { generateKeyPairSync } from "node:crypto";
import { createServer } from "node:http";
import { describe, it } from "node:test";
import { createMCPClient } from "@alkdev/operations";
import { startAuthorizationServer, visit } from "./support/authorization-server.mjs";
import { defer } from "./support/defer.mjs";
import { startHTTPServer } from "./support/http-server.mjs";
import { connected, failure } from "./support/servers.mjs";

const { privateKey, publicKey } = generateKeyPairSync("ec", { namedCurve: "P-256" });
const pem = privateKey.export({ type: "pkcs8", format: "pem" });

/** The ways to a token, and what the authorization server has to know about them. */
const WAYS = {
  "a user": [{ onAuthorize: visit }, {}],
  "a user, with a key": [{ onAuthorize: visit, dpop: true }, { dpop: true }],
  "a secret": [
    { clientCredentials: { clientId: "nightly", clientSecret: "s3cret" } },
    { programs: { nightly: { secret: "s3cret" } } },
  ],
  "a private key": [
    { clientCredentials: { clientId: "nightly", privateKey: pem, algorithm: "ES256" } },
    { programs: { nightly: { key: publicKey } } },
  ],
  "a platform": [
    { workload: { clientId: "nightly", token: () => "vouched" } },
    { vouched: { vouched: "nightly" } },
  ],
};

async function refused(test, oauth, options, config = {}) {
  const authorization = await startAuthorizationServer(test, options);
  const server = await startHTTPServer(test, { before: authorization.guard });
  return failure(createMCPClient("guarded", { url: server.url, oauth, connectTimeout: 20_000, ...config }));
}

/** A server that notes what arrives. */
async function bystander(test) {
  const heard = [];
  const server = createServer((request, response) => {
    let body = "";
    request.setEncoding("utf8").on("data", (text) => {
      body += text;
    });
    request.on("end", () => {
      heard.push({ url: request.url, body });
      response.writeHead(200, { "Content-Type": "application/json" }).end("{}");
    });
  });
  await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
  defer(test, () => {
    server.close();
    server.closeAllConnections();
  });
  return { heard, url: `http://127.0.0.1:${server.address().port}` };
}

describe("an authorization server", () => {
  for (const [way, [oauth, options]] of Object.entries(WAYS)) {
    for (const token_endpoint of [
      "https://169.254.169.254/token",
      "https://10.255.255.1/token",
      "https://[::ffff:169.254.169.254]/token",
      "http://192.168.255.1/token",
    ]) {
      it(`an authorization server that points to ${token_endpoint} gets no request there, with ${way}`, async (t) => {
        const error = await refused(t, oauth, { ...options, metadata: { token_endpoint } });
        // Not a time limit: whoever tries to connect to these waits for long.
        assert.equal(error.code, "EXECUTION_ERROR", error.message);
        assert.doesNotMatch(JSON.stringify([error.message, error.details]), /s3cret|vouched"|PRIVATE KEY/);
      });
    }

    it(`an authorization server whose token endpoint redirects gets no secret sent elsewhere, with ${way}`, async (t) => {
      const other = await bystander(t);
      const redirect = (_, response) => response.writeHead(307, { Location: `${other.url}/steal` }).end();
      const error = await refused(t, oauth, { ...options, odd: { "POST /token": redirect } });
      assert.equal(error.code, "EXECUTION_ERROR", error.message);
      assert.deepEqual(other.heard, []);
    });

    it(`an authorization server whose token endpoint never responds ends at the time limit, with ${way}`, async (t) => {
      const silent = { "POST /token": () => {} };
      const error = await refused(t, oauth, { ...options, odd: silent }, { connectTimeout: 1_500 });
      assert.equal(error.code, "TIMEOUT", error.message);
    });

    it(`an authorization server whose documents are endless does not exhaust memory, with ${way}`, async (t) => {
      for (const route of ["GET /.well-known/oauth-authorization-server", "POST /token"]) {
        let sent = 0;
        const endless = (_, response) => {
          response.writeHead(200, { "Content-Type": "application/json" });
          response.write('{"issuer":"');
          const piece = "x".repeat(64 * 1024);
          const more = () => {
            while (!response.destroyed && response.write(piece)) sent += piece.length;
            response.once("drain", more);
          };
          more();
        };
        const error = await refused(t, oauth, { ...options, odd: { [route]: endless } });
        assert.equal(error.code, "EXECUTION_ERROR", error.message);
        assert.ok(sent < 128 * 1024 * 1024, `${route}: ${sent} bytes`);
      }
    });

    it(`an authorization server that claims to be a different issuer gets nothing, with ${way}`, async (t) => {
      const other = await bystander(t);
      const metadata = { issuer: other.url, token_endpoint: `${other.url}/token` };
      const error = await refused(t, oauth, { ...options, metadata });
      assert.equal(error.code, "EXECUTION_ERROR", error.message);
      assert.deepEqual(other.heard, []);
    });
  }

  it("a redirect of authorization metadata to a private address is not followed", async (t) => {
    for (const [oauth, options] of Object.values(WAYS)) {
      const redirect = (_, response) =>
        response.writeHead(302, { Location: "http://169.254.169.254/" }).end();
      const odd = { "GET /.well-known/oauth-authorization-server": redirect };
      const error = await refused(t, oauth, { ...options, odd });
      assert.equal(error.code, "EXECUTION_ERROR", error.message);
    }
  });
});

describe("a server that wants other scopes each time", () => {
  it("a server that requires other scopes each time prompts the user three times for one call at most", async (t) => {
    const authorization = await startAuthorizationServer(t);
    let wanted = 0;
    const before = (request, response, message) => {
      if (message?.method !== "tools/call") return authorization.guard(request, response, message);
      wanted += 1;
      const challenge = `Bearer error="insufficient_scope", scope="more-${wanted}"`;
      response.writeHead(403, { "WWW-Authenticate": challenge }).end();
      return true;
    };
    const server = await startHTTPServer(t, { before });
    let asked = 0;
    const onAuthorize = (page) => {
      asked += 1;
      return visit(page);
    };
    const { call } = await connected(t, { url: server.url, oauth: { onAuthorize } }, "greedy");
    const before1 = asked;
    const error = await failure(call("echo", { text: "x" }));
    assert.match(error.details.scope, /^more-/);
    assert.equal(asked - before1, 3);
  });

  it("a server cannot prompt the user for a thousand scopes", async (t) => {
    const authorization = await startAuthorizationServer(t);
    const scope = Array.from({ length: 1_000 }, (_, index) => `s${index}`).join(" ");
    const before = (request, response, message) => {
      if (message?.method !== "tools/call") return authorization.guard(request, response, message);
      response
        .writeHead(403, { "WWW-Authenticate": `Bearer error="insufficient_scope", scope="${scope}"` })
        .end();
      return true;
    };
    const server = await startHTTPServer(t, { before });
    let asked = 0;
    const onAuthorize = (page) => {
      asked += 1;
      return visit(page);
    };
    const { call } = await connected(t, { url: server.url, oauth: { onAuthorize } }, "greedy");
    const first = asked;
    await failure(call("echo", { text: "x" }));
    assert.equal(asked, first);
  });
});
