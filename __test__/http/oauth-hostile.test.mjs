// Token endpoints that mean harm: whatever they do, the call ends, and no secret is shown.

import assert from "node:assert/strict";
import { createServer } from "node:http";
import { test } from "node:test";
import { configure, reset } from "@logtape/logtape";
import { defer } from "../mcp/support/defer.mjs";
import { callerOf, documentWith, SECRET } from "./support/authorization-server.mjs";

/** A server that answers every request in one way. */
async function answering(t, answer) {
  const requests = [];
  const server = createServer(async (request, response) => {
    let body = "";
    for await (const piece of request) body += piece;
    requests.push({ url: request.url, body, authorization: request.headers.authorization });
    answer(request, response, body);
  });
  await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
  defer(t, () => {
    server.close();
    server.closeAllConnections();
  });
  return { url: `http://127.0.0.1:${server.address().port}`, requests };
}

const json =
  (value, status = 200) =>
  (_, response) =>
    response.writeHead(status, { "content-type": "application/json" }).end(JSON.stringify(value));
const auth = { grant: "client_credentials", clientId: "hub", clientSecret: SECRET };
const token = { access_token: "t0ken-of-the-api", token_type: "Bearer" };

const ENDPOINTS = {
  "a redirect is not followed": [
    (_, response) => response.writeHead(307, { location: "http://127.0.0.1:1/steal" }).end(),
    /refused with HTTP 307/,
  ],
  "an endless answer is cut off": [
    (_, response) => {
      const write = () => {
        while (!response.destroyed && response.write("x".repeat(65_536)));
      };
      response.on("drain", write).writeHead(200);
      write();
    },
    /answered with more than 1048576 bytes/,
  ],
  "an answer that is not JSON is no token": [
    (_, response) => response.end("<html>log in</html>"),
    /answered without an access token/,
  ],
  "a token of another type is not sent": [
    json({ ...token, token_type: "mac" }),
    /of a type other than Bearer/,
  ],
  "a token that fits no header is not sent": [
    json({ ...token, access_token: "x".repeat(20_000) }),
    /a token that is too long/,
  ],
  "a token with a line break is not sent": [json({ ...token, access_token: "a\r\nX-Admin: 1" }), /header/i],
  "an error that repeats the secret is not quoted": [
    json({ error: SECRET, error_description: `${SECRET} is wrong` }, 401),
    /refused with HTTP 401$/,
  ],
  "a connection that is cut is reported": [(request) => request.socket.destroy(), /cannot be reached/],
};

for (const [title, [answer, message]] of Object.entries(ENDPOINTS)) {
  test(`${title}, and the API is not called`, async (t) => {
    const lines = [];
    await configure({
      reset: true,
      sinks: { all: (record) => lines.push(JSON.stringify(record)) },
      loggers: [
        { category: ["operations"], lowestLevel: "trace", sinks: ["all"] },
        { category: ["logtape", "meta"], lowestLevel: "error", sinks: [] },
      ],
    });
    defer(t, reset);
    const login = await answering(t, answer);
    const api = await answering(t, json("never"));
    const error = await callerOf(api, { ...auth, tokenUrl: `${login.url}/token` })().catch((error) => error);
    assert.match(error.message, message);
    assert.equal(error.details.delivery, "none");
    assert.deepEqual(api.requests, []);
    assert.equal(login.requests.length, 1);
    assert.doesNotMatch(`${error.stack}${JSON.stringify(error)}${lines}`, /s3cret|t0ken/);
  });
}

test("a call that is aborted does not wait for a token endpoint that never answers", async (t) => {
  let arrived;
  const asked = new Promise((resolve) => {
    arrived = resolve;
  });
  const login = await answering(t, () => arrived());
  const call = callerOf({ url: "http://127.0.0.1:1" }, { ...auth, tokenUrl: `${login.url}/token` });
  const abort = new AbortController();
  const calling = call.registry.execute("api.me", {}, { signal: abort.signal });
  await asked;
  abort.abort();
  await assert.rejects(calling, { code: "ABORTED" });
});

test("metadata leads to no private address that the configuration does not name", async (t) => {
  const inner = await answering(t, json(token));
  const login = await answering(t, (request, response) =>
    json({ issuer: `http://${request.headers.host}`, token_endpoint: `${inner.url}/token` })(
      request,
      response,
    ),
  );
  const call = callerOf({ url: "http://127.0.0.1:1" }, { ...auth, issuer: login.url });
  await assert.rejects(call(), { message: /Requests to 127\.0\.0\.1:\d+ are not allowed/ });
  assert.deepEqual(inner.requests, []);
});

test("metadata of another issuer is not believed", async (t) => {
  const login = await answering(t, (request, response) =>
    json({ issuer: "https://other.example", token_endpoint: `http://${request.headers.host}/token` })(
      request,
      response,
    ),
  );
  const call = callerOf({ url: "http://127.0.0.1:1" }, { ...auth, issuer: login.url });
  await assert.rejects(call(), { message: /has the metadata of another issuer/ });
  assert.deepEqual(
    login.requests.map(({ url }) => url),
    ["/.well-known/openid-configuration", "/.well-known/oauth-authorization-server"],
  );
});

test("the metadata that a document names leads to no host that only the document leads to", async (t) => {
  const login = await answering(t, (request, response) =>
    json({ issuer: `http://${request.headers.host}`, token_endpoint: "https://login.evil.example/token" })(
      request,
      response,
    ),
  );
  const scheme = { type: "openIdConnect", openIdConnectUrl: `${login.url}/metadata` };
  const call = callerOf(login, auth, { document: documentWith({ login: scheme }) });
  await assert.rejects(call(), { message: /at a host that only the document leads to/ });
});

test("a life that is no number of seconds does not keep a token for ever, or end it", async (t) => {
  for (const expires_in of ["600", -5, 1e300, "soon", null]) {
    const login = await answering(t, json({ ...token, expires_in }));
    const api = await answering(t, json("ok"));
    const call = callerOf(api, { ...auth, tokenUrl: `${login.url}/token` });
    assert.equal(await call(), "ok");
    assert.equal(await call(), "ok");
    assert.equal(login.requests.length, 1, String(expires_in));
  }
});
