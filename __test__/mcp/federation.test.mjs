// Tokens that somebody vouches for, and tokens that are bound to a key.

import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { createMCPClient } from "@alkdev/operations";
import { startAuthorizationServer, visit } from "./support/authorization-server.mjs";
import { startHTTPServer } from "./support/http-server.mjs";
import { connected, failure } from "./support/servers.mjs";

async function guarded(test, options) {
  const authorization = await startAuthorizationServer(test, options);
  const before = (request, response, message) => authorization.guard(request, response, message);
  return { authorization, server: await startHTTPServer(test, { before }) };
}

describe("a program that its platform vouches for", () => {
  it("a program with a platform identity gets a token, and requests another when that is invalid", async (t) => {
    const vouched = { first: "nightly", second: "nightly" };
    const { server, authorization } = await guarded(t, { vouched });
    const said = ["first", "second"];
    const oauth = { workload: { clientId: "nightly", token: async () => said.shift() } };
    const { call } = await connected(t, { url: server.url, oauth });
    assert.equal((await call("echo", { text: "beep" })).data[0].text, "beep");
    authorization.revokeAll();
    assert.equal((await call("echo", { text: "boop" })).data[0].text, "boop");
    assert.deepEqual(authorization.events, ["token for nightly", "token for nightly"]);
  });

  it("a program whose platform identity is refused gets an error that does not show it", async (t) => {
    const { server } = await guarded(t, {});
    for (const [token, words] of [
      [() => "a-forged-assertion", /invalid_grant/],
      [() => "", /no identity token/],
      [() => Promise.reject(new Error("the platform is down")), /the platform is down/],
    ]) {
      const oauth = { workload: { clientId: "nightly", token } };
      const error = await failure(createMCPClient("robot", { url: server.url, oauth }));
      assert.equal(error.code, "EXECUTION_ERROR");
      assert.match(error.message, words);
      assert.ok(!JSON.stringify([error.message, error.details]).includes("a-forged-assertion"));
    }
  });
});

describe("tokens that are bound to a key", () => {
  const metadata = { dpop_signing_alg_values_supported: ["ES256"] };

  it("DPoP tokens are sent with a proof, and with the nonce that the server requires", async (t) => {
    const { server, authorization } = await guarded(t, { dpop: true, metadata });
    const oauth = { onAuthorize: visit, dpop: true };
    const { call } = await connected(t, { url: server.url, oauth });
    assert.equal((await call("echo", { text: "one" })).data[0].text, "one");
    authorization.changeNonce();
    assert.equal((await call("echo", { text: "two" })).data[0].text, "two");
    const proofs = authorization.events.filter((event) => event === "wants another proof");
    assert.ok(proofs.length >= 2, String(authorization.events));
    assert.equal(authorization.events.filter((event) => event === "authorized").length, 1);
  });

  it("DPoP tokens can be used by the next run, which has the key", async (t) => {
    const { server, authorization } = await guarded(t, { dpop: true, metadata });
    let kept;
    const tokenStore = {
      load: () => kept,
      save: (tokens) => {
        kept = JSON.parse(JSON.stringify(tokens));
      },
      clear: () => {
        kept = undefined;
      },
    };
    const oauth = { onAuthorize: visit, dpop: true, tokenStore };
    for (const text of ["one", "two"]) {
      const { call } = await connected(t, { url: server.url, oauth });
      assert.equal((await call("echo", { text })).data[0].text, text);
    }
    assert.equal(authorization.events.filter((event) => event === "authorized").length, 1);
    // Without its key, a token is worth nothing: the user is asked.
    delete kept.dpopKey;
    const { call } = await connected(t, { url: server.url, oauth });
    assert.equal((await call("echo", { text: "three" })).data[0].text, "three");
    assert.equal(authorization.events.filter((event) => event === "authorized").length, 2);
  });

  it("tokens are plain if the authorization server does not support DPoP", async (t) => {
    const { server } = await guarded(t, {});
    const { call } = await connected(t, { url: server.url, oauth: { onAuthorize: visit, dpop: true } });
    assert.equal((await call("echo", { text: "plain" })).data[0].text, "plain");
  });

  it("a program without a user can get a DPoP token", async (t) => {
    const { server, authorization } = await guarded(t, { dpop: true, vouched: { said: "nightly" } });
    const oauth = { workload: { clientId: "nightly", token: () => "said" }, dpop: true };
    const { call } = await connected(t, { url: server.url, oauth });
    assert.equal((await call("echo", { text: "beep" })).data[0].text, "beep");
    assert.ok(authorization.events.includes("token for nightly"));
  });
});

describe("what leads to a token", () => {
  const idp = {
    issuer: "https://login.example",
    tokenEndpoint: "https://login.example/token",
    clientId: "a",
  };
  const enterprise = { clientId: "a", idp, idToken: () => "x" };
  const workload = { clientId: "a", token: () => "x" };

  it("only one complete set of credentials is accepted", async () => {
    for (const [oauth, words] of [
      [{ workload, enterprise }, /one way to a token, and has workload and enterprise/],
      [{ enterprise, dpop: true }, /oauth\.dpop cannot be combined with enterprise/],
      [{ workload: { clientId: "a" } }, /workload\.token/],
      [{ enterprise: { ...enterprise, idp: { issuer: "a" } } }, /enterprise\.idp\.tokenEndpoint/],
    ]) {
      const error = await failure(createMCPClient("robot", { url: "http://127.0.0.1:9/", oauth }));
      assert.equal(error.code, "VALIDATION_ERROR");
      assert.match(error.message, words);
    }
  });
});
