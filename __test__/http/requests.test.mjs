// Where a request goes and what it takes along: base URLs, credentials, headers, redirects.

import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { FromOpenAPI } from "@alkdev/operations";
import { answers, documentOf, echo, failureOf, handlers, sendJson, serve, single } from "./support.mjs";

const { url: baseUrl } = await serve(echo);
const call = async (config, context = {}) =>
  (await single("get", {}, { baseUrl, ...config })({}, context)).data;

describe("the address", () => {
  const get = { operationId: "it", responses: answers() };

  it("the address is the base URL and the path, with one slash between them", async () => {
    for (const base of [`${baseUrl}/v1`, `${baseUrl}/v1/`]) {
      const { it: call } = handlers({ "/pets/": { get } }, { baseUrl: base });
      assert.equal((await call({}, {})).data.url, "/v1/pets/");
    }
  });

  it("the address is that of the document's servers without a base URL", async () => {
    const servers = [{ url: `${baseUrl}/{version}`, variables: { version: { default: "v2" } } }];
    // A document alone may not name addresses of this machine.
    const config = { namespace: "t", allowPrivateAddresses: true };
    const [{ handler }] = FromOpenAPI(documentOf({ "/pets": { get } }, { servers }), config);
    assert.equal((await handler({}, {})).data.url, "/v2/pets");
    const own = { ...get, servers: [{ url: `${baseUrl}/own` }] };
    const [operation] = FromOpenAPI(documentOf({ "/pets": { get: own } }, { servers }), config);
    assert.equal((await operation.handler({}, {})).data.url, "/own/pets");
  });

  it("an address that cannot be determined is an error that says what to do", async () => {
    const [{ handler }] = FromOpenAPI(documentOf({ "/pets": { get } }), { namespace: "t" });
    await assert.rejects(handler({}, {}), { code: "VALIDATION_ERROR", message: /set baseUrl/ });
  });

  it("the address keeps the path and basePath of Swagger 2.0", async () => {
    const swagger = {
      swagger: "2.0",
      info: { title: "t", version: "1" },
      basePath: "/api",
      paths: { "/pets": { get: { operationId: "it", responses: { 200: { description: "" } } } } },
    };
    const [{ handler }] = FromOpenAPI(swagger, { namespace: "t", baseUrl });
    assert.equal((await handler({}, {})).data.url, "/api/pets");
  });
});

describe("credentials", () => {
  const basic = (text) => `Basic ${Buffer.from(text).toString("base64")}`;
  for (const [name, auth, header, value] of [
    ["bearer", { type: "bearer", token: "abc" }, "authorization", "Bearer abc"],
    ["an API key", { type: "apiKey", token: "abc" }, "x-api-key", "abc"],
    [
      "an API key in a header of its own",
      { type: "apiKey", token: "abc", headerName: "X-Key" },
      "x-key",
      "abc",
    ],
    [
      "an API key with a prefix",
      { type: "apiKey", token: "abc", headerName: "Authorization", prefix: "Token" },
      "authorization",
      "Token abc",
    ],
    ["basic, encoded already", { type: "basic", token: "dTpw" }, "authorization", "Basic dTpw"],
    [
      "basic, with a user name",
      { type: "basic", username: "ü", password: "p:w" },
      "authorization",
      basic("ü:p:w"),
    ],
  ]) {
    it(`credentials are sent as a header: ${name}`, async () =>
      assert.equal((await call({ auth })).headers[header], value));
  }

  it("credentials in the base URL become a header and leave the URL", async () => {
    const { headers, url } = await call({ baseUrl: baseUrl.replace("//", "//user:pass@") });
    assert.equal(headers.authorization, basic("user:pass"));
    assert.equal(url, "/");
  });
});

