// Access control with a registry behind it. The rules themselves: ../access.test.mjs and the shared table.

import assert from "node:assert/strict";
import { describe, it } from "node:test";
import {
  buildCallHandler,
  checkAccess,
  enforceAccess,
  OperationRegistry,
  PendingRequestMap,
  subscribe,
} from "@alkdev/operations";
import { createHandler } from "@alkdev/operations/serve";
import { configure, reset } from "@logtape/logtape";
import { callError, operation, registered, rejection } from "./support/operations.mjs";

const identity = (scopes = [], resources = undefined) => ({ identity: { id: "u", scopes, resources } });
const guarded = (accessControl, options, changes = {}) =>
  registered({ accessControl: { requiredScopes: [], ...accessControl }, ...changes }, options);

describe("declared rules", () => {
  it("an operation without requirements is open to everyone", async () => {
    const { execute } = guarded({});
    await execute(1);
    await execute(1, {});
    await execute(1, identity());
    await guarded({ requiredScopesAny: [] }).execute(1);
  });

  it("an operation with requirements is closed to a caller without identity", async () => {
    for (const rules of [
      { requiredScopes: ["a"] },
      { requiredScopesAny: ["a"] },
      { resourceType: "doc", resourceAction: "read" },
    ]) {
      const { execute, id } = guarded(rules);
      for (const context of [undefined, {}, { identity: undefined }, { identity: null }]) {
        await assert.rejects(execute(1, context), callError("ACCESS_DENIED", "identity required", id));
      }
    }
  });

  it("a caller needs all of requiredScopes", async () => {
    const { execute } = guarded({ requiredScopes: ["read", "write"] });
    await assert.rejects(execute(1, identity(["read"])), callError("ACCESS_DENIED", "write"));
    await execute(1, identity(["write", "read", "more"]));
  });

  it("a caller needs one of requiredScopesAny", async () => {
    const { execute } = guarded({ requiredScopesAny: ["read", "write"] });
    await assert.rejects(execute(1, identity(["other"])), callError("ACCESS_DENIED", "read", "write"));
    await execute(1, identity(["write"]));
  });

  it("a resource rule is met when some key of the type lists the action", async () => {
    const { execute } = guarded({ resourceType: "doc", resourceAction: "read" });
    for (const resources of [
      undefined,
      {},
      { "doc:1": ["write"] },
      { docs: ["read"] },
      { "docx:1": ["read"] },
    ]) {
      await assert.rejects(execute(1, identity([], resources)), callError("ACCESS_DENIED", "doc", "read"));
    }
    await execute(1, identity([], { "doc:1": ["write"], "doc:2": ["read"] }));
  });

  it("access rules are replaced by registering again; changing them in place throws, and a new object changes nothing", async () => {
    const closed = { requiredScopes: ["admin"] };
    const rules = { requiredScopes: [], requiredScopesAny: [] };
    const mine = operation({ accessControl: rules });
    const registry = new OperationRegistry();
    registry.register(mine);
    const id = `${mine.namespace}.${mine.name}`;
    for (const seen of [rules, registry.get(id).accessControl, registry.getSpec(id).accessControl]) {
      assert.throws(() => seen.requiredScopes.push("admin"), TypeError);
      assert.throws(() => seen.requiredScopesAny.push("admin"), TypeError);
      assert.throws(() => Object.assign(seen, closed), TypeError);
    }
    for (const copy of [mine, registry.get(id), registry.getSpec(id), registry.list()[0]]) {
      copy.accessControl = closed;
      await registry.execute(id, 1);
    }
    registry.register({ ...mine, accessControl: closed });
    await assert.rejects(registry.execute(id, 1), callError("ACCESS_DENIED"));
  });

  it("access rules are those that were read at registration, whatever a getter returns later", async () => {
    let scopes = ["admin"];
    const registry = new OperationRegistry();
    const mine = operation({
      accessControl: {
        get requiredScopes() {
          return scopes;
        },
      },
    });
    registry.register(mine);
    scopes = [];
    await assert.rejects(registry.execute(`${mine.namespace}.${mine.name}`, 1), callError("ACCESS_DENIED"));
  });

  it("half a resource rule grants nothing", async () => {
    for (const rules of [{ resourceType: "doc" }, { resourceAction: "read" }]) {
      const { execute } = guarded(rules);
      await assert.rejects(
        execute(1, identity([], { "doc:1": ["read"] })),
        callError("ACCESS_DENIED", "together"),
      );
    }
  });

  it("a denial names what was missing, never what the caller holds", async () => {
    const { execute, id } = guarded({ requiredScopes: ["wanted", "held"] });
    const { thrown } = await rejection(execute(1, identity(["held"], { "secret:1": ["x"] })));
    assert.equal(thrown.code, "ACCESS_DENIED");
    assert.equal(thrown.details.operationId, id);
    assert.deepEqual(thrown.details.missingScopes, ["wanted"]);
    assert.ok(!/held|secret/.test(JSON.stringify([thrown.message, thrown.details])));
  });

  it("inherited scopes and resources grant nothing", async () => {
    const scopes = guarded({ requiredScopes: ["admin"] });
    const resources = guarded({ resourceType: "doc", resourceAction: "read" });
    const parent = { id: "u", scopes: ["admin"], resources: { "doc:1": ["read"] } };
    await scopes.execute(1, { identity: parent });
    await resources.execute(1, { identity: parent });
    const child = Object.create(parent);
    await assert.rejects(scopes.execute(1, { identity: child }), callError("ACCESS_DENIED"));
    await assert.rejects(resources.execute(1, { identity: child }), callError("ACCESS_DENIED"));
    const pretending = new Proxy({}, { get: () => ["admin"] });
    await assert.rejects(scopes.execute(1, { identity: pretending }), callError("ACCESS_DENIED"));
    for (const scopesOf of [new Set(["admin"]), "admin", { 0: "admin", length: 1 }, null]) {
      const odd = { identity: { id: "u", scopes: scopesOf } };
      await assert.rejects(scopes.execute(1, odd), callError("ACCESS_DENIED"));
    }
    const inheritedKey = identity([], Object.create({ "doc:1": ["read"] }));
    await assert.rejects(resources.execute(1, inheritedKey), callError("ACCESS_DENIED"));
  });
});

