// `jwt`: tokens of an issuer, verified by native code, and the attacks that the literature knows.

import assert from "node:assert/strict";
import { createHmac, generateKeyPairSync, sign } from "node:crypto";
import { createServer } from "node:http";
import { after, describe, it } from "node:test";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { createHandler, serve } from "@alkdev/operations/serve";
import { connectHub } from "@alkdev/operations/transport-websocket";
import { logged, textOf } from "../support/log-lines.mjs";
import { operation, serving, subscription } from "./support.mjs";

const whoami = operation({ name: "whoami", handler: (_, { identity }) => identity ?? null });
const AUDIENCE = "tasks";

setFlagsFromString("--expose-gc");
/** What the client of a test leaves behind is not what is measured. */
const collectGarbage = runInNewContext("gc");

const RSA = generateKeyPairSync("rsa", { modulusLength: 2048 });
const EC = generateKeyPairSync("ec", { namedCurve: "P-256" });
const ED = generateKeyPairSync("ed25519");
const publicJwk = ({ publicKey }, more = {}) => ({ ...publicKey.export({ format: "jwk" }), ...more });
const encode = (value) =>
  Buffer.from(typeof value === "string" ? value : JSON.stringify(value)).toString("base64url");
const inSeconds = (seconds) => Math.floor(Date.now() / 1000) + seconds;

const SIGN = {
  RS256: (text, key) => sign("sha256", text, key),
  PS256: (text, key) => sign("sha256", text, { key, padding: 6, saltLength: 32 }),
  ES256: (text, key) => sign("sha256", text, { key, dsaEncoding: "ieee-p1363" }),
  EdDSA: (text, key) => sign(null, text, key),
  HS256: (text, key) => createHmac("sha256", key).update(text).digest(),
  none: () => Buffer.alloc(0),
};

/** A token. */
function tokenOf(claims, { alg = "RS256", key = RSA.privateKey, kid = "r1", ...header } = {}) {
  const text = `${encode({ alg, kid, ...header })}.${encode(claims)}`;
  return `${text}.${SIGN[alg](Buffer.from(text), key).toString("base64url")}`;
}

const bearer = (token) => ({ headers: { authorization: `Bearer ${token}` } });

/** An issuer on this machine, with keys that can be changed. */
async function issuer({
  keys = [publicJwk(RSA, { kid: "r1" })],
  metadataPath = "/.well-known/openid-configuration",
} = {}) {
  const state = { keys, requests: [], isDown: false };
  const server = createServer((request, response) => {
    state.requests.push(request.url);
    const found = {
      [metadataPath]: { issuer: state.url, jwks_uri: `${state.url}/keys` },
      "/keys": { keys: state.keys },
    };
    const body = found[request.url];
    response.statusCode = state.isDown ? 500 : body === undefined ? 404 : 200;
    response.end(JSON.stringify(body ?? {}));
  });
  await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
  after(() => server.close());
  state.url = `http://127.0.0.1:${server.address().port}`;
  state.claims = (more) => ({ iss: state.url, aud: AUDIENCE, sub: "ada", exp: inSeconds(600), ...more });
  return state;
}

