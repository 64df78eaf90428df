// Servers that want a token for some things and not for others, one that allows more, or one from elsewhere; and
// programs that come without a user.

import assert from "node:assert/strict";
import { generateKeyPairSync } from "node:crypto";
import { describe, it } from "node:test";
import { createMCPClient } from "@alkdev/operations";
import { startAuthorizationServer, visit } from "./support/authorization-server.mjs";
import { startHTTPServer } from "./support/http-server.mjs";
import { connected, failure } from "./support/servers.mjs";

/** A server that needs what `needs` says for each method. */
async function guarded(test, needs, options) {
  const authorization = await startAuthorizationServer(test, options);
  const before = (request, response, message) => authorization.guard(request, response, message, { needs });
  return { authorization, server: await startHTTPServer(test, { before }) };
}

/** A user who always agrees, and remembers what was asked. */
function user() {
  const asked = [];
  const onAuthorize = (page) => {
    asked.push(new URL(page.url).searchParams.get("scope"));
    return visit(page);
  };
  return { asked, onAuthorize };
}

const isOpen = (method) => /^(server|initialize|notifications)/.test(method ?? "");

describe("a token is asked for", () => {
  it("a token is requested when the list of tools needs one and the handshake does not", async (t) => {
    const { server } = await guarded(t, (method) => (isOpen(method) ? undefined : "tools"));
    const { asked, onAuthorize } = user();
    const { call } = await connected(t, { url: server.url, oauth: { onAuthorize } });
    assert.equal((await call("echo", { text: "let in" })).data[0].text, "let in");
    assert.deepEqual(asked, ["tools"]);
  });

  it("a token is requested when only a call needs one, once for all concurrent calls", async (t) => {
    const { server, authorization } = await guarded(t, (method) =>
      method === "tools/call" ? "tools" : undefined,
    );
    const { asked, onAuthorize } = user();
    const { call } = await connected(t, { url: server.url, oauth: { onAuthorize } });
    assert.deepEqual(asked, []);
    const texts = Array.from({ length: 10 }, (_, index) => `call ${index}`);
    const answers = await Promise.all(texts.map((text) => call("echo", { text })));
    assert.deepEqual(
      answers.map(({ data }) => data[0].text),
      texts,
    );
    assert.deepEqual(asked, ["tools"]);
    assert.deepEqual(authorization.events, ["registered", "authorized", "token"]);
  });

  it("without `oauth`, a call that needs a token says so, and that nothing was carried out", async (t) => {
    const { server } = await guarded(t, (method) => (method === "tools/call" ? "tools" : undefined));
    const { call } = await connected(t, { url: server.url });
    const error = await failure(call("echo", { text: "a" }));
    assert.equal(error.code, "EXECUTION_ERROR");
    assert.equal(error.details.status, 401);
    assert.equal(error.details.delivery, "none");
  });

  it("a token is requested from another authorization server if the resource has moved there", async (t) => {
    const first = await startAuthorizationServer(t);
    const second = await startAuthorizationServer(t);
    let current = first;
    const server = await startHTTPServer(t, {
      before: (...args) => current.guard(...args),
    });
    const { onAuthorize } = user();
    const { call } = await connected(t, { url: server.url, oauth: { onAuthorize } });
    assert.equal((await call("echo", { text: "first" })).data[0].text, "first");
    current = second;
    assert.equal((await call("echo", { text: "second" })).data[0].text, "second");
    assert.deepEqual(second.events, ["registered", "authorized", "token"]);
    for (const token of first.tokens()) assert.ok(!second.tokens().includes(token));
  });
});

describe("a token that allows more", () => {
  it("a token with more scopes is requested together with the scopes granted before", async (t) => {
    const { server } = await guarded(t, (method) => (method === "tools/call" ? "write" : "tools"));
    const { asked, onAuthorize } = user();
    const { call } = await connected(t, { url: server.url, oauth: { onAuthorize } });
    assert.deepEqual(asked, ["tools"]);
    assert.equal((await call("echo", { text: "more" })).data[0].text, "more");
    assert.deepEqual(
      asked.map((scope) => scope.split(" ").sort()),
      [["tools"], ["tools", "write"]],
    );
  });

  it("more scopes are requested three times at most; then the error names them", async (t) => {
    // What the user allows is never enough.
    const { server } = await guarded(t, (method) => (isOpen(method) ? "tools" : "more"), {});
    const asked = [];
    const onAuthorize = (page) => {
      const url = new URL(page.url);
      asked.push(url.searchParams.get("scope"));
      url.searchParams.set("scope", "tools");
      return visit({ url });
    };
    const config = { url: server.url, oauth: { onAuthorize } };
    const error = await failure(createMCPClient("greedy", config));
    assert.equal(error.code, "EXECUTION_ERROR");
    assert.equal(error.details.scope, "more");
    assert.match(error.message, /more/);
    assert.ok(asked.length <= 4, asked.join());
    assert.ok(asked.slice(1).every((scope) => scope.split(" ").includes("tools")));
  });

  it("a call fails and names the scope if the user refuses it", async (t) => {
    const { server } = await guarded(t, (method) => (method === "tools/call" ? "write" : "tools"));
    let visits = 0;
    const onAuthorize = (page) => {
      visits += 1;
      if (visits > 1) throw new Error("that is too much");
      return visit(page);
    };
    const { call } = await connected(t, { url: server.url, oauth: { onAuthorize } });
    const error = await failure(call("echo", { text: "a" }));
    assert.equal(error.code, "EXECUTION_ERROR");
    assert.match(error.message, /that is too much/);
    assert.equal(error.details.scope, "write");
    assert.equal(error.details.delivery, "none");
  });
});

