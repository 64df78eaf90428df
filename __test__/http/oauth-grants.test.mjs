// The grants of `auth: { type: "oauth2" }`, against a real authorization server.

import assert from "node:assert/strict";
import { describe, test } from "node:test";
import {
  callerOf,
  documentWith,
  memoryStore,
  PRIVATE_KEY,
  SECRET,
  startApi,
  startAuthorizationServer,
  visit,
} from "./support/authorization-server.mjs";

async function start(test, options) {
  const server = await startAuthorizationServer(test, options);
  return { ...server, api: await startApi(test, server) };
}

const program = { grant: "client_credentials", clientId: "hub:1", clientSecret: SECRET, scopes: ["read"] };
const user = { grant: "authorization_code", clientId: "app", scopes: ["openid", "read"] };

/** A user who agrees, in a browser that the program drives. */
const onAuthorize = ({ url }) => visit(url);

describe("client_credentials", () => {
  test("the issuer's metadata leads to the token endpoint", async (t) => {
    const { issuer, api, grants } = await start(t);
    const call = callerOf(api, { ...program, issuer });
    assert.deepEqual(await Promise.all([call(), call(), call()]), ["hub:1", "hub:1", "hub:1"]);
    assert.deepEqual(grants, ["client_credentials"]);
  });

  test("a program shows a signature in place of a secret", async (t) => {
    const { issuer, api } = await start(t);
    const auth = {
      ...program,
      clientId: "signer",
      clientSecret: undefined,
      privateKey: PRIVATE_KEY,
      keyId: "k1",
    };
    assert.equal(await callerOf(api, { ...auth, issuer })(), "signer");
    // Without metadata, the assertion is for the token endpoint.
    assert.equal(await callerOf(api, { ...auth, tokenUrl: `${issuer}/token` })(), "signer");
  });

  test("a document's own token endpoint is used where hosts lists it, and not otherwise", async (t) => {
    const { issuer, api } = await start(t);
    const scheme = {
      type: "oauth2",
      flows: { clientCredentials: { tokenUrl: `${issuer}/token`, scopes: {} } },
    };
    const document = documentWith({ login: scheme });
    const { host } = new URL(issuer);
    const hosts = [host, new URL(api.url).host];
    assert.equal(await callerOf(api, program, { document, hosts })(), "hub:1");
    const elsewhere = structuredClone(document);
    elsewhere.components.securitySchemes.login.flows.clientCredentials.tokenUrl =
      "https://login.evil.example/token";
    assert.throws(() => callerOf(api, program, { document: elsewhere }), {
      message: /credentials are not sent to login\.evil\.example, which only the document names/,
    });
    assert.throws(() => callerOf(api, program, { document: documentWith() }), {
      message: /must have `tokenUrl` or `issuer`/,
    });
  });

  test("an OpenID scheme of a document leads to the metadata", async (t) => {
    const { issuer, api } = await start(t);
    const openIdConnectUrl = `${issuer}/.well-known/openid-configuration`;
    const document = documentWith({ login: { type: "openIdConnect", openIdConnectUrl } });
    const hosts = [new URL(issuer).host, new URL(api.url).host];
    assert.equal(await callerOf(api, program, { document, hosts })(), "hub:1");
  });
});

describe("authorization_code", () => {
  test("the user is asked once for all waiting calls, and tokens are stored before they are used", async (t) => {
    const { issuer, api, grants } = await start(t);
    const tokenStore = memoryStore();
    let asked = 0;
    const ask = (page) => {
      asked += 1;
      assert.equal(page.server, "api");
      assert.match(page.redirectUrl, /^http:\/\/127\.0\.0\.1:\d+\/callback$/);
      return onAuthorize(page);
    };
    const call = callerOf(api, { ...user, issuer, tokenStore, onAuthorize: ask });
    assert.deepEqual(await Promise.all([call(), call()]), ["ada", "ada"]);
    assert.equal(asked, 1);
    assert.deepEqual(grants, ["authorization_code"]);
    assert.deepEqual(tokenStore.events, ["saving", "saved"]);
    // Another program with the same store needs no user.
    assert.equal(await callerOf(api, { ...user, issuer, tokenStore })(), "ada");
  });

  test("a browser that comes back to the port of this machine is enough", async (t) => {
    const { issuer, api } = await start(t);
    const ask = async (page) => {
      const address = await visit(page.url);
      await (await fetch(address)).text();
    };
    assert.equal(await callerOf(api, { ...user, issuer, onAuthorize: ask })(), "ada");
  });

  test("a forged answer and a user who refuses end the call, before anything is sent", async (t) => {
    const { issuer, api } = await start(t);
    const forge = async (page) => {
      const address = new URL(await visit(page.url));
      address.searchParams.set("state", "forged");
      return address.href;
    };
    const refuse = ({ redirectUrl, url }) =>
      `${redirectUrl}?error=access_denied&state=${new URL(url).searchParams.get("state")}`;
    for (const [ask, message] of [
      [forge, /another state/],
      [refuse, /access_denied/],
      [undefined, /needs a login, and there is no `onAuthorize`/],
    ]) {
      const error = await callerOf(api, { ...user, issuer, onAuthorize: ask })().catch((error) => error);
      assert.match(error.message, message);
      assert.equal(error.details.delivery, "none");
    }
    assert.deepEqual(api.tokens, []);
  });

  test("the user is asked again when the refresh token is not valid any more", async (t) => {
    const { issuer, api } = await start(t);
    const kept = { accessToken: "a", refreshToken: "revoked", renewedAt: 0, clientId: "app" };
    const tokenStore = memoryStore(kept);
    assert.equal(await callerOf(api, { ...user, issuer, tokenStore, onAuthorize })(), "ada");
    assert.deepEqual(tokenStore.events, ["saving", "saved"]);
  });
});

