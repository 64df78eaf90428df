// Identities and rules of a hub without code.

import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { authorizationServer, SECRET } from "../support/introspection-server.mjs";
import { env, folderWith, KEY, run, startHub, startShop } from "./support/cli.mjs";

describe("identities and rules in a configuration", { concurrency: true }, () => {
  it("opaque tokens are introspected, and rules look at claims and arguments; no secret is printed", async (t) => {
    const shop = await startShop(t);
    const server = await authorizationServer({
      "token-of-ada": { sub: "ada", scope: "pets", pet: 1, exp: Math.floor(Date.now() / 1000) + 600 },
      "token-of-root": { sub: "root", scope: "pets admin" },
      "token-of-eve": { sub: "eve", scope: "other" },
    });
    const cwd = folderWith(t, {
      "hub.yaml": `
port: 0
doors: { http: true }
introspection:
  url: ${server.options.url}
  clientId: ${server.options.clientId}
  clientSecret: ${env("CLIENT_SECRET")}
  cache: ${env("CACHE")}
  claims: { keep: [pet] }
openapi:
  shop:
    document: ${shop.url}/openapi.json
    baseUrl: ${shop.url}
    auth: { type: bearer, token: "${env("SHOP_KEY")}" }
access:
  shop.getPet:
    requiredScopes: [pets]
    when:
      - input.petId: { sameAs: identity.claims.pet }
      - identity.scopes: { contains: admin }
`,
    });
    const variables = { CLIENT_SECRET: SECRET, CACHE: "30000", SHOP_KEY: KEY };
    const { child, told, ended, output } = await startHub(t, ["hub.yaml", "--verbose"], {
      cwd,
      env: variables,
    });
    const status = async (token, petId) => {
      const headers = { "content-type": "application/json", authorization: `Bearer ${token}` };
      const body = JSON.stringify({ petId });
      return (await fetch(`${told.doors.http}/shop/getPet`, { method: "POST", headers, body })).status;
    };
    assert.equal(await status("token-of-ada", 1), 200);
    const before = shop.requests.length;
    assert.equal(await status("token-of-ada", 2), 403);
    assert.equal(await status("token-of-ada"), 403);
    assert.equal(await status("token-of-eve", 1), 403);
    assert.equal(await status("token-of-nowhere", 1), 401);
    assert.equal(shop.requests.length, before, "denied calls reach no shop");
    assert.ok((await status("token-of-root", 2)) >= 400 && shop.requests.length > before);
    assert.equal(server.asked.filter((token) => token === "token-of-ada").length, 1);
    child.kill("SIGTERM");
    await ended;
    const printed = output.stdout + output.stderr;
    assert.match(printed, /not active/);
    for (const secret of [SECRET, KEY, "token-of-"]) assert.ok(!printed.includes(secret), printed);
  });

  for (const [what, content, message] of [
    [
      "introspection over plain http",
      { introspection: { url: "http://x.example" } },
      /introspection\.url must be a URL with https/,
    ],
    [
      "a condition that is no condition",
      { access: { "a.*": { requiredScopes: [], when: "x" } } },
      /access\["a\.\*"\]\.when/,
    ],
    [
      "a test that is misspelt",
      { access: { "a.*": { requiredScopes: [], when: { "input.path": { beginsWith: "/a" } } } } },
      /beginsWith, which is no test: there are equals/,
    ],
  ]) {
    it(`${what} is refused by its place`, async (t) => {
      const cwd = folderWith(t, { "hub.json": { openapi: {}, ...content } });
      const { code, stderr } = await run(t, ["serve", "hub.json", "--check"], { cwd });
      assert.equal(code, 2);
      assert.match(stderr, message);
    });
  }
});
