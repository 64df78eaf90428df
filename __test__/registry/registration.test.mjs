// Registering operations, finding them again, and what is refused.

import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { createRegistry, FromSchema, OperationRegistry, OperationType } from "@alkdev/operations";
import { Kind, Type } from "@sinclair/typebox";
import { callError, idOf, operation, subscription } from "./support/operations.mjs";

describe("finding operations", () => {
  const first = operation({ namespace: "books", name: "find", tags: ["a"], _meta: { origin: "here" } });
  const second = operation({ namespace: "books", name: "add", type: OperationType.MUTATION });
  const registry = new OperationRegistry();
  registry.registerAll([first, second]);

  it("get and getByName return spec and handler, equal to what was registered", () => {
    assert.deepEqual(registry.get("books.find"), first);
    assert.deepEqual(registry.getByName("books", "add"), second);
    assert.equal(registry.get("books.find").inputSchema, first.inputSchema);
    assert.equal(registry.get("books.find").handler, first.handler);
  });

  it("a registry keeps spec properties that it does not know", () => {
    const odd = operation({ price: 12, nested: { deep: [1] } });
    const own = new OperationRegistry();
    own.register(odd);
    assert.deepEqual(own.get(idOf(odd)), odd);
  });

  it("getSpec leaves the handler out, getHandler is the handler", () => {
    const { handler, ...spec } = first;
    assert.deepEqual(registry.getSpec("books.find"), spec);
    assert.ok(!("handler" in registry.getSpec("books.find")));
    assert.equal(registry.getHandler("books.find"), handler);
  });

  it("list and getAllSpecs return everything, in the order of registration", () => {
    assert.deepEqual(registry.list(), [first, second]);
    assert.deepEqual(registry.getAllSpecs().map(idOf), ["books.find", "books.add"]);
    assert.ok(registry.getAllSpecs().every((spec) => !("handler" in spec)));
    assert.deepEqual(new OperationRegistry().list(), []);
    assert.deepEqual(new OperationRegistry().getAllSpecs(), []);
  });

  it("get returns undefined for what is not registered, also for names that every object inherits", () => {
    for (const id of ["books.none", "", "books", "constructor", "__proto__", "toString", "books.find "]) {
      assert.equal(registry.get(id), undefined);
      assert.equal(registry.getSpec(id), undefined);
      assert.equal(registry.getHandler(id), undefined);
    }
    assert.equal(registry.getByName("books", "none"), undefined);
  });

  it("changing what was returned, or what was passed, changes nothing in the registry", async () => {
    const passed = operation({ description: "as it was" });
    const own = new OperationRegistry();
    own.register(passed);
    const id = idOf(passed);
    passed.description = "changed";
    own.get(id).handler = () => "other";
    own.getSpec(id).type = "subscription";
    own.list().pop();
    assert.equal(own.getSpec(id).description, "as it was");
    assert.equal((await own.execute(id, 1)).data, 1);
  });

  it("an operation may have any name", async () => {
    const own = new OperationRegistry();
    const names = ["__proto__", "constructor", "toString", "a.b", "ä ö", "\u2028", "x\0y"];
    for (const namespace of names) for (const name of names) own.register(operation({ namespace, name }));
    for (const namespace of names) {
      for (const name of names) {
        assert.equal(own.getByName(namespace, name).name, name);
        assert.equal((await own.execute(`${namespace}.${name}`, 7)).data, 7);
      }
    }
  });
});

