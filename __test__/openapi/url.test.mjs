// Documents from the web, the files that they refer to, and who gets to see credentials.

import assert from "node:assert/strict";
import { createServer } from "node:http";
import { after, before, describe, it } from "node:test";
import { FromOpenAPIUrl, unwrap } from "@alkdev/operations";
import { documentOf } from "./support/documents.mjs";

const pages = new Map();
const seen = [];
let server;
let origin;
let other;
let otherOrigin;

function serve() {
  const listener = createServer((request, response) => {
    seen.push({ url: request.url, host: request.headers.host, headers: request.headers });
    const page = pages.get(request.url);
    if (page === undefined) response.writeHead(404).end("no such page");
    else if (typeof page === "function") page(response);
    else response.writeHead(200, { "content-type": "text/plain" }).end(page);
  });
  return new Promise((resolve) => listener.listen(0, "127.0.0.1", () => resolve(listener)));
}

before(async () => {
  server = await serve();
  other = await serve();
  origin = `http://127.0.0.1:${server.address().port}`;
  otherOrigin = `http://127.0.0.1:${other.address().port}`;
});
after(() => {
  for (const one of [server, other]) {
    one.close();
    one.closeAllConnections();
  }
});

const config = { namespace: "t" };
const json = (value) => (response) =>
  response.writeHead(200, { "content-type": "application/json" }).end(JSON.stringify(value));

describe("FromOpenAPIUrl", () => {
  it("FromOpenAPIUrl fetches JSON and YAML, by content, and resolves relative servers from the document's URL", async () => {
    pages.set(
      "/docs/api.yaml",
      "openapi: 3.0.0\nservers: [{ url: ../v1 }]\npaths: { /pets: { get: { operationId: pets } } }",
    );
    pages.set("/v1/pets", json(["Rex"]));
    const [pets] = await FromOpenAPIUrl(`${origin}/docs/api.yaml`, config);
    assert.deepEqual(unwrap(await pets.handler({}, {})), ["Rex"]);
  });

  it("FromOpenAPIUrl follows a redirect, and the final URL is the document's", async () => {
    pages.set("/moved.json", (response) =>
      response.writeHead(302, { location: "/new/place/api.json" }).end(),
    );
    pages.set(
      "/new/place/api.json",
      JSON.stringify(documentOf({ servers: [{ url: "api" }], paths: { "/x": { get: {} } } })),
    );
    pages.set("/new/place/api/x", json("here"));
    const [operation] = await FromOpenAPIUrl(`${origin}/moved.json`, config);
    assert.equal(unwrap(await operation.handler({}, {})), "here");
  });

  it("FromOpenAPIUrl fetches the files of its folder that it refers to, and no others", async () => {
    const schema = (reference) => ({
      get: { responses: { 200: { content: { "application/json": { schema: { $ref: reference } } } } } },
    });
    pages.set(
      "/set/api.json?version=2",
      JSON.stringify(
        documentOf({
          paths: {
            "/near": schema("schemas/near.json"),
            "/up": schema("../up.json"),
            "/encoded": schema("%2e%2e/up.json"),
            "/top": schema("/up.json"),
            "/back": schema("a\\..\\..\\up.json"),
            "/abroad": schema(`${otherOrigin}/set/abroad.json`),
            "/file": schema("file:///etc/hostname"),
          },
        }),
      ),
    );
    for (const name of ["/set/schemas/near.json", "/up.json", "/set/abroad.json"])
      pages.set(name, '{ "title": "found" }');
    seen.length = 0;
    const operations = await FromOpenAPIUrl(`${origin}/set/api.json?version=2`, config);
    assert.deepEqual(
      operations.map(({ name, outputSchema }) => [name, outputSchema.title]),
      [
        ["get_near", "found"],
        ...["up", "encoded", "top", "back", "abroad", "file"].map((name) => [`get_${name}`, undefined]),
      ],
    );
    assert.deepEqual(
      seen.map(({ url }) => url),
      ["/set/api.json?version=2", "/set/schemas/near.json"],
    );
  });

  it("FromOpenAPIUrl says when an address is invalid, a page is missing, no document, or too large", async () => {
    pages.set("/page.html", "<html>");
    pages.set("/large.json", JSON.stringify(documentOf({ description: "x".repeat(100_000) })));
    for (const [url, more, code, message] of [
      [
        "api.json",
        {},
        "VALIDATION_ERROR",
        /absolute http or https URL, not "api\.json"\. FromOpenAPIFile reads a file$/,
      ],
      ["./api", {}, "VALIDATION_ERROR", /not "\.\/api"\. FromOpenAPIFile reads a file$/],
      ["C:\\api.json", {}, "VALIDATION_ERROR", /\. FromOpenAPIFile reads a file$/],
      ["file:///api.json", {}, "VALIDATION_ERROR", /absolute http or https URL.*FromOpenAPIFile/],
      [
        "pets.example/api.json",
        {},
        "VALIDATION_ERROR",
        /did you mean "https:\/\/pets\.example\/api\.json"\?$/,
      ],
      [
        `${origin.replace("//", "//ada:hush-1@")}/none.json?key=hush-2`,
        {},
        "EXECUTION_ERROR",
        new RegExp(`^The document at ${origin}/none\\.json could not be fetched: HTTP 404((?!hush).)*$`, "s"),
      ],
      [`${origin}/page.html`, {}, "VALIDATION_ERROR", /markup/],
      [`${origin}/large.json`, { maxDocumentBytes: 1000 }, "EXECUTION_ERROR", /1000/],
    ]) {
      await assert.rejects(FromOpenAPIUrl(url, { ...config, ...more }), (error) => {
        assert.equal(error.code, code);
        assert.match(error.message, message);
        return true;
      });
    }
  });

  it("FromOpenAPIUrl ends with TIMEOUT when the document does not arrive", async () => {
    pages.set("/silence.json", () => {});
    await assert.rejects(FromOpenAPIUrl(`${origin}/silence.json`, { ...config, timeout: 50 }), {
      code: "TIMEOUT",
    });
  });

  it("a file that is redirected elsewhere, or does not arrive in time, is not used", async () => {
    pages.set(
      "/r/api.json",
      JSON.stringify(
        documentOf({
          paths: { "/a": { $ref: "away.json" }, "/b": { $ref: "silence.json" }, "/c": { get: {} } },
        }),
      ),
    );
    pages.set("/r/away.json", (response) =>
      response.writeHead(302, { location: `${otherOrigin}/found.json` }).end(),
    );
    pages.set("/found.json", JSON.stringify({ get: {} }));
    pages.set("/r/silence.json", () => {});
    const operations = await FromOpenAPIUrl(`${origin}/r/api.json`, { ...config, timeout: 300 });
    assert.deepEqual(
      operations.map(({ name }) => name),
      ["get_c"],
    );
  });

  it("FromOpenAPIUrl uses config.fetch", async () => {
    const urls = [];
    const fetch = async (input) => {
      urls.push(String(input.url ?? input));
      return new Response(JSON.stringify(documentOf({ paths: { "/x": { get: {} } } })));
    };
    const operations = await FromOpenAPIUrl("https://api.example.com/openapi.json", { ...config, fetch });
    assert.equal(operations.length, 1);
    assert.deepEqual(urls, ["https://api.example.com/openapi.json"]);
  });
});

