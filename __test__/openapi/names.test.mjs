// What an operation is called, and which operations there are.

import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { FromOpenAPI } from "@alkdev/operations";
import { documentOf, fromPaths, inspect, namesOf } from "./support/documents.mjs";

describe("the name of an operation", () => {
  const cases = [
    ["its operationId", "/pets", { operationId: "listPets" }, "listPets"],
    ["method and path without one", "/pets/mine", {}, "get_pets_mine"],
    ["without the parameters", "/pets/{id}/toys/{toy}", {}, "get_pets_toys"],
    ["root for /", "/", {}, "get_root"],
    ["root when only parameters are left", "/{id}", {}, "get_root"],
    ["an id that is blank is none", "/pets", { operationId: " " }, "get_pets"],
    ["ids are kept as they are", "/x", { operationId: "repos/list-for.org" }, "repos/list-for.org"],
  ];
  for (const [what, path, operation, name] of cases) {
    it(`the name of an operation is ${what}`, () =>
      assert.deepEqual(namesOf(fromPaths({ [path]: { get: operation } })), [name]));
  }

  it("the name of an operation is followed by method and path when it is taken", () => {
    const same = { operationId: "x" };
    const operations = fromPaths({
      "/a": { get: same, put: same },
      "/b/{id}": { get: same },
      "/b/{key}": { get: same },
    });
    assert.deepEqual(namesOf(operations), ["x", "x_put_a", "x_get_b", "x_get_b_key"]);
  });

  it("config.name can rename an operation", () => {
    const seen = [];
    const operations = fromPaths(
      {
        "/pets": {
          get: { operationId: "listPets", tags: ["pets"], summary: "All" },
          post: { deprecated: true },
        },
      },
      {
        name(operation) {
          seen.push(operation);
          return operation.method === "GET" ? "pets.list" : undefined;
        },
      },
    );
    assert.deepEqual(namesOf(operations), ["pets.list", "post_pets"]);
    assert.deepEqual(seen, [
      {
        name: "listPets",
        operationId: "listPets",
        method: "GET",
        path: "/pets",
        tags: ["pets"],
        summary: "All",
        deprecated: false,
      },
      { name: "post_pets", method: "POST", path: "/pets", tags: [], deprecated: true },
    ]);
  });

  it("two operations that config.name renames alike both survive", () => {
    const paths = { "/a": { get: {} }, "/b": { get: {} } };
    assert.deepEqual(namesOf(fromPaths(paths, { name: () => "same" })), ["same", "same_get_b"]);
  });

  it("names fit into maxNameLength, differ from each other, and are the same each time", () => {
    const long = "n".repeat(100);
    const paths = { "/a": { get: { operationId: `${long}1` }, put: { operationId: `${long}2` } } };
    const names = namesOf(fromPaths(paths, { maxNameLength: 64 }));
    assert.equal(new Set(names).size, 2);
    for (const name of names) assert.equal(name.length, 64);
    assert.deepEqual(names, namesOf(fromPaths(paths, { maxNameLength: 64 })));
    assert.equal(namesOf(fromPaths(paths))[0].length, 101);
  });

  it("config.name must return a name", () => {
    for (const answer of ["", 5, {}, Promise.resolve("x")]) {
      assert.throws(() => fromPaths({ "/a": { get: {} } }, { name: () => answer }), {
        code: "VALIDATION_ERROR",
        message: /^config\.name must return .* GET \/a$/,
      });
    }
  });

  it("what config.name throws reaches the caller as it is", () => {
    const mine = new Error("mine");
    const config = {
      name() {
        throw mine;
      },
    };
    assert.throws(
      () => fromPaths({ "/a": { get: {} } }, config),
      (error) => error === mine,
    );
  });
});

describe("which operations are imported", () => {
  const paths = {
    "/pets": {
      get: { operationId: "list", tags: ["pets"] },
      post: { operationId: "add", tags: ["pets", "write"] },
    },
    "/pets/{id}": {
      get: { operationId: "one" },
      delete: { operationId: "drop" },
      head: { operationId: "peek" },
    },
    "/admin/users/{id}": { get: { operationId: "user", tags: ["admin"] }, options: { operationId: "opt" } },
    "/admin": { get: { operationId: "admin" }, trace: { operationId: "tr" } },
  };
  const cases = [
    ["five methods", {}, ["list", "add", "one", "drop", "user", "admin"]],
    ["the methods that are asked for", { methods: ["HEAD", "options", "trace"] }, ["peek", "opt", "tr"]],
    ["by id", { include: ["one", "user"] }, ["one", "user"]],
    ["by a single id", { include: "one" }, ["one"]],
    ["by tag", { include: "pets" }, ["list", "add"]],
    ["by tag, without another", { include: ["pets"], exclude: ["write"] }, ["list"]],
    ["by path", { include: ["/pets"] }, ["list", "add"]],
    ["by path pattern, one step", { include: ["/admin/*"] }, []],
    ["by path pattern, any steps", { include: ["/admin/**"] }, ["user"]],
    ["by method and path", { include: ["GET /pets/*", "delete /**"] }, ["one", "drop"]],
    ["not by path", { exclude: ["/admin**"] }, ["list", "add", "one", "drop"]],
    ["by a function", { include: ({ method }) => method === "POST" }, ["add"]],
    [
      "by functions and words together",
      { include: ["one", ({ path }) => path === "/admin"] },
      ["one", "admin"],
    ],
    ["not by a function", { exclude: ({ tags }) => tags.length > 0 }, ["one", "drop", "admin"]],
    ["an empty list wants nothing", { include: [] }, []],
  ];
  for (const [what, config, names] of cases) {
    it(`operations are imported: ${what}`, () => assert.deepEqual(namesOf(fromPaths(paths, config)), names));
  }

  it("operations that are left out are in the report, and change no other name", () => {
    const same = { operationId: "same" };
    const { operations, report } = inspect(
      { paths: { "/a": { get: same }, "/b": { get: same } } },
      { exclude: "/a" },
    );
    assert.deepEqual(namesOf(operations), ["same_get_b"]);
    assert.deepEqual(report[0], {
      status: "skipped",
      name: "same",
      method: "GET",
      path: "/a",
      pointer: "/paths/~1a/get",
      problems: [{ code: "filtered", reason: "exclude names it", pointer: "/paths/~1a/get" }],
    });
  });

  it("a filter that returns a promise is refused", () => {
    for (const field of ["include", "exclude", "preferJson"]) {
      assert.throws(() => fromPaths(paths, { [field]: async () => false }), {
        code: "VALIDATION_ERROR",
        message: new RegExp(`^config\\.${field} must return a boolean`),
      });
    }
  });

  it("OpenAPI 3.2's own methods are imported when they are requested", () => {
    const document = documentOf({
      openapi: "3.2.0",
      paths: {
        "/files": { query: { operationId: "q" }, additionalOperations: { COPY: { operationId: "c" } } },
      },
    });
    assert.deepEqual(FromOpenAPI(document, { namespace: "t" }), []);
    const operations = FromOpenAPI(document, { namespace: "t", methods: ["query", "COPY"] });
    assert.deepEqual(
      operations.map(({ name, type, _meta }) => [name, type, _meta.method]),
      [
        ["q", "mutation", "QUERY"],
        ["c", "mutation", "COPY"],
      ],
    );
  });
});