describe("context.trusted", () => {
  it("context.trusted: true skips every access rule, also customAuth", async () => {
    let asked = 0;
    const options = { customAuth: { ask: () => ++asked > 100 } };
    const { execute } = guarded({ requiredScopes: ["admin"], customAuth: "ask" }, options);
    assert.equal((await execute(1, { trusted: true })).data, 1);
    assert.equal(asked, 0);
    await guarded({ customAuth: "nobody" }).execute(1, { trusted: true });
  });

  it("nothing but context.trusted: true makes a call trusted", async () => {
    const { execute } = guarded({ requiredScopes: ["admin"] });
    for (const trusted of [false, 1, "true", {}, null, undefined, Object(true)]) {
      await assert.rejects(execute(1, { trusted }), callError("ACCESS_DENIED"));
    }
  });
});

describe("trustDirectCalls", () => {
  const rules = { requiredScopes: ["admin"], customAuth: "nobody" };

  it("trustDirectCalls lets direct calls and direct subscriptions pass", async () => {
    const { execute } = guarded(rules, { trustDirectCalls: true });
    assert.equal((await execute(1)).data, 1);
    const { registry, id } = guarded(rules, { trustDirectCalls: true }, { type: "subscription" });
    const first = await subscribe(registry, id, ["a"], {}).next();
    assert.equal(first.value.data, "a");
  });

  it("trustDirectCalls does not pretend that the context was trusted", async () => {
    const { execute } = guarded(rules, { trustDirectCalls: true }, { handler: (_, context) => context });
    const context = {};
    assert.equal((await execute(1, context)).data, context);
    assert.deepEqual(context, {});
  });

  it("trustDirectCalls is off by default, and only true turns it on", async () => {
    for (const trustDirectCalls of [undefined, false]) {
      const { execute } = guarded(rules, { trustDirectCalls });
      await assert.rejects(execute(1), callError("ACCESS_DENIED"));
    }
    for (const trustDirectCalls of [1, "yes"]) {
      assert.throws(
        () => guarded(rules, { trustDirectCalls }),
        callError("VALIDATION_ERROR", "true or false"),
      );
    }
  });

  it("trustDirectCalls leaves checkAccess and enforceAccess as strict as they are", () => {
    guarded(rules, { trustDirectCalls: true });
    assert.equal(checkAccess(rules), false);
    assert.throws(() => enforceAccess(rules, undefined, "a.b"), callError("ACCESS_DENIED"));
  });
});

