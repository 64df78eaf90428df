// The document of a registry, and the requests that it promises.

import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, it } from "node:test";
import { fileURLToPath } from "node:url";
import { FromOpenAPI, OperationRegistry } from "@alkdev/operations";
import { toOpenAPI } from "@alkdev/operations/serve";
import { Validator } from "@seriousme/openapi-schema-validator";
import { Type } from "@sinclair/typebox";
import { answers, documentOf, echo, serve as upstream } from "../http/support.mjs";
import { registryOf } from "../support/registry.mjs";
import { operation, serving, subscription } from "./support.mjs";

const INFO = { title: "Test", version: "1.2.3", license: { name: "MIT", identifier: "MIT" } };

const search = operation({
  namespace: "docs",
  name: "search",
  inputSchema: Type.Object(
    {
      text: Type.String({ description: "What to look for" }),
      limit: Type.Optional(Type.Integer({ minimum: 1 })),
      exact: Type.Optional(Type.Boolean()),
      order: Type.Optional(Type.Union([Type.Literal("new"), Type.Literal("old")])),
    },
    { additionalProperties: false },
  ),
  handler: (input) => input,
});

it("a document that chooses namespaces does not replace registered operations", () => {
  const pay = operation({ namespace: "bank", name: "pay", accessControl: { requiredScopes: ["admin"] } });
  const theirs = new OperationRegistry();
  theirs.register({ ...pay, accessControl: { requiredScopes: [] } });
  const document = toOpenAPI(theirs, { title: "hostile", version: "1" });
  const imported = FromOpenAPI(document, { baseUrl: "http://127.0.0.1:9" });
  const registry = new OperationRegistry();
  registry.register(pay);
  assert.throws(() => registry.registerAll(imported), /document.*'bank.pay'.*namespace/);
  assert.deepEqual(registry.getSpec("bank.pay").accessControl.requiredScopes, ["admin"]);
  assert.throws(() => registry.registerSpec(imported[0]), /document.*'bank.pay'.*namespace/);
  assert.deepEqual(registry.getSpec("bank.pay").accessControl.requiredScopes, ["admin"]);
  registry.registerAll(FromOpenAPI(document, { namespace: "theirs", baseUrl: "http://127.0.0.1:9" }));
});

describe("a QUERY whose input is flat", () => {
  it("a QUERY whose input is flat is a GET with query parameters", async () => {
    const { url, post } = await serving([search]);
    const response = await fetch(`${url}/api/docs/search?text=a+b%2B%C3%A9&limit=3&exact=true&order=new`);
    assert.equal(response.status, 200);
    const input = { text: "a b+é", limit: 3, exact: true, order: "new" };
    assert.deepEqual(await response.json(), input);
    // By name, everything can be called.
    assert.deepEqual(await (await post("docs/search", input)).json(), input);
  });

  it("a query parameter that cannot be converted without loss, occurs twice or is undeclared is refused", async () => {
    const { url } = await serving([search]);
    for (const [query, path] of [
      ["text=a&limit=007", "/limit"],
      ["text=a&limit=9007199254740993", "/limit"],
      ["text=a&limit=", "/limit"],
      ["text=a&exact=1", "/exact"],
      ["text=a&text=b", "/text"],
      ["text=a&other=1", "/other"],
      ["limit=1", "/text"],
    ]) {
      const response = await fetch(`${url}/api/docs/search?${query}`);
      assert.equal(response.status, 400, query);
      const { code, errors, mayHaveRun } = await response.json();
      assert.equal(code, "VALIDATION_ERROR");
      assert.equal(errors[0].path, path);
      assert.equal(mayHaveRun, false);
    }
    const response = await fetch(`${url}/api/docs/search?text=%FF`);
    assert.equal(response.status, 400);
    assert.match((await response.json()).detail, /not UTF-8/);
  });

  it("a QUERY that is a GET refuses other methods", async () => {
    const { url } = await serving([search, operation({ namespace: "docs", name: "any", type: "mutation" })]);
    const put = await fetch(`${url}/api/docs/search`, { method: "PUT" });
    assert.equal(put.status, 405);
    assert.equal(put.headers.get("allow"), "GET, POST");
    const get = await fetch(`${url}/api/docs/any`);
    assert.equal(get.status, 405);
    assert.equal(get.headers.get("allow"), "POST");
  });
});

