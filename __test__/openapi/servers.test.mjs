// Where requests go.

import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { FromOpenAPI, FromOpenAPIUrl } from "@alkdev/operations";
import { documentOf } from "./support/documents.mjs";

/** A `fetch` that answers every call and remembers where it went. */
function remembering(answer = () => new Response("{}")) {
  const urls = [];
  const fetch = async (input) => {
    urls.push(String(input?.url ?? input));
    return answer(urls.at(-1));
  };
  return { urls, fetch };
}

/** The URL that the only operation of a document calls. */
async function urlOf(members, config = {}) {
  const { urls, fetch } = remembering();
  const [operation] = FromOpenAPI(documentOf(members), { namespace: "t", fetch, ...config });
  await operation.handler({}, {});
  return urls[0];
}

const paths = { "/pets": { get: {} } };
const servers = (...urls) => urls.map((url) => ({ url }));

describe("the URL of a request", () => {
  const cases = [
    [
      "the first server of the document",
      { servers: servers("https://a.example/v1", "https://b.example"), paths },
      "https://a.example/v1/pets",
    ],
    ["a slash too many", { servers: servers("https://a.example/v1/"), paths }, "https://a.example/v1/pets"],
    [
      "the path's servers before the document's",
      {
        servers: servers("https://a.example"),
        paths: { "/pets": { servers: servers("https://path.example"), get: {} } },
      },
      "https://path.example/pets",
    ],
    [
      "the operation's servers before the path's",
      {
        paths: {
          "/pets": {
            servers: servers("https://path.example"),
            get: { servers: servers("https://op.example/x") },
          },
        },
      },
      "https://op.example/x/pets",
    ],
    [
      "variables by their defaults",
      {
        servers: [
          {
            url: "https://{region}.example:{port}/{base}",
            variables: { region: { default: "eu" }, port: { default: 8443 }, base: { enum: ["v2", "v3"] } },
          },
        ],
        paths,
      },
      "https://eu.example:8443/v2/pets",
    ],
    [
      "Swagger 2.0's scheme, host and base path",
      {
        openapi: undefined,
        swagger: "2.0",
        host: "a.example",
        schemes: ["https", "http"],
        basePath: "/v1",
        paths,
      },
      "https://a.example/v1/pets",
    ],
  ];
  for (const [what, members, url] of cases) {
    it(`the URL of a request comes from ${what}`, async () => assert.equal(await urlOf(members), url));
  }

  it("baseUrl takes precedence over every server", async () => {
    const members = {
      servers: servers("https://a.example"),
      paths: { "/pets": { get: { servers: servers("https://op.example") } } },
    };
    assert.equal(
      await urlOf(members, { baseUrl: "https://mine.example/api" }),
      "https://mine.example/api/pets",
    );
  });

  it("baseUrl is followed by Swagger 2.0's base path", async () => {
    const members = { openapi: undefined, swagger: "2.0", host: "a.example", basePath: "/v1", paths };
    assert.equal(await urlOf(members, { baseUrl: "https://mine.example" }), "https://mine.example/v1/pets");
  });

  const relative = [
    ["/api", "https://docs.example/api/pets"],
    ["v2", "https://docs.example/specs/v2/pets"],
    ["../v2", "https://docs.example/v2/pets"],
    ["//other.example/x", "https://other.example/x/pets"],
    [undefined, "https://docs.example/pets"],
  ];
  for (const [server, url] of relative) {
    it(`a relative server (${server}) begins at the document's own URL`, async () => {
      const members = server === undefined ? { paths } : { servers: servers(server), paths };
      const { urls, fetch } = remembering((asked) =>
        asked.endsWith(".json") ? Response.json(documentOf(members)) : new Response("{}"),
      );
      const from = "https://docs.example/specs/api.json";
      const [operation] = await FromOpenAPIUrl(from, { namespace: "t", fetch });
      await operation.handler({}, {});
      assert.deepEqual(urls, [from, url]);
    });
  }

  it("a call without any server says what to do, and the import succeeds", async () => {
    for (const members of [
      { paths },
      { servers: servers("/v1"), paths },
      { servers: servers("https://{nobody}.example"), paths },
      { servers: servers("ftp://a.example"), paths },
    ]) {
      await assert.rejects(urlOf(members), { code: "VALIDATION_ERROR", message: /baseUrl/ });
    }
  });
});
