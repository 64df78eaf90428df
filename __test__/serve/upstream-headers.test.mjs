// Which headers leave: those that an imported operation sends to its server, and those of the server that callers get to see. The
// same ones, whoever does the call.

import assert from "node:assert/strict";
import { after, describe, it } from "node:test";
import { FromOpenAPI } from "@alkdev/operations";
import { connectHub } from "@alkdev/operations/transport-websocket";
import { documentOf, sendJson, serve as upstream } from "../http/support.mjs";
import { chosenSeed, Random } from "../schema/support/random.mjs";
import { post, serving } from "./support.mjs";

const ENVELOPE = "application/vnd.alkdev.envelope+json";
const header = (name) => ({ name, in: "header", schema: { type: "string" } });
const get = (parameters, responses = { 200: { description: "" } }) => ({
  get: { operationId: "it", parameters, responses },
});

/** The same operations twice: as they are, and with a rule that only JavaScript can ask. */
async function bothPaths(document, config, options = {}) {
  const operations = (customAuth) =>
    FromOpenAPI(document, {
      namespace: "api",
      ...config,
      accessControl: { requiredScopes: [], ...customAuth },
    });
  const customAuth = { everybody: () => true };
  return [
    await serving(operations({}), options),
    await serving(operations({ customAuth: "everybody" }), options, { customAuth }),
  ];
}

describe("a request to the server of an imported operation", () => {
  const asSent = (request, response) => sendJson(response, request.headers);

  for (const [what, config] of [
    ["given once", { headers: { "x-tenant": "acme" }, auth: { type: "bearer", token: "s3cret" } }],
    [
      "given for each call",
      { headers: () => ({ "x-tenant": "acme" }), auth: () => ({ type: "bearer", token: "s3cret" }) },
    ],
  ]) {
    it(`an upstream request has the headers and credentials that were ${what}`, async () => {
      const api = await upstream(asSent);
      for (const { post } of await bothPaths(documentOf({ "/it": get([]) }), {
        baseUrl: api.url,
        ...config,
      })) {
        const headers = await (await post("api/it", {})).json();
        assert.equal(headers["x-tenant"], "acme");
        assert.equal(headers.authorization, "Bearer s3cret");
      }
    });
  }

  it("an upstream request has no headers of the client, unless a function adds them", async () => {
    const api = await upstream(asSent);
    const sent = { "x-tenant": "acme", authorization: "Bearer mine", cookie: "a=b", "x-other": "1" };
    const options = { requestHeaders: ["x-tenant"] };
    const document = documentOf({ "/it": get([]) });
    for (const { post } of await bothPaths(document, { baseUrl: api.url }, options)) {
      const headers = await (await post("api/it", {}, { headers: sent })).json();
      for (const name of Object.keys(sent)) assert.ok(!(name in headers), name);
    }
    // Of what `requestHeaders` lists, a function may choose.
    const chosen = { headers: ({ metadata }) => ({ "x-tenant": metadata.headers["x-tenant"] }) };
    for (const { post } of await bothPaths(document, { baseUrl: api.url, ...chosen }, options)) {
      const headers = await (await post("api/it", {}, { headers: sent })).json();
      assert.equal(headers["x-tenant"], "acme");
      for (const name of ["authorization", "cookie", "x-other"]) assert.ok(!(name in headers), name);
    }
  });

  it("an upstream request has a header that its document declares, from the same header of the client", async () => {
    const api = await upstream(asSent);
    const document = documentOf({ "/it": get([header("x-tenant"), header("X-Request-Kind")]) });
    for (const { url } of await bothPaths(document, { baseUrl: api.url })) {
      const sent = { "x-tenant": "acme", "x-request-kind": "slow" };
      const headers = await (await fetch(`${url}/api/it`, { headers: sent })).json();
      assert.equal(headers["x-tenant"], "acme");
      assert.equal(headers["x-request-kind"], "slow");
    }
  });

  // A document must not be able to have a client's credentials sent to its server by declaring them as parameters.
  for (const name of [
    "X-API-Key",
    "x-apikey",
    "x-access-key",
    "x-session-id",
    "x-amz-security-token",
    "x-jwt-assertion",
    "x-forwarded-user",
    "x-auth-request-email",
    "proxy-user",
    "x-client-secret",
    "x-password",
    "x-credential",
    "x-cookie-id",
  ]) {
    it(`an upstream request never has a client's ${name}, even if its document declares it`, async () => {
      const api = await upstream(asSent);
      const document = documentOf({ "/it": get([header("x-tenant"), header(name)]) });
      const sent = { "x-tenant": "acme", [name]: "secret" };
      for (const { url, post } of await bothPaths(document, { baseUrl: api.url })) {
        // It does not keep its path then, so that it is called by its name only, with the header in its input.
        assert.equal((await fetch(`${url}/api/it`, { headers: sent })).status, 404);
        const { paths } = await (await fetch(`${url}/api/openapi.json`)).json();
        assert.deepEqual(Object.keys(paths), ["/api/it"]);
        assert.deepEqual(Object.keys(paths["/api/it"]), ["post"]);
        const unasked = await (await post("api/it", {}, { headers: sent })).json();
        assert.ok(!(name.toLowerCase() in unasked) && !("x-tenant" in unasked));
        const given = await (await post("api/it", sent)).json();
        assert.equal(given[name.toLowerCase()], "secret");
        assert.equal(given["x-tenant"], "acme");
      }
      assert.equal(api.received.length, 4);
    });
  }
});