describe("a client that is described at an address", () => {
  it("a client described at an address needs no registration if the authorization server supports it", async (t) => {
    const metadata = { client_id_metadata_document_supported: true };
    const { server, authorization } = await guarded(t, undefined, { metadata });
    const clientMetadataUrl = "https://client.example/metadata.json";
    let clientId;
    const onAuthorize = (page) => {
      clientId = new URL(page.url).searchParams.get("client_id");
      return visit(page);
    };
    await connected(t, { url: server.url, oauth: { onAuthorize, clientMetadataUrl } });
    assert.equal(clientId, clientMetadataUrl);
    assert.deepEqual(authorization.events, ["authorized", "token"]);
  });

  it("a client described at an address is registered if the authorization server does not support that", async (t) => {
    const { server, authorization } = await guarded(t);
    const clientMetadataUrl = "https://client.example/metadata.json";
    await connected(t, { url: server.url, oauth: { onAuthorize: visit, clientMetadataUrl } });
    assert.deepEqual(authorization.events, ["registered", "authorized", "token"]);
  });
});

describe("a program without a user", () => {
  const pair = generateKeyPairSync("ec", { namedCurve: "P-256" });
  const privateKey = pair.privateKey.export({ type: "pkcs8", format: "pem" });
  const metadata = {
    grant_types_supported: ["client_credentials"],
    token_endpoint_auth_methods_supported: ["client_secret_basic", "private_key_jwt"],
  };
  const programs = { robot: { secret: "s3cret-of-robot", key: pair.publicKey } };

  for (const [how, credentials] of Object.entries({
    "a secret": { clientId: "robot", clientSecret: "s3cret-of-robot" },
    "a key": { clientId: "robot", privateKey },
  })) {
    it(`a program without a user gets a token with ${how}, and another when that is invalid`, async (t) => {
      const { server, authorization } = await guarded(t, undefined, { metadata, programs });
      const oauth = { clientCredentials: credentials };
      const { call } = await connected(t, { url: server.url, oauth });
      assert.equal((await call("echo", { text: "beep" })).data[0].text, "beep");
      authorization.revokeAll();
      assert.equal((await call("echo", { text: "boop" })).data[0].text, "boop");
      assert.deepEqual(authorization.events, ["token for robot", "token for robot"]);
    });
  }

  it("a program with a wrong secret or key gets an error that does not show it", async (t) => {
    const { server } = await guarded(t, undefined, { metadata, programs });
    const other = generateKeyPairSync("ec", { namedCurve: "P-256" }).privateKey;
    for (const credentials of [
      { clientId: "robot", clientSecret: "wrong-s3cret" },
      { clientId: "robot", privateKey: other.export({ type: "pkcs8", format: "pem" }) },
      { clientId: "robot", privateKey: "no key at all" },
      { clientId: "robot", privateKey, algorithm: "RS256" },
    ]) {
      const oauth = { clientCredentials: credentials };
      const error = await failure(createMCPClient("robot", { url: server.url, oauth }));
      assert.equal(error.code, "EXECUTION_ERROR");
      assert.match(error.message, /no permission was granted/);
      assert.ok(!JSON.stringify([error.message, error.details]).includes("wrong-s3cret"));
    }
  });

  it("a program without a user must have either a secret or a key", async () => {
    for (const clientCredentials of [
      { clientId: "robot" },
      { clientId: "robot", clientSecret: "a", privateKey: "b" },
      { clientSecret: "a" },
      { clientId: "robot", privateKey, algorithm: "none" },
    ]) {
      const config = { url: "http://127.0.0.1:9/", oauth: { clientCredentials } };
      const error = await failure(createMCPClient("robot", config));
      assert.equal(error.code, "VALIDATION_ERROR");
      assert.match(error.message, /clientCredentials/);
    }
  });
});