describe("an imported operation", () => {
  const idParameter = { in: "path", name: "id", required: true, schema: { type: "integer" } };
  const item = {
    operationId: "item",
    parameters: [
      idParameter,
      { in: "query", name: "tags", schema: { type: "array", items: { type: "string" } } },
      {
        in: "query",
        name: "ids",
        explode: false,
        schema: { type: "array", items: { $ref: "#/components/schemas/Id" } },
      },
      { in: "header", name: "X-Mode", schema: { type: "string" } },
    ],
    responses: answers(),
  };
  const change = {
    operationId: "change",
    parameters: [idParameter],
    requestBody: { required: true, content: { "application/json": { schema: { type: "object" } } } },
    responses: answers(),
  };
  const deep = {
    operationId: "deep",
    parameters: [{ in: "query", name: "filter", style: "deepObject", schema: { type: "object" } }],
    responses: answers(),
  };
  const paths = { "/items/{id}": { get: item, put: change }, "/deep": { get: deep } };
  const components = { schemas: { Id: { type: "integer" } } };
  const operationsOf = (baseUrl, namespace = "api") =>
    FromOpenAPI(documentOf(paths, { components }), { namespace, baseUrl });

  it("an imported operation keeps its method and path", async () => {
    const api = await upstream(echo);
    const { url } = await serving(operationsOf(api.url));
    const got = await fetch(`${url}/api/items/7?tags=a%2Cb&tags=c&ids=1,2`, { headers: { "x-mode": "m" } });
    assert.equal(got.status, 200);
    const seen = await got.json();
    assert.equal(seen.url, "/items/7?tags=a%2Cb&tags=c&ids=1,2");
    assert.equal(seen.headers["x-mode"], "m");
    const put = await fetch(`${url}/api/items/8`, {
      method: "PUT",
      headers: { "content-type": "application/json" },
      body: '{"n":1.5}',
    });
    assert.equal((await put.json()).body, '{"n":1.5}');
    assert.equal((await fetch(`${url}/api/items/x`)).status, 400);
    assert.equal((await fetch(`${url}/api/items/`)).status, 404);
    assert.equal((await fetch(`${url}/api/items/7`, { method: "DELETE" })).headers.get("allow"), "GET, PUT");
  });

  it("an imported operation is called by name if its input cannot be read back from a request", async () => {
    const api = await upstream(echo);
    const { url, post, registry } = await serving(operationsOf(api.url));
    assert.equal((await fetch(`${url}/api/deep`)).status, 404);
    assert.equal((await (await post("api/deep", { filter: { a: 1 } })).json()).url, "/deep?filter%5Ba%5D=1");
    const { paths } = toOpenAPI(registry, INFO);
    assert.deepEqual(Object.keys(paths), ["/items/{id}", "/api/deep"]);
  });

  it("an imported operation gives way to one registered before, and to names", async () => {
    const api = await upstream(echo);
    const local = operation({
      namespace: "items",
      name: "7",
      inputSchema: Type.Object({}),
      handler: () => "local",
    });
    const { url, registry } = await serving([
      ...operationsOf(api.url),
      ...operationsOf(api.url, "other"),
      local,
    ]);
    const { paths } = toOpenAPI(registry, INFO);
    assert.equal(paths["/items/{id}"].get.operationId, "api.item");
    assert.equal(paths["/other/item"].post.operationId, "other.item");
    assert.equal(await (await fetch(`${url}/api/items/7`)).json(), "local");
    assert.equal((await (await fetch(`${url}/api/items/8`)).json()).url, "/items/8");
  });
});

