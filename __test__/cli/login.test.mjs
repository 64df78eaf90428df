// `operations login`: in a browser, by a code for another device, and what `call` makes of it.

import assert from "node:assert/strict";
import { readdirSync, readFileSync, statSync } from "node:fs";
import { createServer } from "node:http";
import { join } from "node:path";
import { test } from "node:test";
import {
  documentWith,
  startApi,
  startAuthorizationServer,
  visit,
} from "../http/support/authorization-server.mjs";
import { defer } from "../mcp/support/defer.mjs";
import { folderWith, run, runJson, start } from "./support/cli.mjs";

async function startSource(t, auth = {}, document = documentWith()) {
  const server = await startAuthorizationServer(t);
  const api = await startApi(t, server);
  const hub = {
    openapi: {
      api: {
        document: "api.json",
        baseUrl: api.url,
        auth: {
          type: "oauth2",
          grant: "authorization_code",
          issuer: server.issuer,
          clientId: "app",
          scopes: ["read"],
          ...auth,
        },
      },
    },
  };
  const cwd = folderWith(t, { "operations.json": hub, "api.json": document });
  return { ...server, api, at: { cwd, env: { XDG_STATE_HOME: join(cwd, "state") } } };
}

/** The address that a command prints for its user. */
async function pageOf({ child, output, ended }) {
  for (;;) {
    const [, code, url] = /browser(?: and enter the code (\S+))?: (\S+)\n/.exec(output.stderr) ?? [];
    if (url !== undefined) return { code, url };
    const isOver = await Promise.race([
      ended.then(() => true),
      new Promise((resolve) => child.stderr.once("data", () => resolve(false))),
    ]);
    if (isOver) throw new Error(`It ended: ${output.stderr}`);
  }
}

test("a user logs in with a browser, and calls use the tokens", async (t) => {
  const { at } = await startSource(t);
  const before = await run(t, ["call", "api.me"], at);
  assert.notEqual(before.code, 0);
  assert.match(before.stderr, /Run: operations login api/);
  const login = start(t, ["login", "api", "--no-browser"], at);
  const { url } = await pageOf(login);
  assert.equal((await fetch(await visit(url))).status, 200);
  const { code, stdout } = await login.ended;
  assert.deepEqual({ code, stdout }, { code: 0, stdout: "Logged in to api\n" });
  assert.equal((await runJson(t, ["call", "api.me"], at)).value.data, "ada");
  const folder = join(at.env.XDG_STATE_HOME, "alkdev-operations");
  const [file, ...others] = readdirSync(folder);
  assert.deepEqual(others, []);
  if (process.platform !== "win32") assert.equal(statSync(join(folder, file)).mode & 0o777, 0o600);
});

test("the file of the tokens can be named, and is not read by another client", async (t) => {
  const { at } = await startSource(t, { tokenStore: "secrets/api.json" });
  const login = start(t, ["login", "api", "--no-browser", "--json"], at);
  await fetch(await visit((await pageOf(login)).url));
  assert.equal((await login.ended).code, 0);
  assert.equal(JSON.parse(readFileSync(join(at.cwd, "secrets", "api.json"), "utf8")).clientId, "app");
});

test("a user logs in with a code on another device, where the server has such codes", async (t) => {
  let polls = 0;
  const server = createServer((request, response) => {
    const issuer = `http://${request.headers.host}`;
    const pending = { error: "authorization_pending" };
    const token = { access_token: "a", refresh_token: "r", token_type: "Bearer" };
    const answers = {
      "/.well-known/openid-configuration": () => [
        200,
        { issuer, token_endpoint: `${issuer}/token`, device_authorization_endpoint: `${issuer}/device` },
      ],
      "/device": () => [
        200,
        { device_code: "d", user_code: "WDJB-MJHT", verification_uri: `${issuer}/enter`, interval: 1 },
      ],
      "/token": () => (++polls === 1 ? [400, pending] : [200, token]),
    };
    const [status, body] = answers[request.url]();
    response.writeHead(status, { "content-type": "application/json" }).end(JSON.stringify(body));
  });
  await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
  defer(t, () => {
    server.close();
    server.closeAllConnections();
  });
  const issuer = `http://127.0.0.1:${server.address().port}`;
  const { at } = await startSource(t, { issuer, tokenStore: "tokens.json" });
  const login = start(t, ["login", "api", "--device"], at);
  assert.deepEqual(await pageOf(login), { code: "WDJB-MJHT", url: `${issuer}/enter` });
  assert.equal((await login.ended).code, 0);
  assert.equal(polls, 2);
  assert.equal(JSON.parse(readFileSync(join(at.cwd, "tokens.json"), "utf8")).refreshToken, "r");
});

test("a source that is not there, or needs no login, is an error that says so", async (t) => {
  const { at } = await startSource(t, { grant: "client_credentials", clientSecret: "s" });
  const unknown = await run(t, ["login", "apy"], at);
  assert.match(unknown.stderr, /There is no source apy in .*It has api/s);
  const other = await run(t, ["login", "api"], at);
  assert.match(other.stderr, /api needs no login/);
});

test("inspect shows which credentials a source asks for, and which are configured", async (t) => {
  const document = documentWith({
    login: {
      type: "openIdConnect",
      openIdConnectUrl: "https://login.example/.well-known/openid-configuration",
    },
    key: { type: "apiKey", in: "header", name: "X-Key" },
  });
  const { at } = await startSource(t, {}, document);
  const inspected = await run(t, ["inspect", "--json", "--config", "operations.json", "api"], at);
  assert.deepEqual(
    JSON.parse(inspected.stdout).security.map(({ scheme, isAnswered }) => [scheme, isAnswered]),
    [
      ["login", true],
      ["key", false],
    ],
  );
  const { stdout } = await run(t, ["inspect", "api.json"], at);
  assert.match(stdout, /login +openIdConnect +1 +no/);
});