describe("registering again", () => {
  it("registering again overwrites spec and handler, and stays at the same position in the list", async () => {
    const registry = new OperationRegistry();
    const old = operation({ inputSchema: Type.String(), handler: () => "old" });
    const other = operation();
    registry.registerAll([old, other]);
    assert.equal((await registry.execute(idOf(old), "text")).data, "old");
    registry.register({ ...old, inputSchema: Type.Number(), handler: () => "new" });
    assert.deepEqual(registry.list().map(idOf), [idOf(old), idOf(other)]);
    assert.equal((await registry.execute(idOf(old), 1)).data, "new");
    await assert.rejects(registry.execute(idOf(old), "text"), callError("VALIDATION_ERROR"));
  });

  it("registering again overwrites the access rules", async () => {
    const registry = new OperationRegistry();
    const open = operation();
    registry.register(open);
    await registry.execute(idOf(open), 1);
    registry.register({ ...open, accessControl: { requiredScopes: ["admin"] } });
    await assert.rejects(registry.execute(idOf(open), 1), callError("ACCESS_DENIED"));
  });

  it("registerSpec for a registered operation keeps its handler and takes the new spec", async () => {
    const registry = new OperationRegistry();
    const { handler, ...spec } = operation({ handler: () => "kept" });
    registry.register({ ...spec, handler });
    registry.registerSpec({ ...spec, description: "new", inputSchema: Type.Number() });
    assert.equal(registry.getSpec(idOf(spec)).description, "new");
    assert.equal(registry.getHandler(idOf(spec)), handler);
    assert.equal((await registry.execute(idOf(spec), 1)).data, "kept");
    await assert.rejects(registry.execute(idOf(spec), "no"), callError("VALIDATION_ERROR"));
  });

  it("a registration that is refused leaves the earlier one as it was", async () => {
    const registry = new OperationRegistry();
    const good = operation({ handler: () => "good" });
    registry.register(good);
    assert.throws(() => registry.register({ ...good, type: "nonsense" }));
    assert.throws(() => registry.register({ ...good, handler: "nonsense" }));
    assert.throws(() => registry.registerSpec({ ...good, accessControl: {} }));
    assert.throws(() => registry.registerHandler(idOf(good), undefined));
    assert.deepEqual(registry.list(), [good]);
    assert.equal((await registry.execute(idOf(good), 1)).data, "good");
  });
});

describe("spec and handler separately", () => {
  it("a spec without a handler can get its handler later", async () => {
    const registry = new OperationRegistry();
    const { handler, ...spec } = operation();
    const id = idOf(spec);
    registry.registerSpec(spec);
    assert.deepEqual(registry.get(id), spec);
    assert.deepEqual(registry.list(), [spec]);
    assert.equal(registry.getHandler(id), undefined);
    await assert.rejects(
      registry.execute(id, 1),
      callError("OPERATION_NOT_FOUND", `No handler registered for operation: ${id}`),
    );
    registry.registerHandler(id, handler);
    assert.deepEqual(registry.get(id), { ...spec, handler });
    assert.equal((await registry.execute(id, 1)).data, 1);
  });

  it("registerHandler without a spec is refused", () => {
    const registry = new OperationRegistry();
    assert.throws(
      () => registry.registerHandler("nobody.knows", () => {}),
      ({ message }) => message === "Cannot register handler for unknown operation: nobody.knows",
    );
    assert.throws(() => registry.registerHandler("constructor", () => {}), /unknown operation: constructor/);
  });

  it("registerHandler replaces the handler before it", async () => {
    const registry = new OperationRegistry();
    const spec = operation({ handler: () => 1 });
    registry.register(spec);
    registry.registerHandler(idOf(spec), () => 2);
    assert.equal((await registry.execute(idOf(spec))).data, 2);
  });
});

describe("registerAll", () => {
  it("registerAll goes in order and stops at the first refusal", () => {
    const registry = new OperationRegistry();
    const [first, bad, last] = [operation(), operation({ version: 3 }), operation()];
    assert.throws(() => registry.registerAll([first, bad, last]), callError("VALIDATION_ERROR", idOf(bad)));
    assert.deepEqual(registry.list(), [first]);
  });

  it("registerAll with one id twice keeps the later operation", () => {
    const registry = new OperationRegistry();
    const spec = operation();
    registry.registerAll([spec, { ...spec, description: "later" }]);
    assert.deepEqual(
      registry.list().map(({ description }) => description),
      ["later"],
    );
  });
});