const node = Type.Recursive((self) => Type.Object({ name: Type.String(), children: Type.Array(self) }));
const everything = () => [
  search,
  operation({
    namespace: "docs",
    name: "tree/of it",
    type: "mutation",
    title: "Plant a tree",
    tags: ["trees"],
    inputSchema: node,
    outputSchema: node,
    accessControl: { requiredScopes: ["trees"] },
    errorSchemas: [
      {
        code: "NO_TREE",
        description: "There is none",
        httpStatus: 404,
        schema: Type.Object({ id: Type.String() }),
      },
      { code: "ROTTEN", description: "It is no good", schema: Type.Unknown() },
    ],
  }),
  operation({ namespace: "docs", name: "bytes", outputSchema: Type.Uint8Array() }),
  operation({ namespace: "docs", name: "nothing", outputSchema: Type.Void() }),
  operation({ namespace: "docs", name: "dates", outputSchema: Type.Object({ at: Type.Date() }) }),
  operation({ namespace: "docs", name: "hidden", visibility: "internal" }),
  subscription({ namespace: "docs", name: "events", outputSchema: Type.Object({ n: Type.Number() }) }),
];

describe("toOpenAPI", () => {
  for (const version of ["3.1", "3.2"]) {
    it(`toOpenAPI writes ${version} that validators accept`, async () => {
      const document = toOpenAPI(registryOf(...everything()), INFO, {
        version,
        servers: [{ url: "https://api.alkdev.test/api" }],
      });
      assert.match(document.openapi, new RegExp(`^${version.replace(".", "\\.")}\\.`));
      const { valid, errors } = await new Validator().validate(structuredClone(document));
      assert.ok(valid, JSON.stringify(errors, null, 2));
      await lint(document);
    });
  }

  it("toOpenAPI describes every operation but the internal ones", () => {
    const document = toOpenAPI(registryOf(...everything()), INFO);
    assert.deepEqual(Object.keys(document.paths), [
      "/docs/search",
      "/docs/tree%2Fof%20it",
      "/docs/bytes",
      "/docs/nothing",
      "/docs/dates",
      "/docs/events",
    ]);
    assert.deepEqual(document.info, INFO);
    assert.deepEqual(document.servers, [{ url: "/api" }]);
    const { get } = document.paths["/docs/search"];
    assert.deepEqual(
      get.parameters.map(({ name, in: where, required }) => [name, where, required]),
      [
        ["text", "query", true],
        ["limit", "query", false],
        ["exact", "query", false],
        ["order", "query", false],
      ],
    );
    assert.deepEqual(get.security, []);
    const { post } = document.paths["/docs/tree%2Fof%20it"];
    assert.equal(post.operationId, "docs.tree_of_it");
    assert.equal(post.summary, "Plant a tree");
    assert.deepEqual(post.security, [{ bearer: [] }]);
    assert.ok("404" in post.responses && "500" in post.responses);
    const text = JSON.stringify(document);
    assert.ok(!text.includes('"trees"]'.replace("]", ",")), "rules are nobody's business");
    assert.deepEqual(document.paths["/docs/dates"].post.responses[200].content["application/json"].schema, {
      type: "object",
      required: ["at"],
      properties: { at: {} },
    });
  });

  it("toOpenAPI omits what a caller may not call, or what is not served", () => {
    const registry = registryOf(...everything());
    const pathsFor = (options) => Object.keys(toOpenAPI(registry, INFO, options).paths);
    assert.ok(!pathsFor({ identity: { id: "ada", scopes: [] } }).includes("/docs/tree%2Fof%20it"));
    assert.ok(pathsFor({ identity: { id: "ada", scopes: ["trees"] } }).includes("/docs/tree%2Fof%20it"));
    assert.deepEqual(pathsFor({ operations: ({ name }) => name === "search" }), ["/docs/search"]);
  });

  it("toOpenAPI says what is wrong with its options", () => {
    const registry = registryOf(search);
    for (const [args, message] of [
      [[{}, INFO], "toOpenAPI: registry must be an OperationRegistry, not an object"],
      [[registry], "toOpenAPI: info must be an object, not undefined"],
      [[registry, { title: "x" }], "toOpenAPI: info.version must be a string, not undefined"],
      [[registry, INFO, { version: "3.0" }], 'toOpenAPI: version must be "3.1" or "3.2", not "3.0"'],
      [
        [registry, INFO, { identity: {} }],
        "toOpenAPI: identity must be an identity: { id, scopes, resources? }",
      ],
    ]) {
      assert.throws(() => toOpenAPI(...args), { code: "VALIDATION_ERROR", message });
    }
  });
});