describe("customAuth", () => {
  const withRule = (ask, rules = {}, changes = {}) =>
    guarded({ customAuth: "ask", ...rules }, { customAuth: { ask } }, changes);

  it("customAuth gets identity, operation, input and context", async () => {
    const calls = [];
    const { execute, id } = withRule((...all) => calls.push(all) > 0);
    const context = identity(["a"]);
    const input = {};
    await execute(input, context);
    assert.equal(calls.length, 1);
    const [[who, call, ...rest]] = calls;
    assert.equal(who, context.identity);
    assert.deepEqual(Object.keys(call).sort(), ["context", "input", "operationId"]);
    assert.equal(call.operationId, id);
    assert.equal(call.input, input);
    assert.equal(call.context, context);
    assert.deepEqual(rest, []);
  });

  it("customAuth decides alone where a call has no identity", async () => {
    const { execute } = withRule((who) => who === undefined);
    await execute(1, {});
    await execute(1);
    await assert.rejects(execute(1, identity()), callError("ACCESS_DENIED"));
  });

  it("customAuth runs after the scopes were checked, and only if the caller has them", async () => {
    let asked = 0;
    const { execute } = withRule(() => ++asked > 0, { requiredScopes: ["a"] });
    await assert.rejects(execute(1, identity()), callError("ACCESS_DENIED", "a"));
    await assert.rejects(execute(1), callError("ACCESS_DENIED", "identity required"));
    assert.equal(asked, 0);
    await execute(1, identity(["a"]));
    assert.equal(asked, 1);
  });

  it("customAuth runs for every call", async () => {
    let asked = 0;
    const { execute } = withRule(() => ++asked % 2 === 1);
    await execute(1);
    await assert.rejects(execute(1), callError("ACCESS_DENIED"));
    await execute(1);
  });

  for (const [kind, wrap] of [
    ["sync", (value) => () => value],
    ["async", (value) => async () => value],
  ]) {
    it(`a customAuth rule grants with nothing but true (${kind})`, async () => {
      await withRule(wrap(true)).execute(1);
      for (const answer of [false, undefined, null, 1, "true", {}, [], Object(true)]) {
        let ran = 0;
        const { execute, id } = withRule(wrap(answer), {}, { handler: () => ++ran });
        await assert.rejects(execute(1, identity()), callError("ACCESS_DENIED", id, "ask"));
        assert.equal(ran, 0);
      }
    });
  }

  it("a customAuth rule that throws denies, and what it throws is not shown to the caller", async () => {
    const rules = [
      () => {
        throw new Error("database password hunter2");
      },
      async () => {
        throw new Error("database password hunter2");
      },
      () => Promise.reject("hunter2"),
      () => ({
        // biome-ignore lint/suspicious/noThenProperty: a thenable is what is tested
        get then() {
          throw new Error("hunter2");
        },
      }),
    ];
    for (const rule of rules) {
      const { thrown } = await rejection(withRule(rule).execute(1, identity()));
      assert.ok(callError("ACCESS_DENIED")(thrown));
      assert.ok(!JSON.stringify([thrown.message, thrown.details]).includes("hunter2"));
    }
  });

  it("a customAuth name that is not registered is denied, and the message names it", async () => {
    for (const options of [undefined, {}, { customAuth: {} }, { customAuth: { other: () => true } }]) {
      const { execute, id } = guarded({ customAuth: "nobody" }, options);
      await assert.rejects(
        execute(1, identity(["a"])),
        callError("ACCESS_DENIED", id, "nobody", "not registered"),
      );
    }
  });

  it("a customAuth name that every object inherits is not a registered rule", async () => {
    const names = ["constructor", "toString", "valueOf", "hasOwnProperty", "__proto__", "__defineGetter__"];
    for (const customAuth of names) {
      const { execute } = guarded({ customAuth }, { customAuth: { ask: () => true } });
      await assert.rejects(execute(1), callError("ACCESS_DENIED", customAuth, "not registered"));
    }
  });

  it("customAuth rules that are inherited are not registered", async () => {
    const { execute } = guarded({ customAuth: "ask" }, { customAuth: Object.create({ ask: () => true }) });
    await assert.rejects(execute(1), callError("ACCESS_DENIED", "not registered"));
  });

  it("a customAuth option that is no function is refused, and undefined grants nothing", async () => {
    for (const rule of [true, {}, "ask", null]) {
      assert.throws(
        () => guarded({ customAuth: "ask" }, { customAuth: { ask: rule } }),
        callError("VALIDATION_ERROR", "RegistryOptions.customAuth.ask must be a function"),
      );
    }
    const { execute } = guarded({ customAuth: "ask" }, { customAuth: { ask: undefined } });
    await assert.rejects(execute(1), callError("ACCESS_DENIED", "ask"));
  });

  it("a customAuth rule may have any name", async () => {
    const names = ["__proto__", "constructor"];
    const rule = { value: () => true, enumerable: true };
    const customAuth = Object.defineProperties({}, Object.fromEntries(names.map((name) => [name, rule])));
    assert.deepEqual(Object.keys(customAuth), names);
    for (const name of names) await guarded({ customAuth: name }, { customAuth }).execute(1);
  });

  it("an empty customAuth name that is not registered is denied", async () => {
    await assert.rejects(
      guarded({ customAuth: "" }).execute(1),
      callError("ACCESS_DENIED", "not registered"),
    );
  });

  it("checkAccess and enforceAccess, which have no registry, deny customAuth", () => {
    const rules = { requiredScopes: [], customAuth: "ask" };
    assert.equal(checkAccess(rules, identity().identity), false);
    assert.throws(
      () => enforceAccess(rules, identity().identity, "a.b"),
      callError("ACCESS_DENIED", "a.b", "ask", "not registered"),
    );
  });

  it("changing the customAuth options after construction grants nothing", async () => {
    const options = { customAuth: {}, trustDirectCalls: false };
    const registry = new OperationRegistry(options);
    registry.register(operation({ name: "late", accessControl: { requiredScopes: [], customAuth: "ask" } }));
    options.customAuth.ask = () => true;
    options.trustDirectCalls = true;
    await assert.rejects(registry.execute("test.late", 1), callError("ACCESS_DENIED", "not registered"));
  });

  it("a customAuth rule that never settles does not run the handler", async () => {
    let ran = 0;
    const { execute } = withRule(() => new Promise(() => {}), {}, { handler: () => ++ran });
    const late = new Promise((resolve) => setTimeout(resolve, 20, "waiting"));
    assert.equal(await Promise.race([execute(1), late]), "waiting");
    assert.equal(ran, 0);
  });
});

