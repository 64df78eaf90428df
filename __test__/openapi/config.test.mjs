// A configuration that cannot work is refused by the name of the field, before anything is done.

import assert from "node:assert/strict";
import { afterEach, beforeEach, describe, it } from "node:test";
import {
  FromOpenAPI,
  FromOpenAPIFile,
  FromOpenAPIUrl,
  inspectOpenAPI,
  OpenAPIServiceRegistry,
  OperationRegistry,
} from "@alkdev/operations";
import { configure, reset } from "@logtape/logtape";
import { documentOf } from "./support/documents.mjs";

const document = documentOf({ paths: { "/a": { get: {} } } });

describe("a field that is wrong", () => {
  const cases = [
    ["namespace", undefined],
    ["namespace", ""],
    ["namespace", 5],
    ["baseUrl", "/relative"],
    ["baseUrl", "ftp://example.com"],
    ["baseUrl", 5],
    ["headers", ["a"]],
    ["headers", "a: b"],
    ["headers", { "bad name": "x" }],
    ["headers", { "X-A": 5 }, 'config.headers["X-A"]'],
    ["auth", "token"],
    ["auth", {}, "config.auth.type"],
    ["auth", { type: "digest" }, "config.auth.type"],
    ["auth", { type: "bearer", token: 5 }, "config.auth.token"],
    ["auth", { type: "apiKey", token: "x", headerName: "a b" }, "config.auth.headerName"],
    ["timeout", -1],
    ["timeout", Number.NaN],
    ["timeout", "5s"],
    ["fetch", {}],
    ["retry", -1],
    ["retry", 1.5],
    ["retry", true],
    ["retry", { retries: "3" }, "config.retry.retries"],
    ["retry", { retries: 1, delay: 0 }, "config.retry.delay"],
    ["sse", true],
    ["sse", { reconnect: "yes" }, "config.sse.reconnect"],
    ["sse", { maxEventBytes: 0 }, "config.sse.maxEventBytes"],
    ["maxResponseBytes", 0.5],
    ["ca", 5],
    ["output", "normalized"],
    ["include", 5],
    ["include", [/a/]],
    ["exclude", [null]],
    ["methods", "get"],
    ["methods", ["get it"]],
    ["name", "x"],
    ["maxNameLength", 15],
    ["maxNameLength", 64.5],
    ["preferJson", "yes"],
    ["documentHeaders", 5],
    ["maxDocumentBytes", -1],
    ["allowOutsideFolder", "yes"],
  ];
  for (const [field, value, named = `config.${field}`] of cases) {
    it(`a wrong config.${field} is refused by name: ${JSON.stringify(value) ?? String(value)}`, () => {
      assert.throws(
        () => FromOpenAPI(document, { namespace: "t", [field]: value }),
        (error) => {
          assert.equal(error.code, "VALIDATION_ERROR");
          assert.ok(error.message.startsWith(named), error.message);
          assert.equal(error.details.field, named);
          return true;
        },
      );
    });
  }

  it("a configuration that is no object is refused", () => {
    for (const config of [undefined, null, "x", 5]) {
      assert.throws(() => FromOpenAPI(document, config), {
        code: "VALIDATION_ERROR",
        message: /^config must be an object/,
      });
    }
  });

  it("a wrong field is refused by every entry point", async () => {
    const bad = { namespace: "t", timeout: -1 };
    const expected = { code: "VALIDATION_ERROR", message: /^config\.timeout/ };
    const registry = new OpenAPIServiceRegistry();
    assert.throws(() => inspectOpenAPI(document, bad), expected);
    assert.throws(() => registry.add("x", document, bad), expected);
    await assert.rejects(FromOpenAPIFile("nowhere.json", bad), expected);
    await assert.rejects(FromOpenAPIUrl("http://localhost:1/", bad), expected);
    await assert.rejects(registry.addFromFile("x", "nowhere.json", bad), expected);
    await assert.rejects(registry.addFromUrl("x", "http://localhost:1/", bad), expected);
    assert.equal(registry.size, 0);
  });

  it("an error about the configuration quotes no secret", () => {
    for (const config of [
      { baseUrl: "htp://user:hunter22@example.com" },
      { auth: { type: "bearer", token: { hunter22: 1 } } },
      { auth: { type: "basic", username: "u", password: ["hunter22"] } },
      { headers: { Authorization: ["hunter22"] } },
    ]) {
      assert.throws(
        () => FromOpenAPI(document, { namespace: "t", ...config }),
        (error) => !`${error.message}${JSON.stringify(error.details)}`.includes("hunter22"),
      );
    }
  });
});