describe("a malformed spec is refused, with the operation and the field", () => {
  const cases = [
    ["an empty name", { namespace: "shop", name: "" }, "shop", "name"],
    ["an empty namespace", { namespace: "", name: "buy" }, "buy", "namespace"],
    ["a name that is no string", { namespace: "shop", name: Symbol("x") }, "shop", "name"],
    ["an unknown type", { type: "nonsense" }, "shop.buy", "type"],
    ["a type by its constant's name", { type: "QUERY" }, "shop.buy", "type"],
    ["no type", { type: undefined }, "shop.buy", "type"],
    ["a version that is a number", { version: 1 }, "shop.buy", "version"],
    ["no description", { description: undefined }, "shop.buy", "description"],
    ["no access rules", { accessControl: undefined }, "shop.buy", "accessControl"],
    ["no requiredScopes", { accessControl: {} }, "shop.buy", "requiredScopes"],
    [
      "requiredScopes that is a string",
      { accessControl: { requiredScopes: "a" } },
      "shop.buy",
      "requiredScopes",
    ],
    [
      "customAuth that is a function",
      { accessControl: { requiredScopes: [], customAuth: () => true } },
      "shop.buy",
      "customAuth",
    ],
    ["no inputSchema", { inputSchema: undefined }, "shop.buy", "inputSchema"],
    ["no outputSchema", { outputSchema: undefined }, "shop.buy", "outputSchema"],
    ["a null schema", { inputSchema: null }, "shop.buy", "inputSchema"],
    ["a JSON Schema", { inputSchema: { type: "string" } }, "shop.buy", "inputSchema"],
    ["an error without a code", { errorSchemas: [{ description: "x" }] }, "shop.buy", "errorSchemas"],
    ["tags that are a string", { tags: "a" }, "shop.buy", "tags"],
  ];
  for (const [what, changes, id, field] of cases) {
    it(`a spec with ${what} is refused, with the operation and the field`, () => {
      const registry = new OperationRegistry();
      const spec = operation({ namespace: "shop", name: "buy", ...changes });
      assert.throws(() => registry.register(spec), callError("VALIDATION_ERROR", id, field));
      assert.throws(() => registry.registerSpec(spec), callError("VALIDATION_ERROR", id, field));
      assert.deepEqual(registry.list(), []);
    });
  }

  it("a spec with an unknown access rule is refused, with the rule that was meant", () => {
    const registry = new OperationRegistry();
    const refused = (accessControl) => {
      const spec = operation({ namespace: "shop", name: "buy", accessControl });
      assert.throws(() => registry.registerSpec(spec), { code: "VALIDATION_ERROR" });
      try {
        registry.register(spec);
      } catch ({ message }) {
        return message;
      }
    };
    assert.equal(
      refused({ requiredScopes: [], requiredScopeAny: ["admin"] }),
      "Cannot register operation shop.buy: accessControl.requiredScopeAny: is not an access rule. Did you mean requiredScopesAny?",
    );
    assert.match(
      refused({ requiredScope: ["admin"] }),
      /accessControl\.requiredScope: is not an access rule\. Did you mean requiredScopes\?; accessControl\.requiredScopes: /,
    );
    assert.match(
      refused({ requiredScopes: [], roles: ["admin"] }),
      /accessControl\.roles: is not an access rule: there are requiredScopes, requiredScopesAny, /,
    );
    assert.deepEqual(registry.list(), []);
  });

  it("a loop, a bigint or a getter that throws in _meta does not hinder registration", async () => {
    const registry = new OperationRegistry();
    const loop = { size: 10n };
    loop.again = loop;
    const metas = [
      loop,
      { size: 10n },
      {
        toJSON() {
          throw new Error("not me");
        },
      },
    ];
    for (const _meta of metas) {
      const spec = operation({ _meta });
      registry.register(spec);
      assert.equal(registry.getSpec(idOf(spec))._meta, _meta);
      assert.equal((await registry.execute(idOf(spec), 1)).data, 1);
    }
  });

  it("a spec that is no object is refused", () => {
    const registry = new OperationRegistry();
    for (const spec of [undefined, null, 1, "spec", Symbol("spec"), [], () => {}]) {
      assert.throws(() => registry.register(spec), callError("VALIDATION_ERROR", "Cannot register"));
      assert.throws(() => registry.registerSpec(spec), callError("VALIDATION_ERROR", "name"));
    }
  });

  it("a handler that is no function is refused", () => {
    const registry = new OperationRegistry();
    for (const handler of [null, {}, "handler", 1]) {
      const spec = operation({ namespace: "shop", name: "buy", handler });
      assert.throws(() => registry.register(spec), callError("VALIDATION_ERROR", "shop.buy", "function"));
    }
  });

  it("an output mode that does not exist is refused", () => {
    for (const output of ["normalized", "", null, true]) {
      assert.throws(
        () => new OperationRegistry({ output }),
        callError("VALIDATION_ERROR", "RegistryOptions.output", "normalise"),
      );
    }
  });
});