describe("jwt", () => {
  it("a token of the issuer identifies its caller, with keys that are found by discovery", async () => {
    for (const metadataPath of [
      "/.well-known/openid-configuration",
      "/.well-known/oauth-authorization-server",
    ]) {
      const keys = [
        publicJwk(RSA, { kid: "r1", use: "sig" }),
        publicJwk(EC, { kid: "e1" }),
        publicJwk(ED, { kid: "d1" }),
        { kty: "unknown" },
      ];
      const idp = await issuer({ keys, metadataPath });
      const { post } = await serving([whoami], { jwt: { issuer: idp.url, audience: AUDIENCE } });
      const ways = [
        { scope: "read write" },
        { alg: "PS256" },
        { alg: "ES256", key: EC.privateKey, kid: "e1" },
        { alg: "EdDSA", key: ED.privateKey, kid: "d1" },
        { kid: undefined },
      ];
      for (const { scope, ...how } of ways) {
        const token = tokenOf(idp.claims(scope && { scope }), how);
        const response = await post("test/whoami", {}, bearer(token));
        assert.deepEqual(await response.json(), { id: "ada", scopes: scope?.split(" ") ?? [] });
      }
      assert.equal((await post("test/whoami", {})).status, 401);
      assert.equal(idp.requests.filter((url) => url === "/keys").length, 1);
    }
  });

  it("several issuers, their claims by name or by a function that is called once for a token", async () => {
    const [one, two] = [await issuer(), await issuer()];
    const mapped = [];
    const claims = (all) => {
      mapped.push(all.sub);
      return all.sub === "eve" ? undefined : { id: `two:${all.sub}`, scopes: ["x"] };
    };
    const jwt = [
      {
        issuer: one.url,
        audience: ["other", AUDIENCE],
        claims: { id: "email", scopes: "roles", resources: "may" },
      },
      { issuer: two.url, audience: AUDIENCE, claims, jwks: `${two.url}/keys` },
    ];
    const handler = createHandler((await serving([whoami])).registry, { doors: { http: true }, jwt });
    after(() => handler.close());
    const call = (token) =>
      handler.fetch(
        new Request("http://localhost/api/test/whoami", {
          method: "POST",
          body: "{}",
          headers: { ...bearer(token).headers, "content-type": "application/json" },
        }),
      );
    const named = tokenOf(one.claims({ email: "a@b.example", roles: ["r"], may: { "task:1": ["read"] } }));
    assert.deepEqual(await (await call(named)).json(), {
      id: "a@b.example",
      scopes: ["r"],
      resources: { "task:1": ["read"] },
    });
    assert.equal((await call(tokenOf(one.claims()))).status, 401);
    const token = tokenOf(two.claims());
    for (let count = 0; count < 3; count++)
      assert.deepEqual(await (await call(token)).json(), { id: "two:ada", scopes: ["x"] });
    assert.equal((await call(tokenOf(two.claims({ sub: "eve" })))).status, 401);
    assert.deepEqual(mapped, ["ada", "eve"]);
  });

  it("the first of tokens, jwt and identify that knows the token or its issuer decides, also against it", async () => {
    const idp = await issuer();
    const asked = [];
    const { post } = await serving([whoami], {
      tokens: { plain: { id: "by-tokens", scopes: [] } },
      jwt: { issuer: idp.url, audience: AUDIENCE },
      identify: ({ headers }) => {
        asked.push(headers.get("authorization"));
        return { id: "by-identify", scopes: [] };
      },
    });
    const idOf = async (token) => (await (await post("test/whoami", {}, bearer(token))).json()).id;
    assert.equal(await idOf("plain"), "by-tokens");
    assert.equal(await idOf(tokenOf(idp.claims())), "ada");
    assert.equal(
      (await post("test/whoami", {}, bearer(tokenOf(idp.claims({ exp: inSeconds(-1) }))))).status,
      401,
    );
    assert.deepEqual(asked, []);
    assert.equal(await idOf("opaque"), "by-identify");
    assert.equal(await idOf(tokenOf(idp.claims({ iss: "https://other.example" }))), "by-identify");
  });

  it("attacks are answered with invalid_token and nothing else; the log says why, without the token", async () => {
    const idp = await issuer({
      keys: [publicJwk(RSA, { kid: "r1", alg: "RS256" }), publicJwk(EC, { kid: "e1" })],
    });
    const attacker = generateKeyPairSync("rsa", { modulusLength: 2048 });
    const evil = await issuer({ keys: [publicJwk(attacker, { kid: "evil" })] });
    const pem = RSA.publicKey.export({ type: "spki", format: "pem" });
    const good = tokenOf(idp.claims());
    const [head, , signature] = good.split(".");
    const attacks = {
      "no signature": [tokenOf(idp.claims(), { alg: "none" }), /algorithm/],
      "none in other letters": [`${encode({ alg: "NoNe" })}.${encode(idp.claims())}.`, /algorithm/],
      "the public key as a secret": [tokenOf(idp.claims(), { alg: "HS256", key: pem }), /algorithm/],
      "an algorithm of another key": [tokenOf(idp.claims(), { alg: "RS256", kid: "e1" }), /signature/],
      "an algorithm that the key is not for": [tokenOf(idp.claims(), { alg: "PS256" }), /signature/],
      "a key that comes along": [
        tokenOf(idp.claims(), { key: attacker.privateKey, jwk: publicJwk(attacker) }),
        /signature/,
      ],
      "a key elsewhere": [
        tokenOf(idp.claims(), { key: attacker.privateKey, jku: `${evil.url}/keys`, x5u: `${evil.url}/keys` }),
        /signature/,
      ],
      "another payload": [`${head}.${encode(idp.claims({ sub: "root" }))}.${signature}`, /signature/],
      "no signature at the end": [`${good.slice(0, good.lastIndexOf("."))}.`, /signature/],
      "critical extensions": [tokenOf(idp.claims(), { crit: ["exp"] }), /critical/],
      "no exp": [tokenOf(idp.claims({ exp: undefined })), /no exp/],
      "exp as text": [tokenOf(idp.claims({ exp: String(inSeconds(60)) })), /exp is no number/],
      expired: [tokenOf(idp.claims({ exp: inSeconds(-1) })), /expired/],
      "not yet valid": [tokenOf(idp.claims({ nbf: inSeconds(600) })), /not valid yet/],
      "no aud": [tokenOf(idp.claims({ aud: undefined })), /no aud/],
      "another aud": [tokenOf(idp.claims({ aud: ["a", "b"] })), /another audience/],
      "no sub": [tokenOf(idp.claims({ sub: undefined })), /sub/],
      "an empty sub": [tokenOf(idp.claims({ sub: "" })), /sub/],
      "too long": [tokenOf(idp.claims({ pad: "x".repeat(16 * 1024) })), /longer than 16384/],
      "kid injection": [tokenOf(idp.claims(), { kid: "../../dev/null' OR 1=1 --" }), /signature|kid/],
      "a header with alg twice": [
        `${encode('{"alg":"none","alg":"RS256"}')}.${encode(idp.claims())}.${signature}`,
        undefined,
      ],
      "another issuer": [
        tokenOf(idp.claims({ iss: evil.url }), { key: attacker.privateKey, kid: "evil" }),
        undefined,
      ],
      "not a token": ["a.b.c", undefined],
    };
    await logged(async (lines) => {
      const { post } = await serving([whoami], { jwt: { issuer: idp.url, audience: AUDIENCE } });
      for (const [name, [token, why]] of Object.entries(attacks)) {
        lines.length = 0;
        const response = await post("test/whoami", {}, bearer(token));
        assert.equal(response.status, 401, name);
        assert.match(response.headers.get("www-authenticate"), /^Bearer error="invalid_token"/, name);
        const { detail } = await response.json();
        assert.equal(detail, "The token is not valid here", name);
        // Log lines arrive on a later turn.
        for (let turns = 0; why && !lines.some((line) => why.test(textOf(line))); turns++) {
          assert.ok(turns < 2_000, `${name}: ${lines.map(textOf)}`);
          await new Promise((resolve) => setTimeout(resolve, 5));
        }
        for (const part of token.split(".").filter((part) => part.length > 8)) {
          assert.ok(!lines.some((line) => textOf(line).includes(part)), `${name}: the log has the token`);
        }
      }
      assert.equal((await post("test/whoami", {}, bearer(good))).status, 200);
    });
    assert.deepEqual(evil.requests, []);
  });

  it("clockTolerance bounds how late and how early a token may be", async () => {
    const idp = await issuer();
    const jwt = { issuer: idp.url, audience: AUDIENCE, clockTolerance: 60_000 };
    const { post } = await serving([whoami], { jwt });
    const status = async (more) => (await post("test/whoami", {}, bearer(tokenOf(idp.claims(more))))).status;
    assert.equal(await status({ exp: inSeconds(-30) }), 200);
    assert.equal(await status({ exp: inSeconds(-90) }), 401);
    assert.equal(await status({ nbf: inSeconds(30) }), 200);
    assert.equal(await status({ nbf: inSeconds(90) }), 401);
  });

  it("a key that is new is asked for at once, and unknown ones after that do not reach the issuer", async () => {
    const idp = await issuer();
    const { post } = await serving([whoami], {
      jwt: { issuer: idp.url, audience: AUDIENCE, jwks: `${idp.url}/keys` },
    });
    const status = async (token) => (await post("test/whoami", {}, bearer(token))).status;
    assert.equal(await status(tokenOf(idp.claims())), 200);
    const next = generateKeyPairSync("rsa", { modulusLength: 2048 });
    idp.keys = [publicJwk(RSA, { kid: "r1" }), publicJwk(next, { kid: "r2" })];
    const rotated = Array.from({ length: 20 }, (_, n) =>
      tokenOf(idp.claims({ n }), { key: next.privateKey, kid: "r2" }),
    );
    assert.deepEqual(new Set(await Promise.all(rotated.map(status))), new Set([200]));
    assert.equal(idp.requests.length, 2);
    for (let n = 0; n < 5; n++)
      assert.equal(await status(tokenOf(idp.claims(), { kid: `unknown-${n}` })), 401);
    assert.equal(idp.requests.length, 2);
  });

  it("while keys are rotated no forged token gets in, and afterwards none of a key that was withdrawn", async () => {
    const idp = await issuer();
    const { post } = await serving([whoami], {
      jwt: { issuer: idp.url, audience: AUDIENCE, jwks: `${idp.url}/keys` },
    });
    const status = async (token) => (await post("test/whoami", {}, bearer(token))).status;
    const [next, attacker] = [EC, generateKeyPairSync("rsa", { modulusLength: 2048 })];
    assert.equal(await status(tokenOf(idp.claims())), 200);
    idp.keys = [publicJwk(next, { kid: "e2" })];
    // These arrive while the keys are fetched again; an attacker uses both names.
    const [renewed, ...forged] = await Promise.all([
      status(tokenOf(idp.claims(), { alg: "ES256", key: next.privateKey, kid: "e2" })),
      status(tokenOf(idp.claims({ n: 1 }), { key: attacker.privateKey })),
      status(tokenOf(idp.claims({ n: 2 }), { key: attacker.privateKey, kid: "e2" })),
      status(tokenOf(idp.claims({ n: 3 }), { alg: "ES256", key: RSA.privateKey, kid: "e2" })),
    ]);
    assert.deepEqual([renewed, forged], [200, [401, 401, 401]]);
    assert.equal(await status(tokenOf(idp.claims({ n: 4 }))), 401, "the old key is gone");
    assert.equal(idp.requests.length, 2);
  });

  it("claims that are kept are part of the identity, and no others are", async () => {
    const idp = await issuer();
    const { post } = await serving([whoami], {
      jwt: { issuer: idp.url, audience: AUDIENCE, claims: { keep: ["tenant", "missing"] } },
    });
    const response = await post(
      "test/whoami",
      {},
      bearer(tokenOf(idp.claims({ tenant: { id: 7 }, email: "x" }))),
    );
    assert.deepEqual(await response.json(), { id: "ada", scopes: [], claims: { tenant: { id: 7 } } });
  });

  it("while keys cannot be had the answer is 503, and the issuer is not asked each time", async () => {
    const idp = await issuer();
    idp.isDown = true;
    const { post } = await serving([whoami], {
      jwt: { issuer: idp.url, audience: AUDIENCE, jwks: `${idp.url}/keys` },
    });
    const token = tokenOf(idp.claims());
    const all = await Promise.all(Array.from({ length: 5 }, () => post("test/whoami", {}, bearer(token))));
    assert.deepEqual(new Set(all.map(({ status }) => status)), new Set([503]));
    assert.equal(all[0].headers.get("retry-after"), "5");
    assert.equal(idp.requests.length, 1);
    idp.isDown = false;
    for (let tries = 0; (await post("test/whoami", {}, bearer(token))).status !== 200; tries++) {
      assert.ok(tries < 300);
      await new Promise((resolve) => setTimeout(resolve, 100));
    }
  });

  it("a symmetric algorithm needs its name and a secret of the configuration", async () => {
    const secret = Buffer.alloc(32, 7);
    const keys = [{ kty: "oct", kid: "s", k: secret.toString("base64url") }];
    const claims = { iss: "us", aud: AUDIENCE, sub: "ada", exp: inSeconds(60) };
    const token = tokenOf(claims, { alg: "HS256", key: secret, kid: "s" });
    const jwt = { issuer: "us", audience: AUDIENCE, jwks: { keys } };
    const open = await serving([whoami], { jwt: { ...jwt, algorithms: ["HS256"] } });
    assert.equal((await open.post("test/whoami", {}, bearer(token))).status, 200);
    const unnamed = await serving([whoami], { jwt });
    assert.equal((await unnamed.post("test/whoami", {}, bearer(token))).status, 401);
    const idp = await issuer({ keys });
    const fetched = await serving([whoami], {
      jwt: { ...jwt, jwks: `${idp.url}/keys`, algorithms: ["HS256"] },
    });
    assert.equal((await fetched.post("test/whoami", {}, bearer(token))).status, 503);
  });

  it("a stream and a connection to the hub end when their token expires", async () => {
    const idp = await issuer();
    const ticks = subscription({
      name: "ticks",
      handler: async function* () {
        yield 1;
        await new Promise(() => {});
      },
    });
    const served = await serving([whoami, ticks], {
      doors: { http: true, hub: true },
      jwt: { issuer: idp.url, audience: AUDIENCE },
    });
    const token = tokenOf(idp.claims({ exp: inSeconds(6) }));
    const response = await served.post("test/ticks", {}, bearer(token));
    assert.equal(response.status, 200);
    const hub = await connectHub(`${served.url.replace("http", "ws")}/hub`, {
      name: "x",
      token,
      reconnect: false,
    });
    after(() => hub.close());
    assert.equal(served.hub.spokes.list().length, 1);
    assert.match(await response.text(), /data: 1/);
    for (let tries = 0; served.hub.spokes.list().length > 0; tries++) {
      assert.ok(tries < 600, "the connection is still there");
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
  });

  it("metadata of the protected resource follows from the configuration", async () => {
    const idp = await issuer();
    for (const [audience, resource] of [
      [AUDIENCE, undefined],
      [[AUDIENCE, "https://api.example.com/x"], "https://api.example.com/x"],
    ]) {
      const { url } = await serving([whoami], { jwt: { issuer: idp.url, audience } });
      const expected = resource ?? url;
      const metadata = await (await fetch(`${url}/.well-known/oauth-protected-resource`)).json();
      assert.deepEqual([metadata.resource, metadata.authorization_servers], [expected, [idp.url]]);
      const refused = await fetch(`${url}/api/openapi.json`);
      assert.equal(refused.status, 401);
      assert.match(refused.headers.get("www-authenticate"), /resource_metadata="http/);
    }
  });

  it("options that cannot be right are refused", async () => {
    const { registry } = await serving([whoami]);
    const ok = { issuer: "https://login.example", audience: "a" };
    for (const [jwt, why] of [
      [{ audience: "a" }, /jwt\.issuer/],
      [{ issuer: "https://login.example" }, /jwt\.audience/],
      [{ ...ok, audience: [] }, /jwt\.audience/],
      [{ ...ok, issuer: "http://login.example" }, /jwt\.issuer/],
      [{ ...ok, jwks: "http://login.example/keys" }, /jwt\.jwks/],
      [{ ...ok, algorithms: ["none"] }, /jwt\.algorithms/],
      [{ ...ok, claims: { name: "x" } }, /jwt\.claims/],
      [{ ...ok, clockTolerance: -1 }, /jwt\.clockTolerance/],
      [{ ...ok, jwks: { keys: [] } }, /key set/],
      [[], /jwt/],
      [[ok, ok], /jwt has an issuer twice/],
    ]) {
      await assert.rejects(serve(registry, { doors: { http: true }, jwt }), why);
    }
  });

  it("10,000 distinct tokens hold memory", async () => {
    const idp = await issuer({ keys: [publicJwk(ED, { kid: "d1" })] });
    const served = await serving([whoami], { jwt: { issuer: idp.url, audience: AUDIENCE } });
    const call = (n) => {
      const token = tokenOf(idp.claims({ sub: `u${n}`, pad: "x".repeat(11_000) }), {
        alg: "EdDSA",
        key: ED.privateKey,
        kid: "d1",
      });
      return served.post("test/whoami", {}, bearer(token)).then((response) => response.arrayBuffer());
    };
    const round = async (from, count) => {
      for (let n = from; n < from + count; n += 50)
        await Promise.all(Array.from({ length: 50 }, (_, i) => call(n + i)));
      collectGarbage();
      return process.memoryUsage().rss;
    };
    const before = await round(0, 2_000);
    const now = await round(2_000, 10_000);
    // 150 MB of tokens went by; what is kept of each is its digest and its identity.
    assert.ok(now - before < 75e6, `${(now - before) / 1e6} MB`);
  });
});