describe("protect", () => {
  const rules = (requiredScopes, more = {}) => ({ requiredScopes, ...more });
  const files = (name, accessControl = rules([])) => operation({ namespace: "files", name, accessControl });

  it("rules that protect adds must hold as well as those of the operation, also for operations that come later", async () => {
    const registry = new OperationRegistry();
    registry.register(files("write_one", rules(["own"])));
    registry.protect("files.write_*", rules(["write"]));
    registry.registerAll([files("write_two"), files("read")]);
    await registry.execute("files.read", 1);
    await registry.execute("files.write_two", 1, identity(["write"]));
    await registry.execute("files.write_one", 1, identity(["write", "own"]));
    for (const [id, scopes] of [
      ["files.write_one", ["own"]],
      ["files.write_one", ["write"]],
      ["files.write_two", []],
    ]) {
      await assert.rejects(registry.execute(id, 1, identity(scopes)), callError("ACCESS_DENIED"));
    }
  });

  it("a pattern that covers no operation yet is noted in the log, and one that covers some is not", async () => {
    const lines = [];
    await configure({
      sinks: { lines: ({ message }) => lines.push(message.join("")) },
      loggers: [
        { category: "operations", lowestLevel: "debug", sinks: ["lines"] },
        { category: ["logtape", "meta"], sinks: [] },
      ],
    });
    try {
      const registry = new OperationRegistry();
      registry.register(operation({ namespace: "files", name: "write" }));
      registry.protect("files.wirte", rules(["write"]));
      registry.protect("files.*", rules(["write"]));
    } finally {
      await reset();
    }
    assert.deepEqual(lines, ["protect: files.wirte covers no operation yet"]);
  });

  it("serving warns of a pattern that covers no operation, with the id that was meant, and of no pattern that may come to cover some", async () => {
    const lines = [];
    await configure({
      sinks: { lines: ({ message }) => lines.push(message.join("")) },
      loggers: [
        { category: ["operations", "access"], lowestLevel: "warning", sinks: ["lines"] },
        { category: ["logtape", "meta"], sinks: [] },
      ],
    });
    try {
      const registry = new OperationRegistry();
      registry.register(operation({ namespace: "files", name: "write" }));
      for (const pattern of ["files.wirte", "fiels.*", "files.remove_*", "files.*", "spoke.*", "*"]) {
        registry.protect(pattern, rules(["write"]));
      }
      const take = registry.protect("files.wrte", rules(["write"]));
      take();
      buildCallHandler({ registry, callMap: new PendingRequestMap() });
      createHandler(registry, { doors: { http: true } }).close();
    } finally {
      await reset();
    }
    assert.deepEqual(lines, [
      "protect: files.wirte covers no operation, so it protects nothing. Did you mean files.write?",
      "protect: fiels.* covers no operation, so it protects nothing",
      "protect: files.remove_* covers no operation, so it protects nothing",
    ]);
  });

  it("rules that protect added are taken back by the function that it returned, and no others", async () => {
    const registry = new OperationRegistry();
    registry.register(files("write", rules(["own"])));
    const take = registry.protect("files.write", rules(["write"]));
    registry.protect("*", rules([], { requiredScopesAny: ["a", "b"] }));
    take();
    take();
    await registry.execute("files.write", 1, identity(["own", "b"]));
    await assert.rejects(
      registry.execute("files.write", 1, identity(["own"])),
      callError("ACCESS_DENIED", "a, b"),
    );
    await assert.rejects(
      registry.execute("files.write", 1, identity(["b"])),
      callError("ACCESS_DENIED", "own"),
    );
  });

  it("rules of several protections that cannot be merged hold each", async () => {
    const asked = [];
    const named =
      (name) =>
      (_, { input }) =>
        asked.push(`${name} ${input}`) > 0;
    const registry = new OperationRegistry({ customAuth: { one: named("one"), two: named("two") } });
    registry.register(
      files(
        "write",
        rules([], { requiredScopesAny: ["a", "b"], resourceType: "doc", resourceAction: "read" }),
      ),
    );
    registry.protect("files.*", rules([], { requiredScopesAny: ["c", "d"], customAuth: "one" }));
    registry.protect(
      "*.write",
      rules([], { resourceType: "team", resourceAction: "join", customAuth: "two" }),
    );
    const all = { "doc:1": ["read"], "team:1": ["join"] };
    await registry.execute("files.write", 1, identity(["a", "d"], all));
    assert.deepEqual(asked, ["one 1", "two 1"]);
    for (const lacking of [
      identity(["a", "b"], all),
      identity(["c", "d"], all),
      identity(["a", "c"], { "doc:1": ["read"] }),
      identity(["a", "c"], { "team:1": ["join"] }),
    ]) {
      await assert.rejects(registry.execute("files.write", 1, lacking), callError("ACCESS_DENIED"));
    }
    assert.equal(asked.length, 2);
  });

  it("rules that protect added are no part of the spec, so that registering it again does not keep them", async () => {
    const registry = new OperationRegistry();
    registry.register(files("write"));
    const take = registry.protect("files.write", rules(["write"]));
    assert.deepEqual(registry.getSpec("files.write").accessControl, rules([]));
    registry.register(registry.get("files.write"));
    await assert.rejects(registry.execute("files.write", 1), callError("ACCESS_DENIED"));
    take();
    await registry.execute("files.write", 1);
  });

  it("protect takes rules with their inherited fields and their getters", async () => {
    class Rules {
      get requiredScopes() {
        return ["write"];
      }
    }
    for (const given of [Object.create(rules(["write"])), new Rules(), new Proxy(rules(["write"]), {})]) {
      const registry = new OperationRegistry();
      registry.register(files("write"));
      registry.protect("files.write", given);
      await assert.rejects(registry.execute("files.write", 1), callError("ACCESS_DENIED"));
    }
  });

  it("a pattern of protect is matched in linear time, whatever the id", async () => {
    const name = "_".repeat(20_000);
    const registry = new OperationRegistry();
    registry.protect("*_*_*_*_*x", rules(["write"]));
    registry.protect("*_*_*_*_*_", rules(["read"]));
    registry.register(files(name));
    await registry.execute(`files.${name}`, 1, identity(["read"]));
  });

  for (const isAudited of [false, true]) {
    it(`a grant by rules that changed meanwhile is decided again, ${isAudited ? "with" : "without"} audit`, async () => {
      const asked = [];
      const slow = async (_, { operationId }) => asked.push(operationId) > 0;
      const registry = new OperationRegistry({ customAuth: { slow } });
      if (isAudited) registry.audit(() => {});
      const accessControl = rules([], { customAuth: "slow" });
      const handler = async function* () {
        yield 1;
      };
      registry.registerAll([
        files("write", accessControl),
        operation({ namespace: "files", name: "watch", type: "subscription", accessControl, handler }),
      ]);
      const call = registry.execute("files.write", 1);
      const event = registry.subscribe("files.watch", 1).next();
      registry.protect("files.*", rules(["write"]));
      await assert.rejects(call, callError("ACCESS_DENIED"));
      await assert.rejects(event, callError("ACCESS_DENIED"));
      assert.deepEqual(asked, ["files.write", "files.watch"]);
    });
  }

  it("a protected subscription is refused before its handler runs", async () => {
    let ran = false;
    const registry = new OperationRegistry();
    registry.register(
      operation({
        namespace: "files",
        name: "watch",
        type: "subscription",
        async *handler() {
          ran = true;
          yield 1;
        },
      }),
    );
    registry.protect("files.watch", rules(["read"]));
    await assert.rejects(registry.subscribe("files.watch", 1).next(), callError("ACCESS_DENIED"));
    assert.equal(ran, false);
  });

  it("protect refuses what is no pattern and no rule, and says which", () => {
    const registry = new OperationRegistry();
    for (const [pattern, given, message] of [
      ["", rules([]), /pattern/],
      [7, rules([]), /pattern/],
      ["a.b", undefined, /rules/],
      ["a.b", () => rules([]), /rules/],
      ["a.b", { requiredScope: ["a"] }, /requiredScopes/],
      ["a.b", { requiredScopes: "a" }, /requiredScopes/],
    ]) {
      assert.throws(() => registry.protect(pattern, given), { code: "VALIDATION_ERROR", message });
    }
  });
});