describe("headers", () => {
  it("headers of the configuration are sent with every call, and those of a call take precedence", async () => {
    const config = { headers: { "X-One": "1", "X-Two": "2", Accept: "application/vnd.x+json" } };
    const { headers } = await call(config, {
      metadata: { headers: { "x-two": "two", "X-Three": 3, left: undefined } },
    });
    assert.equal(headers["x-one"], "1");
    assert.equal(headers["x-two"], "two");
    assert.equal(headers["x-three"], "3");
    assert.equal(headers.accept, "application/vnd.x+json");
    assert.equal("left" in headers, false);
  });

  it("headers of a call may be a Headers object or pairs", async () => {
    for (const given of [new Headers({ "x-a": "1" }), [["x-a", "1"]], new Map([["x-a", "1"]])]) {
      assert.equal((await call({}, { metadata: { headers: given } })).headers["x-a"], "1");
    }
  });

  it("headers that no request can carry are refused by name, without their value", async () => {
    const error = await failureOf(call({}, { metadata: { headers: { "x-a": "secret\r\nx-b: 1" } } }));
    assert.equal(error.code, "VALIDATION_ERROR");
    assert.match(error.message, /"x-a" contains a line break/);
    assert.doesNotMatch(error.message, /secret/);
    await assert.rejects(call({}, { metadata: { headers: "x" } }), { code: "VALIDATION_ERROR" });
    await assert.rejects(call({}, { metadata: { headers: { "a b": "1" } } }), { code: "VALIDATION_ERROR" });
  });

  it("requests have accept and user-agent headers", async () => {
    const { headers } = await call({});
    assert.equal(headers.accept, "application/json");
    assert.match(headers["user-agent"], /^alkdev-operations\//);
    for (const encoding of ["gzip", "br", "zstd", "deflate"])
      assert.match(headers["accept-encoding"], new RegExp(encoding));
  });
});

describe("redirects", async () => {
  const secret = {
    auth: { type: "apiKey", token: "open-sesame" },
    headers: { Cookie: "session=1", "X-Own": "o" },
  };
  const elsewhere = await serve(echo);
  const { url } = await serve((request, response) => {
    const [, status, ...rest] = request.url.split("/");
    if (!/^3\d\d$/.test(status)) return echo(request, response);
    const location = { same: "/here", other: `${elsewhere.url}/there`, loop: request.url, bad: "ftp://x/" }[
      rest[0]
    ];
    response.writeHead(Number(status), { location });
    response.end("moved");
  });
  const follow = async (method, path) => {
    const operation = { operationId: "it", responses: answers() };
    if (method !== "get") operation.requestBody = { content: { "application/json": {} } };
    // Another port of a private address is another address.
    const config = { baseUrl: url, allowPrivateAddresses: true, ...secret };
    const { it: call } = handlers({ [path]: { [method]: operation } }, config);
    return (await call(method === "get" ? {} : { body: 1 }, {})).data;
  };

  it("redirects within the origin keep everything", async () => {
    for (const status of [301, 302, 303, 307, 308]) {
      const { url, headers } = await follow("get", `/${status}/same`);
      assert.equal(url, "/here");
      assert.equal(headers["x-api-key"], "open-sesame");
      assert.equal(headers["x-own"], "o");
    }
  });

  it("redirects to another origin lose credentials, and whatever may be one", async () => {
    for (const status of [301, 302, 303, 307, 308]) {
      const { url, headers } = await follow("get", `/${status}/other`);
      assert.equal(url, "/there");
      assert.equal(headers["x-api-key"], undefined);
      assert.equal(headers.cookie, undefined);
      assert.equal(headers["x-own"], undefined);
      assert.equal(headers.accept, "application/json");
    }
  });

  it("redirects change the method as the Fetch standard says", async () => {
    for (const [status, method, body] of [
      [301, "GET", ""],
      [302, "GET", ""],
      [303, "GET", ""],
      [307, "POST", "1"],
      [308, "POST", "1"],
    ]) {
      const data = await follow("post", `/${status}/same`);
      assert.deepEqual([data.method, data.body], [method, body]);
    }
  });

  it("endless redirects end with an error", async () => {
    await assert.rejects(follow("get", "/302/loop"), {
      code: "EXECUTION_ERROR",
      message: /more than 20 times/,
    });
    await assert.rejects(follow("get", "/302/bad"), {
      code: "EXECUTION_ERROR",
      message: /not an http or https URL/,
    });
  });
});

describe("secrets", () => {
  it("secrets appear in no error, whatever the server repeats", async () => {
    const { url } = await serve((request, response) => {
      response.setHeader("x-echo", request.headers.authorization);
      sendJson(response, { sent: request.headers, key: { [request.headers.authorization]: 1 } }, 401);
    });
    const auth = { type: "bearer", token: "open-sesame-42" };
    const context = { metadata: { headers: { "X-Session-Token": "another-secret" } } };
    const error = await failureOf(single("get", {}, { baseUrl: url, auth })({}, context));
    const shown = `${error.message} ${error.stack} ${JSON.stringify(error.details)}`;
    assert.doesNotMatch(shown, /open-sesame-42|another-secret/);
    assert.equal(error.details.body.sent.authorization, "Bearer [secret]");
  });

  it("secrets in a URL that cannot be reached are not shown", async () => {
    const { url, stop } = await serve(echo);
    await stop();
    const parameters = [{ name: "api_key", in: "query", schema: { type: "string" } }];
    const call = single("get", { parameters }, { baseUrl: url.replace("//", "//user:hidden-pass@") });
    const error = await failureOf(call({ api_key: "hidden-key" }, {}));
    assert.equal(error.code, "EXECUTION_ERROR");
    const shown = `${error.message} ${JSON.stringify(error.details)}`;
    assert.doesNotMatch(shown, /hidden/);
    assert.ok(error.message.includes(new URL(url).host), error.message);
    assert.match(error.message, /the connection was refused/);
    assert.equal(error.details.cause, "ECONNREFUSED");
  });

  it("a host name that cannot be resolved is named with the reason", async () => {
    const error = await failureOf(call({ baseUrl: "http://nowhere.invalid/" }));
    assert.match(error.message, /nowhere\.invalid.*the name could not be resolved/);
    assert.equal(error.details.cause, "ENOTFOUND");
  });
});