describe("the handler of a SUBSCRIPTION must be an async generator function", () => {
  async function* generator() {}
  const wrong = {
    "an arrow that returns a generator": () => generator(),
    "an async function": async () => generator(),
    "a generator that is not async": function* () {},
    "a plain function": () => generator(),
    "a class": class {},
    "a bound arrow": (() => generator()).bind(null),
  };
  for (const [what, handler] of Object.entries(wrong)) {
    it(`the handler of a SUBSCRIPTION is refused if it is ${what}`, () => {
      const registry = new OperationRegistry();
      const refusal = callError("VALIDATION_ERROR", "feed.ticks", "async generator function");
      const { handler: right, ...spec } = subscription({ namespace: "feed", name: "ticks" });
      assert.throws(() => registry.register({ ...spec, handler }), refusal);
      registry.registerSpec(spec);
      assert.throws(() => registry.registerHandler("feed.ticks", handler), refusal);
      registry.registerHandler("feed.ticks", right);
    });
  }

  it("the handler of a SUBSCRIPTION may be an async generator function in any form", () => {
    const registry = new OperationRegistry();
    class Feed {
      async *method() {}
      static async *fixed() {}
    }
    for (const handler of [generator, new Feed().method, Feed.fixed, generator.bind(null)]) {
      registry.register(subscription({ handler }));
    }
  });

  it("the handler of a SUBSCRIPTION is recognised by Symbol.toStringTag", () => {
    const tagged = Object.assign(() => generator(), { [Symbol.toStringTag]: "AsyncGeneratorFunction" });
    new OperationRegistry().register(subscription({ handler: tagged }));
  });

  it("a new spec cannot turn a plain handler into a subscription", () => {
    const registry = new OperationRegistry();
    const { handler, ...spec } = operation();
    registry.register({ ...spec, handler });
    assert.throws(
      () => registry.registerSpec({ ...spec, type: "subscription" }),
      callError("VALIDATION_ERROR", idOf(spec), "async generator function"),
    );
  });
});

