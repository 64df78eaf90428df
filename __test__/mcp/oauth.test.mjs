// HTTP servers that want a token: a small authorization server on loopback stands in for the real ones.

import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { CallError, createMCPClient } from "@alkdev/operations";
import { collectLog } from "../registry/support/warnings.mjs";
import { startAuthorizationServer, visit } from "./support/authorization-server.mjs";
import { startHTTPServer } from "./support/http-server.mjs";
import { connected, failure } from "./support/servers.mjs";

async function guarded(test, options) {
  const authorization = await startAuthorizationServer(test, options);
  const server = await startHTTPServer(test, { before: authorization.guard });
  return { authorization, server };
}

function memoryStore(kept) {
  const store = {
    kept,
    saved: 0,
    load: () => store.kept,
    save(tokens) {
      store.saved++;
      // What is kept must survive a file.
      store.kept = JSON.parse(JSON.stringify(tokens));
    },
    clear() {
      store.kept = undefined;
    },
  };
  return store;
}

describe("a server that wants a token", () => {
  const log = collectLog();

  it("a server that requires a token is an error that says so without `oauth`", async (t) => {
    const { server } = await guarded(t);
    const error = await failure(createMCPClient("guarded", { url: server.url }));
    assert.ok(error instanceof CallError);
    assert.equal(error.code, "EXECUTION_ERROR");
    assert.match(error.message, /401|authoriz/i);
    assert.match(error.message, /oauth/);
  });

  it("a user can authorize: the program sees where the browser was sent", async (t) => {
    const { authorization, server } = await guarded(t);
    const pages = [];
    const onAuthorize = (page) => {
      pages.push(page);
      return visit(page);
    };
    const { call } = await connected(t, { url: server.url, oauth: { onAuthorize } }, "guarded");
    assert.equal((await call("echo", { text: "let in" })).data[0].text, "let in");
    assert.deepEqual(authorization.events, ["registered", "authorized", "token"]);
    assert.equal(pages[0].server, "guarded");
    const asked = new URL(pages[0].url).searchParams;
    assert.equal(asked.get("code_challenge_method"), "S256");
    assert.equal(asked.get("redirect_uri"), pages[0].redirectUrl);
    assert.equal(asked.get("resource"), server.url);
  });

  it("a user can authorize: a port of this machine receives the browser", async (t) => {
    const { authorization, server } = await guarded(t);
    let page;
    const onAuthorize = ({ url }) => {
      // Not awaited: a browser goes its own way.
      page = fetch(url).then((response) => response.text());
    };
    const { call } = await connected(t, { url: server.url, oauth: { onAuthorize } });
    assert.equal((await call("echo", { text: "let in" })).data[0].text, "let in");
    assert.ok((await page).length > 0, "the user is told something");
    assert.deepEqual(authorization.events, ["registered", "authorized", "token"]);
  });

  it("a client that was registered by hand can authorize", async (t) => {
    const { authorization, server } = await guarded(t);
    const oauth = {
      onAuthorize: visit,
      clientId: "by-hand",
      scopes: ["tools"],
      redirectUrl: "http://127.0.0.1:9/back",
    };
    await connected(t, { url: server.url, oauth });
    assert.deepEqual(authorization.events, ["authorized", "token"]);
  });

  it("stored tokens are sent, and the user is not prompted", async (t) => {
    const { authorization, server } = await guarded(t);
    const tokenStore = memoryStore();
    await connected(t, { url: server.url, oauth: { onAuthorize: visit, tokenStore } });
    assert.ok(tokenStore.saved > 0);
    const onAuthorize = () => assert.fail("the user was asked again");
    const { call } = await connected(t, { url: server.url, oauth: { onAuthorize, tokenStore } });
    assert.equal((await call("echo", { text: "let in" })).data[0].text, "let in");
    assert.deepEqual(authorization.events, ["registered", "authorized", "token"]);
  });

  it("expired tokens are refreshed in mid-flight", async (t) => {
    const { authorization, server } = await guarded(t);
    const tokenStore = memoryStore();
    let asked = 0;
    const onAuthorize = (page) => {
      asked++;
      return visit(page);
    };
    const { call } = await connected(t, { url: server.url, oauth: { onAuthorize, tokenStore } });
    authorization.revokeAccess();
    assert.equal((await call("echo", { text: "let in" })).data[0].text, "let in");
    assert.equal(asked, 1);
    assert.ok(authorization.events.includes("refreshed"), authorization.events.join());
  });

  it("the user is prompted again when tokens are invalid", async (t) => {
    const { authorization, server } = await guarded(t);
    const tokenStore = memoryStore();
    await connected(t, { url: server.url, oauth: { onAuthorize: visit, tokenStore } });
    authorization.revokeAll();
    let asked = 0;
    const onAuthorize = (page) => {
      asked++;
      return visit(page);
    };
    const { call } = await connected(t, { url: server.url, oauth: { onAuthorize, tokenStore } });
    assert.equal((await call("echo", { text: "let in" })).data[0].text, "let in");
    assert.equal(asked, 1);
  });

  it("a user who refuses, or a forged authorization response, is an error", async (t) => {
    const { server } = await guarded(t);
    for (const onAuthorize of [
      () => {
        throw new Error("the user said no");
      },
      ({ redirectUrl, url }) =>
        `${redirectUrl}?error=access_denied&state=${new URL(url).searchParams.get("state")}`,
      ({ redirectUrl }) => `${redirectUrl}?code=guessed&state=forged`,
      () => "not a URL at all",
    ]) {
      const error = await failure(createMCPClient("guarded", { url: server.url, oauth: { onAuthorize } }));
      assert.ok(error instanceof CallError, String(error));
      assert.equal(error.code, "EXECUTION_ERROR");
      assert.match(error.message, /guarded/);
    }
  });

  for (const [what, metadata] of Object.entries({
    "a page that is a script": { authorization_endpoint: "javascript:alert(1)" },
    "a page that is a file": { authorization_endpoint: "file:///etc/hosts" },
    "a page that is a command": { authorization_endpoint: "calculator://open" },
    "no page at all": { authorization_endpoint: undefined },
    "a page that is no URL": { authorization_endpoint: "$(reboot)" },
    "no proof of possession": { code_challenge_methods_supported: ["plain"] },
    "another issuer": { issuer: "http://127.0.0.1:9" },
    "nonsense for an endpoint": { token_endpoint: 7 },
  })) {
    it(`an authorization server that offers ${what} is not shown to the user`, async (t) => {
      const { server } = await guarded(t, { metadata });
      const shown = [];
      const onAuthorize = (page) => {
        shown.push(page.url);
        return "http://127.0.0.1:9/?error=access_denied";
      };
      const config = { url: server.url, connectTimeout: 5_000, oauth: { onAuthorize } };
      const error = await failure(createMCPClient("guarded", config));
      assert.ok(error instanceof CallError, String(error));
      assert.equal(error.code, "EXECUTION_ERROR", error.message);
      assert.deepEqual(shown, []);
    });
  }

  it("a user who never comes back ends the call at the time limit", async (t) => {
    const { server } = await guarded(t);
    const config = { url: server.url, connectTimeout: 1_000, oauth: { onAuthorize: () => {} } };
    assert.equal((await failure(createMCPClient("guarded", config))).code, "TIMEOUT");
  });

  it("no token appears in log entries or errors", async (t) => {
    const { authorization, server } = await guarded(t);
    const oauth = { onAuthorize: visit };
    const { call } = await connected(t, { url: server.url, oauth }, "guarded");
    const tokens = authorization.tokens();
    assert.equal(tokens.length, 2);
    const error = await failure(call("die"));
    const told = JSON.stringify([log, error.message, error.details]);
    for (const token of tokens) assert.ok(!told.includes(token));
  });

  it("`oauth` without a way to reach the user fails when the user has to be asked, and says what to do", async (t) => {
    const { server } = await guarded(t);
    const error = await failure(createMCPClient("guarded", { url: server.url, oauth: {} }));
    assert.equal(error.details.needs, "auth");
    assert.match(error.message, /onAuthorize/);
  });
});