describe("GET openapi.json", () => {
  it("GET openapi.json is the document for its caller", async () => {
    const { url, registry } = await serving(everything(), {
      doors: { http: { path: "/v1", info: INFO } },
      tokens: { secret: { id: "ada", scopes: ["trees"] } },
      anonymous: true,
    });
    const get = async (headers) => (await fetch(`${url}/v1/openapi.json`, { headers })).json();
    const servers = [{ url: "/v1" }];
    const ada = await get({ authorization: "Bearer secret" });
    assert.deepEqual(ada, toOpenAPI(registry, INFO, { servers }));
    const nobody = await get();
    assert.ok(!("/docs/tree%2Fof%20it" in nobody.paths));
    assert.ok(!("securitySchemes" in nobody.components));
    registry.register(operation({ namespace: "docs", name: "late" }));
    assert.ok("/docs/late" in (await get()).paths);
  });

  it("GET openapi.json follows rules that are replaced or added", async () => {
    const changing = operation({
      namespace: "docs",
      name: "changing",
      accessControl: { requiredScopes: ["a"] },
    });
    const { url, registry } = await serving([changing]);
    const isShown = async () =>
      "/docs/changing" in (await (await fetch(`${url}/api/openapi.json`)).json()).paths;
    assert.equal(await isShown(), false);
    registry.register({ ...changing, accessControl: { requiredScopes: [] } });
    assert.equal(await isShown(), true);
    registry.protect("docs.*", { requiredScopes: ["a"] });
    assert.equal(await isShown(), false);
  });

  it("GET openapi.json has nothing that is not served", async () => {
    const { url } = await serving(everything(), { operations: ({ name }) => name !== "search" });
    const { paths } = await (await fetch(`${url}/api/openapi.json`)).json();
    assert.ok(!("/docs/search" in paths));
    assert.equal((await fetch(`${url}/api/docs/search?text=a`)).status, 404);
  });
});

/** Has redocly look at a document. */
async function lint(document) {
  const folder = await mkdtemp(join(tmpdir(), "openapi-"));
  try {
    const file = join(folder, "openapi.json");
    await writeFile(file, JSON.stringify(document));
    const cli = fileURLToPath(new URL("../../node_modules/@redocly/cli/bin/cli.js", import.meta.url));
    const env = {
      ...process.env,
      REDOCLY_TELEMETRY: "off",
      REDOCLY_SUPPRESS_UPDATE_NOTICE: "true",
      CI: "true",
    };
    const child = spawn(process.execPath, [cli, "lint", file, "--format=json"], { env, cwd: folder });
    let said = "";
    child.stdout.on("data", (data) => {
      said += data;
    });
    child.stderr.on("data", () => {});
    const code = await new Promise((resolve) => child.on("close", resolve));
    assert.equal(code, 0, said);
    const { totals } = JSON.parse(said.slice(said.indexOf("{")));
    assert.equal(totals.errors, 0);
  } finally {
    await rm(folder, { recursive: true });
  }
}
