// With `trustDirectCalls`, a handler that serves a caller makes calls for that caller: its context is never trusted.

import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { buildCallHandler, OperationRegistry, PendingRequestMap, subscribe } from "@alkdev/operations";
import { Type } from "@sinclair/typebox";

const operation = (type, name, handler, extra = {}) => ({
  namespace: "t",
  name,
  version: "1.0.0",
  type,
  description: name,
  inputSchema: Type.Unknown(),
  outputSchema: Type.Unknown(),
  accessControl: { requiredScopes: [] },
  handler,
  ...extra,
});
const ADMIN = { accessControl: { requiredScopes: ["admin"] } };

/** What a handler may do to its context before it passes it on. */
const COPIES = {
  itself: (context) => context,
  spread: (context) => ({ ...context }),
  "a copy with more in it": (context) => ({ ...context, requestId: "mine", metadata: {} }),
  "a copy without some of it": ({ env: _, signal: __, requestId: ___, ...rest }) => rest,
  "Object.assign": (context) => Object.assign({}, context),
  "a proxy": (context) => new Proxy(context, {}),
  "a proxy that shows the declared fields only": (context) =>
    new Proxy(context, { get: (from, name) => (typeof name === "string" ? from[name] : undefined) }),
  "a frozen copy": (context) => Object.freeze({ ...context }),
  "an object that inherits from it": (context) => Object.create(context),
  "a copy of its entries": (context) => Object.fromEntries(Object.entries(context)),
  "a copy of its descriptors": (context) => Object.create(null, Object.getOwnPropertyDescriptors(context)),
  "a copy of a frozen proxy": (context) => ({ ...new Proxy(Object.freeze({ ...context }), {}) }),
};

/** How a handler may reach what needs admin. */
const CALLS = {
  execute: (registry, context) => registry.execute("t.secret", {}, context),
  subscribe: (registry, context) => registry.subscribe("t.secrets", {}, context).next(),
  "the function subscribe": (registry, context) => subscribe(registry, "t.secrets", {}, context).next(),
};

function secrets() {
  const registry = new OperationRegistry({ trustDirectCalls: true });
  const given = [];
  registry.registerAll([
    operation("query", "secret", () => given.push("secret"), ADMIN),
    operation(
      "subscription",
      "secrets",
      async function* () {
        yield given.push("secrets");
      },
      ADMIN,
    ),
  ]);
  const callMap = new PendingRequestMap();
  callMap["call.requested"].subscribe(buildCallHandler({ registry, callMap }));
  return { registry, callMap, given };
}

/** Every way of passing a context on, from within one kind of handler. */
function cases(what, start) {
  for (const [how, copy] of Object.entries(COPIES)) {
    for (const [way, call] of Object.entries(CALLS)) {
      it(`${what} is not trusted with its context, passed as ${how} to ${way}`, async () => {
        const { registry, callMap, given } = secrets();
        await assert.rejects(
          start(registry, callMap, (context) => call(registry, copy(context))),
          { code: "ACCESS_DENIED" },
        );
        assert.deepEqual(given, []);
      });
    }
  }
}

describe("a served query is not trusted with its own context", () => {
  cases("a served query", (registry, callMap, pass) => {
    registry.register(operation("query", "open", (_, context) => pass(context)));
    return callMap.call("t.open", {});
  });
});

describe("nor is a served mutation that has a deadline", () => {
  cases("a served mutation that has a deadline", (registry, callMap, pass) => {
    registry.register(operation("mutation", "open", (_, context) => pass(context)));
    return callMap.call("t.open", {}, { deadline: Date.now() + 60_000 });
  });
});

describe("nor is a served subscription", () => {
  cases("a served subscription", (registry, callMap, pass) => {
    registry.register(
      operation("subscription", "open", async function* (_, context) {
        yield await pass(context);
      }),
    );
    return callMap.subscribe("t.open", {}).next();
  });
});

describe("nor is middleware", () => {
  cases("middleware of a served call", (registry, callMap, pass) => {
    registry.register(operation("query", "open", () => 1));
    registry.use((call, next) =>
      call.operationId === "t.open" ? pass(call.context).then(() => next()) : next(),
    );
    return callMap.call("t.open", {});
  });
});