describe("schemas", () => {
  it("deep schemas can be registered", async () => {
    let schema = Type.String();
    for (let i = 0; i < 200; i++) schema = Type.Object({ next: schema });
    const spec = operation({ inputSchema: schema });
    const registry = new OperationRegistry();
    registry.register(spec);
    await assert.rejects(registry.execute(idOf(spec), {}), callError("VALIDATION_ERROR"));
  });

  it("schemas may hold what JSON cannot", async () => {
    const registry = new OperationRegistry();
    const spec = operation({ inputSchema: Type.BigInt({ minimum: 10n }) });
    registry.register(spec);
    assert.equal((await registry.execute(idOf(spec), 10n)).data, 10n);
    await assert.rejects(registry.execute(idOf(spec), 9n), callError("VALIDATION_ERROR"));
  });

  it("schemas too deep for the engine are an error that names the operation", async () => {
    const registry = new OperationRegistry();
    const nested = (levels) => {
      let schema = Type.String();
      for (let i = 0; i < levels; i++) schema = { [Kind]: "Array", type: "array", items: schema };
      return schema;
    };
    const bad = operation({ outputSchema: nested(1000) });
    registry.register(bad);
    await assert.rejects(
      registry.execute(idOf(bad), []),
      callError("VALIDATION_ERROR", idOf(bad), "outputSchema"),
    );
    const worse = operation({ inputSchema: nested(100_000) });
    registry.register(worse);
    await assert.rejects(
      registry.execute(idOf(worse), []),
      callError("VALIDATION_ERROR", idOf(worse), "inputSchema"),
    );
  });

  it("a schema that contains itself is an error that names the operation", async () => {
    const registry = new OperationRegistry();
    const loop = Type.Object({});
    loop.properties.again = loop;
    const spec = operation({ outputSchema: loop });
    registry.register(spec);
    await assert.rejects(
      registry.execute(idOf(spec), 1),
      callError("VALIDATION_ERROR", idOf(spec), "outputSchema", "contains itself"),
    );
  });

  it("a schema that cannot be used is an error of its operation alone, which it names", async () => {
    const registry = new OperationRegistry();
    const broken = FromSchema({ $ref: "https://example.invalid/nowhere.json" });
    const bad = operation({ inputSchema: broken });
    const good = operation();
    registry.registerAll([bad, good]);
    await assert.rejects(
      registry.execute(idOf(bad), 1),
      callError("VALIDATION_ERROR", idOf(bad), "inputSchema"),
    );
    assert.equal((await registry.execute(idOf(good), 1)).data, 1);
  });
});

describe("what a refusal says", () => {
  it("a refusal lists the words that a type may be", () => {
    const registry = new OperationRegistry();
    assert.throws(
      () => registry.register(operation({ namespace: "n", name: "x", type: "QUERY" })),
      callError(
        "VALIDATION_ERROR",
        "n.x",
        'type: Expected "query", "mutation" or "subscription", not "QUERY"',
      ),
    );
    assert.throws(
      () => registry.register(operation({ visibility: "hidden" })),
      callError("VALIDATION_ERROR", 'visibility: Expected "external" or "internal", not "hidden"'),
    );
    assert.throws(
      () => registry.register(operation({ _meta: { output: "strickt" } })),
      callError(
        "VALIDATION_ERROR",
        '_meta.output: Expected "normalise", "normalize", "keep", "off" or "strict", not "strickt"',
      ),
    );
    registry.register(operation({ _meta: { output: "strict", mine: "anything" } }));
  });

  it("a refusal of a plain JSON Schema names FromSchema", () => {
    assert.throws(
      () =>
        new OperationRegistry().register(
          operation({ namespace: "n", name: "x", inputSchema: { type: "object" } }),
        ),
      callError("VALIDATION_ERROR", "n.x", "inputSchema", "expected a TypeBox schema", "FromSchema(schema)"),
    );
  });

  it("a refusal of a double id names both operations", () => {
    const registry = new OperationRegistry();
    registry.register(operation({ namespace: "a.b", name: "c" }));
    assert.throws(
      () => registry.register(operation({ namespace: "a", name: "b.c" })),
      callError(
        "VALIDATION_ERROR",
        '"b.c" in namespace "a"',
        '"c" in namespace "a.b"',
        "its id is a.b.c",
        "Rename one of them",
      ),
    );
    assert.equal(registry.get("a.b.c").namespace, "a.b", "what was there stays");
    registry.register(operation({ namespace: "a.b", name: "c", version: "2.0.0" }));
    assert.equal(registry.get("a.b.c").version, "2.0.0", "the same pair overwrites");
    registry.unregister("a.b.c");
    registry.register(operation({ namespace: "a", name: "b.c" }));
  });
});

describe("createRegistry", () => {
  const greet = operation({ namespace: "demo", name: "greet" });

  it("createRegistry refuses two operations with one id, and names it", () => {
    const other = operation({ namespace: "demo", name: "greet" });
    assert.throws(
      () => createRegistry([greet, operation(), other]),
      callError("VALIDATION_ERROR", "createRegistry: operations", "demo.greet"),
    );
  });

  it("createRegistry takes the same operation twice, as two lists may share one", () => {
    assert.deepEqual(createRegistry([greet, greet]).list(), [greet]);
  });
});