describe("what callers see of the headers of an upstream server", () => {
  const NAMES = [
    "etag",
    "Set-Cookie",
    "set-cookie2",
    "x-internal",
    "x-tenant",
    "link",
    "content-language",
    "cookie",
  ];
  const allowable = ["etag", "x-tenant", "link", "x-internal", "last-modified"];
  const schema = { type: "object", required: ["n"], properties: { n: { type: "string", pattern: "^x" } } };
  const responses = { 200: { description: "", content: { "application/json": { schema } } } };
  const TYPES = ["application/json", "text/plain", "image/png", undefined];

  const randomAnswer = (random) => ({
    status: random.pick([200, 200, 201, 204, 400, 401, 404, 409, 500]),
    type: random.pick(TYPES),
    body: random.pick(['{"n":"x"}', '{"n":7}', "{}", "[1]", "{", '{"headers":{"set-cookie":"mine"}}']),
    headers: random
      .some(NAMES)
      .map((name, index) => [name, random.chance(0.3) ? ["a=1", "b=2"] : `${index}`]),
  });

  /** What differs from call to call is left out. */
  /** Answers byte for byte, but for what differs each time; errors by what they say, in whatever order. */
  const told = (text) => {
    const same = text
      .replace(/"requestId":"[^"]*"/g, '"requestId":""')
      .replace(/"date":"[^"]*"/g, '"date":""')
      .replace(/"timestamp":\d+/g, '"timestamp":0');
    return same.startsWith("{") && same.includes('"details":') ? JSON.parse(same) : same;
  };

  async function seen(response) {
    const shown = Object.fromEntries(response.headers);
    for (const name of ["x-request-id", "date", "transfer-encoding", "content-length"]) delete shown[name];
    return { status: response.status, headers: shown, body: told(await response.text()) };
  }

  const overHttp = (accept) => async (served) =>
    seen(await served.post("api/it", {}, { headers: { accept } }));

  async function overMcp({ url }) {
    const params = {
      name: "api_it",
      arguments: {},
      _meta: {
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": {},
      },
    };
    const headers = {
      accept: "application/json, text/event-stream",
      "mcp-protocol-version": "2026-07-28",
      "mcp-method": "tools/call",
      "mcp-name": "api_it",
    };
    const message = { jsonrpc: "2.0", id: 1, method: "tools/call", params };
    return seen(await post(`${url}/mcp`, message, { headers }));
  }

  async function overHub(served) {
    served.spoke ??= await connectHub(`${served.url.replace("http", "ws")}/hub`, { name: "caller" });
    try {
      return told(JSON.stringify(await served.spoke.callMap.call("api.it", {})));
    } catch ({ code, message, details }) {
      return told(JSON.stringify({ code, message, details }));
    }
  }

  it("callers see the same upstream headers from native code and from JavaScript, and never a cookie", async (test) => {
    const seed = chosenSeed();
    test.diagnostic(`seed ${seed}`);
    const random = new Random(seed);
    let answer;
    const api = await upstream((_, response) => {
      for (const [name, value] of answer.headers) response.setHeader(name, value);
      if (answer.type !== undefined) response.setHeader("content-type", answer.type);
      response.statusCode = answer.status;
      response.end(answer.status === 204 ? undefined : answer.body);
    });
    const spokes = [];
    after(() => Promise.all(spokes.map((spoke) => spoke.close({ drain: 0 }))));
    for (let round = 0; round < 4; round++) {
      const responseHeaders = random.some(allowable);
      const output = random.pick(["normalise", "strict", "keep", "off"]);
      const options = { doors: { http: true, mcp: { name: "t", version: "1" }, hub: true }, responseHeaders };
      const config = { baseUrl: api.url, output, retry: 0 };
      const [native, javascript] = await bothPaths(
        documentOf({ "/it": get([], responses) }),
        config,
        options,
      );
      for (let call = 0; call < 25; call++) {
        answer = randomAnswer(random);
        const about = `seed ${seed}: ${output}, ${responseHeaders}, ${JSON.stringify(answer)}`;
        for (const [door, ask] of [
          ["http", overHttp("application/json")],
          ["http", overHttp(ENVELOPE)],
          ["mcp", overMcp],
          ["hub", overHub],
        ]) {
          const [here, there] = [await ask(native), await ask(javascript)];
          assert.deepEqual(here, there, `${door}, ${about}`);
          const text = JSON.stringify(here)
            .replaceAll('\\"', '"')
            .replaceAll('{"headers":{"set-cookie":"mine"}}', "");
          assert.doesNotMatch(text, /"set-cookie2?":/i, `${door}, ${about}`);
          if (door === "hub") continue;
          const names = NAMES.map((name) => name.toLowerCase());
          for (const name of names.filter((name) => !responseHeaders.includes(name))) {
            assert.ok(!text.includes(`"${name}":`), `${door}, ${name}, ${about}`);
          }
        }
      }
      spokes.push(native.spoke, javascript.spoke);
    }
  });
});