describe("a field that is right", () => {
  const cases = [
    { baseUrl: "HTTPS://example.com/v1" },
    { baseUrl: "http://localhost:8080" },
    { headers: {}, auth: undefined, timeout: undefined },
    { auth: { type: "bearer", token: "t" } },
    { auth: { type: "apiKey", token: "t", headerName: "X-Key", prefix: "Key " } },
    { auth: { type: "basic", username: "u", password: "" } },
    { timeout: 0.5 },
    { timeout: 0 },
    { retry: 0 },
    { retry: { retries: 2, delay: 10, maxDelay: 100 } },
    { sse: { reconnect: true, maxRetries: 0, lastEventId: "", maxEventBytes: 1 } },
    { include: [], methods: ["GET"], maxNameLength: 16, preferJson: false },
  ];
  for (const config of cases) {
    it(`a right configuration is accepted: ${JSON.stringify(config)}`, () =>
      FromOpenAPI(document, { namespace: "t", ...config }));
  }

  it("the configuration is read once: a later change changes nothing", () => {
    let reads = 0;
    const config = {
      get namespace() {
        reads += 1;
        return "t";
      },
    };
    FromOpenAPI(document, config);
    assert.equal(reads, 1);
  });
});

describe("the log", () => {
  let lines;
  beforeEach(async () => {
    lines = [];
    await configure({
      sinks: { list: (record) => lines.push(record) },
      loggers: [
        { category: "operations", sinks: ["list"], lowestLevel: "debug" },
        { category: ["logtape", "meta"], sinks: [] },
      ],
      reset: true,
    });
  });
  afterEach(() => reset());
  const texts = () =>
    lines.map(({ rawMessage, message }) => (typeof rawMessage === "string" ? message.join("") : ""));

  it("the log names unknown fields of the configuration", () => {
    FromOpenAPI(document, { namespace: "t", team: "x", owner: 5 });
    assert.deepEqual(texts(), ["Unknown fields in the configuration: team, owner"]);
  });

  it("the log names entries of include and exclude that the document does not have", () => {
    const get = { operationId: "listPets", tags: ["pets"], responses: { 200: { description: "" } } };
    const pets = { ...document, paths: { "/pets": { get } } };
    const found = FromOpenAPI(pets, {
      namespace: "t",
      include: ["pets", "listPet"],
      exclude: ["owners", "/x/*"],
    });
    assert.equal(found.length, 1);
    assert.deepEqual(texts(), [
      'config.include has "listPet", which is neither an operation nor a tag of the document',
      'config.exclude has "owners", which is neither an operation nor a tag of the document',
    ]);
  });

  it("the log warns about empty credentials", () => {
    FromOpenAPI(document, { namespace: "t", auth: { type: "bearer", token: undefined } });
    assert.equal(texts().length, 1);
    assert.match(texts()[0], /config\.auth has no token/);
  });

  it("the log warns about a credentials function that returns nothing once for each source, not with every call", async () => {
    const auth = () => ({ type: "bearer", token: undefined });
    const fetch = async () => new Response("{}", { headers: { "content-type": "application/json" } });
    for (const namespace of ["t", "u"]) {
      const registry = new OperationRegistry();
      const paths = { "/a": { get: {} }, "/b": { get: {} } };
      const config = { namespace, baseUrl: "http://api.example", auth, fetch };
      registry.registerAll(FromOpenAPI(documentOf({ paths }), config));
      for (const id of registry.list().map(({ name }) => `${namespace}.${name}`)) {
        for (let i = 0; i < 3; i++) await registry.execute(id, {});
      }
    }
    const told = texts().filter((text) => text.includes("has no token"));
    assert.equal(told.length, 2);
    assert.match(told[0], /^config\.auth\(\) has no token/);
  });

  it("the log has each operation that was degraded or skipped, and not those that were filtered", () => {
    const paths = { "/a/{id}": { get: {}, head: {} }, "/b": 5, "/c": { get: {} } };
    FromOpenAPI(documentOf({ paths }), { namespace: "t", exclude: "/c" });
    assert.deepEqual(
      lines.map(({ category, level, properties }) => [category, level, properties.status, properties.path]),
      [
        [["operations", "openapi"], "warning", "degraded", "/a/{id}"],
        [["operations", "openapi"], "warning", "skipped", "/b"],
      ],
    );
    assert.match(
      texts()[0],
      /^GET \/a\/\{id\} \(t\.get_a\) was degraded: .*"id".* at \/paths\/~1a~1\{id\}\/get$/,
    );
    assert.match(texts()[1], /^Path \/b was skipped: the path item is not an object at \/paths\/~1b$/);
  });

  it("the log warns when no operation is left", () => {
    FromOpenAPI(document, { namespace: "t", include: "mispelt" });
    assert.match(
      texts().join("\n"),
      /^config\.include has "mispelt".*\nNone of the 1 operations of t was imported: include, exclude and methods/,
    );
  });

  it("the log does not grow with a document", () => {
    const paths = Object.fromEntries(Array.from({ length: 500 }, (_, index) => [`/${index}`, 5]));
    FromOpenAPI(documentOf({ paths }), { namespace: "t" });
    assert.equal(lines.length, 51);
    assert.match(texts()[50], /^450 more operations of t were degraded or skipped; inspectOpenAPI/);
  });
});