describe("nor is a handler whose context a middleware has made", () => {
  for (const [what, made] of Object.entries({
    "with nothing of the old one but env": ({ env }) => ({ env }),
    "with nothing of the old one but env, frozen": ({ env }) => Object.freeze({ env }),
    "as a copy, frozen": (context) => Object.freeze({ ...context, mine: true }),
    "and marked as trusted": (context) => ({ ...context, trusted: true }),
  })) {
    describe(what, () => {
      cases(`a handler whose context middleware made ${what}`, (registry, callMap, pass) => {
        registry.register(operation("query", "open", (_, context) => pass(context)));
        registry.use((call, next) =>
          call.operationId === "t.open" ? next({ context: made(call.context) }) : next(),
        );
        return callMap.call("t.open", {});
      });
    });
  }
});

describe("a context that a middleware made from nothing", () => {
  for (const made of [() => ({}), () => Object.freeze({}), () => new Proxy(Object.freeze({}), {})]) {
    for (const how of ["itself", "spread", "a frozen copy"]) {
      it(`a context that middleware made from nothing is not trusted: ${made}, ${how}`, async () => {
        const { registry, callMap } = secrets();
        const pass = (_, context) => registry.execute("t.secret", {}, COPIES[how](context));
        registry.register(operation("query", "open", pass));
        registry.use((call, next) => (call.operationId === "t.open" ? next({ context: made() }) : next()));
        await assert.rejects(callMap.call("t.open", {}), { code: "ACCESS_DENIED" });
      });
    }
  }
});

describe("a handler that serves somebody", () => {
  it("a served handler passes the identity of its caller on with its context", async () => {
    const { registry, callMap } = secrets();
    registry.register(operation("query", "open", (_, context) => registry.execute("t.secret", {}, context)));
    const { data } = await callMap.call("t.open", {}, { identity: { id: "root", scopes: ["admin"] } });
    assert.equal(data, 1);
  });

  it("a served handler reaches internal operations with its context, called or subscribed to", async () => {
    const { registry, callMap } = secrets();
    const internal = { visibility: "internal" };
    registry.registerAll([
      operation("query", "inner", () => "inner", internal),
      operation(
        "subscription",
        "inners",
        async function* () {
          yield "inners";
        },
        internal,
      ),
      operation("query", "open", async (_, context) => {
        const { data } = await registry.execute("t.inner", {}, context);
        const { value } = await registry.subscribe("t.inners", {}, context).next();
        return [data, value.data];
      }),
      operation("subscription", "opens", async function* (_, context) {
        yield (await registry.subscribe("t.inners", {}, context).next()).value.data;
      }),
    ]);
    assert.deepEqual((await callMap.call("t.open", {})).data, ["inner", "inners"]);
    assert.equal((await callMap.subscribe("t.opens", {}).next()).value.data, "inners");
  });

  it("a served handler is trusted through env, with middleware that copies contexts too", async () => {
    const { registry, callMap, given } = secrets();
    registry.register(operation("query", "open", (_, { env }) => env.t.secret({})));
    registry.use((call, next) => next({ context: { ...call.context, mine: true } }));
    await callMap.call("t.open", {});
    assert.deepEqual(given, ["secret"]);
  });
});

describe("a program that calls its own registry", () => {
  it("a program that calls its own registry is trusted with trustDirectCalls, with a context or without", async () => {
    const { registry, given } = secrets();
    for (const context of [undefined, {}, Object.freeze({ identity: { id: "u", scopes: [] } })]) {
      await registry.execute("t.secret", {}, context);
      await registry.subscribe("t.secrets", {}, context).next();
    }
    assert.equal(given.length, 6);
  });

  it("a program's call of its own registry stays trusted when the handler passes its context on", async () => {
    const { registry, given } = secrets();
    registry.register(operation("query", "open", (_, context) => registry.execute("t.secret", {}, context)));
    await registry.execute("t.open", {}, {});
    assert.deepEqual(given, ["secret"]);
  });
});