describe("credentials", () => {
  const secrets = { headers: { "X-Team": "team-secret" }, auth: { type: "bearer", token: "token-secret" } };
  const lastSeen = async (url, more) => {
    pages.set("/c/api.json", JSON.stringify(documentOf({})));
    seen.length = 0;
    await FromOpenAPIUrl(url, { ...config, ...secrets, ...more });
    return seen.at(-1).headers;
  };

  it("credentials are sent for the document when it is on the service's own origin", async () => {
    const headers = await lastSeen(`${origin}/c/api.json`, { baseUrl: `${origin}/v1` });
    assert.equal(headers.authorization, "Bearer token-secret");
    assert.equal(headers["x-team"], "team-secret");
  });

  it("credentials are not sent for a document elsewhere, or without a known service", async () => {
    for (const more of [{ baseUrl: otherOrigin }, {}]) {
      const headers = await lastSeen(`${origin}/c/api.json`, more);
      assert.equal(headers.authorization, undefined);
      assert.equal(headers["x-team"], undefined);
    }
  });

  it("config.documentHeaders are sent for the document wherever it is", async () => {
    const headers = await lastSeen(`${origin}/c/api.json`, {
      documentHeaders: { "X-Doc": "d", Authorization: "Basic eA==" },
    });
    assert.equal(headers["x-doc"], "d");
    assert.equal(headers.authorization, "Basic eA==");
  });

  it("credentials do not follow a redirect of the document to another origin", async () => {
    pages.set("/away.json", (response) =>
      response.writeHead(302, { location: `${otherOrigin}/c/api.json` }).end(),
    );
    const headers = await lastSeen(`${origin}/away.json`, { baseUrl: origin, allowPrivateAddresses: true });
    assert.equal(seen[0].headers.authorization, "Bearer token-secret");
    assert.equal(seen.length, 2);
    assert.equal(headers.authorization, undefined);
  });

  it("credentials in the URL are sent for the document and its files, and are in no report", async () => {
    pages.set(
      "/u/api.json",
      JSON.stringify(
        documentOf({ paths: { "/a": { $ref: "paths.json#/a" }, "/b": { $ref: "paths.json#/b" } } }),
      ),
    );
    pages.set("/u/paths.json", JSON.stringify({ a: { get: { parameters: [{ $ref: "#/gone" }] } } }));
    seen.length = 0;
    const url = `${origin.replace("//", "//user:pass-secret@")}/u/api.json`;
    const operations = await FromOpenAPIUrl(url, config);
    const expected = `Basic ${Buffer.from("user:pass-secret").toString("base64")}`;
    assert.deepEqual(
      seen.map(({ url: path, headers }) => [path, headers.authorization]),
      [
        ["/u/api.json", expected],
        ["/u/paths.json", expected],
      ],
    );
    assert.equal(operations.length, 1);
    assert.doesNotMatch(JSON.stringify(operations), /pass-secret/);
  });
});
