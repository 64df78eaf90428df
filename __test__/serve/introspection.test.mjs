// `introspection`: opaque tokens, about which an authorization server is asked (RFC 7662).

import assert from "node:assert/strict";
import { after, describe, it } from "node:test";
import { serve } from "@alkdev/operations/serve";
import { connectHub } from "@alkdev/operations/transport-websocket";
import { authorizationServer, CREDENTIALS, SECRET } from "../support/introspection-server.mjs";
import { logged, textOf } from "../support/log-lines.mjs";
import { operation, serving, subscription } from "./support.mjs";

const whoami = operation({ name: "whoami", handler: (_, { identity }) => identity ?? null });
const bearer = (token) => ({ headers: { authorization: `Bearer ${token}` } });
const inSeconds = (seconds) => Math.floor(Date.now() / 1000) + seconds;

describe("introspection", () => {
  it("an active token identifies its caller, and the server is asked once for it, however many requests bring it", async () => {
    const server = await authorizationServer({
      "t/1+": { sub: "ada", scope: "read write", exp: inSeconds(600) },
    });
    const { post } = await serving([whoami], { introspection: server.options });
    const all = await Promise.all(
      Array.from({ length: 20 }, () => post("test/whoami", {}, bearer("t/1+")).then((r) => r.json())),
    );
    for (const each of all) assert.deepEqual(each, { id: "ada", scopes: ["read", "write"] });
    assert.deepEqual(server.asked, ["t/1+"]);
    assert.equal((await post("test/whoami", {})).status, 401);
  });

  it("a token that is not active is refused, the caller reads invalid_token and nothing else", async () => {
    const server = await authorizationServer({
      expired: { sub: "ada", aud: "tasks", exp: inSeconds(-1) },
      other: { sub: "ada", aud: ["elsewhere"] },
      nameless: { scope: "admin", aud: "tasks" },
      spoilt: { sub: "ada", aud: "tasks", exp: "tomorrow" },
      good: { sub: "ada", aud: "tasks" },
    });
    const refused = {
      unknown: /not active/,
      expired: /expired/,
      other: /another audience/,
      nameless: /claim sub/,
      spoilt: /exp is no number/,
      ["x".repeat(20_000)]: /longer than 16384/,
    };
    await logged(async (lines) => {
      const introspection = { ...server.options, audience: "tasks" };
      const { post } = await serving([whoami], { introspection });
      for (const [token, why] of Object.entries(refused)) {
        lines.length = 0;
        const response = await post("test/whoami", {}, bearer(token));
        assert.equal(response.status, 401, token.slice(0, 20));
        assert.match(response.headers.get("www-authenticate"), /^Bearer error="invalid_token"$/);
        assert.equal((await response.json()).detail, "The token is not valid here");
        for (let turns = 0; !lines.some((line) => why.test(textOf(line))); turns++) {
          assert.ok(turns < 2_000, `${why}: ${lines.map(textOf)}`);
          await new Promise((resolve) => setTimeout(resolve, 5));
        }
        const kept = [token, SECRET, CREDENTIALS].filter((secret) => secret.length > 8);
        for (const secret of kept) assert.ok(!lines.some((line) => textOf(line).includes(secret)));
      }
      assert.equal((await post("test/whoami", {}, bearer("good"))).status, 200);
      assert.ok(!server.asked.some((token) => token.length > 1_000));
    });
  });

  it("tokens, jwt, introspection and identify are asked in this order", async () => {
    const server = await authorizationServer({ opaque: { sub: "by-introspection" }, plain: { sub: "late" } });
    const { post } = await serving([whoami], {
      tokens: { plain: { id: "by-tokens", scopes: [] } },
      jwt: { issuer: "https://login.example", audience: "a", jwks: `${server.options.url}/keys` },
      introspection: server.options,
      identify: () => ({ id: "by-identify", scopes: [] }),
    });
    const idOf = async (token) => (await (await post("test/whoami", {}, bearer(token))).json()).id;
    assert.equal(await idOf("plain"), "by-tokens");
    assert.equal(await idOf("opaque"), "by-introspection");
    assert.equal(await idOf("other"), "by-identify");
    const encode = (value) => Buffer.from(JSON.stringify(value)).toString("base64url");
    const ofIssuer = `${encode({ alg: "none" })}.${encode({ iss: "https://login.example" })}.`;
    assert.equal((await post("test/whoami", {}, bearer(ofIssuer))).status, 401);
    assert.deepEqual(server.asked, ["opaque", "other"]);
  });

  it("an answer holds for `cache`, and claims may have other names", async () => {
    const tokens = { t: { username: "ada", groups: ["x"] } };
    const server = await authorizationServer(tokens);
    const claims = { id: "username", scopes: "groups" };
    const uncached = await serving([whoami], { introspection: { ...server.options, claims, cache: 0 } });
    const cached = await serving([whoami], { introspection: { ...server.options, claims } });
    for (const { post } of [uncached, cached]) {
      const response = await post("test/whoami", {}, bearer("t"));
      assert.deepEqual(await response.json(), { id: "ada", scopes: ["x"] });
    }
    delete tokens.t;
    assert.equal((await uncached.post("test/whoami", {}, bearer("t"))).status, 401);
    assert.equal((await cached.post("test/whoami", {}, bearer("t"))).status, 200);
    assert.equal(server.asked.length, 3);
  });

  it("while the server cannot be asked the answer is 503, it is not asked each time, and then it is again", async () => {
    const server = await authorizationServer({ t: { sub: "ada" }, known: { sub: "eve" } });
    await logged(async (lines) => {
      const { post } = await serving([whoami], { introspection: server.options });
      const status = async (token) => (await post("test/whoami", {}, bearer(token))).status;
      assert.equal(await status("known"), 200);
      for (const failure of [500, 401]) {
        server.status = failure;
        server.asked.length = 0;
        const first = await post("test/whoami", {}, bearer(`${failure}-a`));
        assert.equal(first.status, 503);
        assert.equal(first.headers.get("retry-after"), "5");
        assert.doesNotMatch(await first.text(), /HTTP|introspect/);
        const others = ["b", "c", "d"].map((name) => status(`${failure}-${name}`));
        assert.deepEqual(new Set(await Promise.all(others)), new Set([503]));
        assert.deepEqual(server.asked, [`${failure}-a`]);
        assert.equal(await status("known"), 200, "what is known is not asked for");
        server.status = 200;
        for (let tries = 0; (await status("t")) !== 200; tries++) {
          assert.ok(tries < 300);
          await new Promise((resolve) => setTimeout(resolve, 100));
        }
      }
      assert.ok(!lines.some((line) => textOf(line).includes(SECRET)));
    });
  });

  it("a token that the server chokes on does not keep the others out", async () => {
    const server = await authorizationServer({ t: { sub: "ada" } });
    server.statusOf = (token) => (token === "odd" ? 400 : undefined);
    const { post } = await serving([whoami], { introspection: server.options });
    assert.equal((await post("test/whoami", {}, bearer("odd"))).status, 503);
    assert.equal((await post("test/whoami", {}, bearer("t"))).status, 200);
  });

  it("a stream and a connection to the hub end when their token expires", async () => {
    const server = await authorizationServer({ t: { sub: "ada", exp: inSeconds(4) } });
    const ticks = subscription({
      name: "ticks",
      handler: async function* () {
        yield 1;
        await new Promise(() => {});
      },
    });
    const served = await serving([ticks], {
      doors: { http: true, hub: true },
      introspection: server.options,
    });
    const response = await served.post("test/ticks", {}, bearer("t"));
    const hub = await connectHub(`${served.url.replace("http", "ws")}/hub`, {
      name: "x",
      token: "t",
      reconnect: false,
    });
    after(() => hub.close());
    assert.match(await response.text(), /data: 1/);
    for (let tries = 0; served.hub.spokes.list().length > 0; tries++) {
      assert.ok(tries < 600, "the connection is still there");
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
  });

  it("options that cannot be right are refused, without the secret", async () => {
    const { registry } = await serving([whoami]);
    const ok = { url: "https://login.example/introspect", clientId: "a", clientSecret: SECRET };
    for (const [introspection, why] of [
      [{ ...ok, url: "http://login.example/introspect" }, /introspection\.url/],
      [{ ...ok, clientId: "" }, /introspection\.clientId/],
      [{ ...ok, clientSecret: undefined }, /introspection\.clientSecret/],
      [{ ...ok, cache: -1 }, /introspection\.cache/],
      [{ ...ok, audience: [] }, /introspection\.audience/],
      [{ ...ok, claims: { sub: "x" } }, /introspection\.claims/],
      [{ ...ok, token: "x" }, /introspection\.token/],
    ]) {
      await assert.rejects(serve(registry, { doors: { http: true }, introspection }), (error) => {
        assert.match(error.message, why);
        assert.ok(!error.message.includes(SECRET));
        return true;
      });
    }
  });
});