describe("refresh_token", () => {
  /** A refresh token of a user who has logged in. */
  async function loggedIn(test, options) {
    const all = await start(test, options);
    const tokenStore = memoryStore();
    await callerOf(all.api, { ...user, issuer: all.issuer, tokenStore, onAuthorize })();
    all.grants.length = 0;
    return { ...all, refreshToken: tokenStore.kept.refreshToken };
  }
  const auth = { grant: "refresh_token", clientId: "app" };

  test("it seeds an empty store, and the rotated one is stored before its access token is used", async (t) => {
    const { issuer, api, grants, refreshToken } = await loggedIn(t);
    const tokenStore = memoryStore();
    const before = api.tokens.length;
    const save = tokenStore.save;
    tokenStore.save = async (tokens) => {
      assert.equal(api.tokens.length, before);
      await save(tokens);
    };
    const call = callerOf(api, { ...auth, issuer, refreshToken, tokenStore });
    assert.equal(await call(), "ada");
    assert.notEqual(tokenStore.kept.refreshToken, refreshToken);
    // The seed is of no use any more, and is not used.
    assert.equal(await callerOf(api, { ...auth, issuer, refreshToken, tokenStore })(), "ada");
    assert.deepEqual(grants, ["refresh_token"]);
  });

  test("a token that expires is renewed with the newest refresh token, again and again", async (t) => {
    const { issuer, api, grants, refreshToken } = await loggedIn(t);
    const call = callerOf(api, { ...auth, issuer, refreshToken });
    for (let round = 0; round < 3; round++) {
      assert.equal(await call(), "ada");
      api.refuse.add(api.tokens.at(-1));
    }
    assert.deepEqual(grants, ["refresh_token", "refresh_token", "refresh_token"]);
  });

  test("a store that fails ends the call, and the token that it did not take is not lost", async (t) => {
    const { issuer, api, grants, refreshToken } = await loggedIn(t);
    const tokenStore = memoryStore();
    const { save } = tokenStore;
    tokenStore.save = async (tokens) => {
      throw new Error(`no space left for ${tokens.refreshToken}`);
    };
    const call = callerOf(api, { ...auth, issuer, refreshToken, tokenStore });
    const before = api.tokens.length;
    const error = await call().catch((error) => error);
    assert.match(error.message, /`tokenStore` failed: the log of the program says why/);
    assert.ok(!error.message.includes("no space"));
    assert.equal(api.tokens.length, before);
    tokenStore.save = save;
    assert.equal(await call(), "ada");
    assert.deepEqual(grants, ["refresh_token"]);
  });

  test("two programs with one store do not use a refresh token twice", async (t) => {
    const { issuer, api, grants, refreshToken } = await loggedIn(t);
    const tokenStore = memoryStore();
    const first = callerOf(api, { ...auth, issuer, refreshToken, tokenStore });
    const second = callerOf(api, { ...auth, issuer, refreshToken, tokenStore });
    assert.equal(await first(), "ada");
    api.refuse.add(api.tokens.at(-1));
    assert.equal(await first(), "ada");
    assert.equal(await second(), "ada");
    assert.deepEqual(grants, ["refresh_token", "refresh_token"]);
  });

  test("without a valid refresh token the call fails and shows none", async (t) => {
    const { issuer, api } = await start(t);
    const error = await callerOf(api, { ...auth, issuer, refreshToken: "not-valid-here" })().catch(
      (error) => error,
    );
    assert.match(error.message, /refused with HTTP 400 \(invalid_grant\)/);
    assert.doesNotMatch(JSON.stringify(error) + error.message + error.stack, /not-valid-here/);
    assert.equal(error.details.reason, "not-authorized");
  });
});
