// With `trustDirectCalls`, a handler that serves a caller makes calls for that caller: they are never trusted, whatever context
// it passes (docs/decisions/0030-origin-of-a-call.md).

import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { buildCallHandler, OperationRegistry, PendingRequestMap, subscribe } from "@alkdev/operations";
import { serve } from "@alkdev/operations/serve";
import { toTools } from "@alkdev/operations/tools";
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
  "a context made anew": () => ({}),
  "a context made anew for the same caller": ({ identity, requestId }) => ({ identity, requestId }),
  "no context": () => undefined,
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

describe("a call from outside is tracked by what runs for it", () => {
  const DENIED = { code: "ACCESS_DENIED" };

  it("a served handler is not trusted with a context made anew after it has waited", async () => {
    const { registry, callMap, given } = secrets();
    registry.register(
      operation("query", "open", async () => {
        await sleep(1);
        await new Promise((resolve) => setImmediate(resolve));
        return registry.execute("t.secret", {}, {});
      }),
    );
    await assert.rejects(callMap.call("t.open", {}), DENIED);
    assert.deepEqual(given, []);
  });

  it("what a served call does when it is aborted is not trusted", async () => {
    const { registry, callMap, given } = secrets();
    const cleaned = new Promise((resolve) => {
      registry.register(
        operation("query", "open", (_, { signal }) => {
          signal.addEventListener("abort", () => resolve(registry.execute("t.secret", {})));
          return new Promise(() => {});
        }),
      );
    });
    const refused = assert.rejects(cleaned, DENIED);
    const call = callMap.call("t.open", {}, { deadline: Date.now() + 200 });
    await assert.rejects(call, { code: "TIMEOUT" });
    await refused;
    assert.deepEqual(given, []);
  });

  it("getters of a result that is sent are not trusted", async () => {
    const { registry } = secrets();
    let seen;
    registry.register(
      operation("query", "open", () => ({
        toJSON: () => {
          seen ??= registry.execute("t.secret", {}).then(
            () => "trusted",
            ({ code }) => code,
          );
          return 1;
        },
      })),
    );
    const { url, close } = await serve(registry, { port: 0, doors: { http: true } });
    await fetch(`${url}/api/t/open`, {
      method: "POST",
      body: "{}",
      headers: { "content-type": "application/json" },
    });
    assert.equal(await seen, "ACCESS_DENIED");
    await close();
  });

  it("a served subscription is not trusted with a context made anew, at its later events and when it ends", async () => {
    const { registry, callMap, given } = secrets();
    const outcomes = [];
    const attempt = () =>
      registry.execute("t.secret", {}, {}).then(
        () => outcomes.push("given"),
        ({ code }) => outcomes.push(code),
      );
    const ended = Promise.withResolvers?.() ?? {};
    ended.promise ??= new Promise((resolve) => Object.assign(ended, { resolve }));
    registry.register(
      operation("subscription", "open", async function* () {
        try {
          yield await attempt();
          yield await attempt();
          yield await attempt();
        } finally {
          await attempt();
          ended.resolve();
        }
      }),
    );
    const events = callMap.subscribe("t.open", {});
    await events.next();
    await events.next();
    await events.return();
    await ended.promise;
    assert.ok(outcomes.length >= 3, `${outcomes}`);
    assert.deepEqual([...new Set(outcomes)], ["ACCESS_DENIED"]);
    assert.deepEqual(given, []);
  });

  it("a handler that serves a registry without trustDirectCalls is not trusted by one that has it", async () => {
    const { registry: trusting, given } = secrets();
    const registry = new OperationRegistry();
    registry.register(operation("query", "open", () => trusting.execute("t.secret", {}, {})));
    const callMap = new PendingRequestMap();
    callMap["call.requested"].subscribe(buildCallHandler({ registry, callMap }));
    await assert.rejects(callMap.call("t.open", {}), DENIED);
    assert.deepEqual(given, []);
  });

  it("a handler that a model calls is not trusted with a context made anew", async () => {
    const { registry, given } = secrets();
    registry.register(operation("query", "open", () => registry.execute("t.secret", {}, {})));
    const result = await toTools(registry, { target: "anthropic" }).call("t_open", {});
    assert.match(JSON.stringify(result), /ACCESS_DENIED|requires/);
    assert.deepEqual(given, []);
  });

  it("a custom rule is not trusted with a context made anew while it decides about a served call", async () => {
    const registry = new OperationRegistry({
      trustDirectCalls: true,
      customAuth: { rule: () => registry.execute("t.secret", {}, {}).then(() => true) },
    });
    const rules = { accessControl: { requiredScopes: [], customAuth: "rule" } };
    registry.registerAll([
      operation("query", "secret", () => 1, ADMIN),
      operation("query", "ruled", () => 2, rules),
    ]);
    const callMap = new PendingRequestMap();
    callMap["call.requested"].subscribe(buildCallHandler({ registry, callMap }));
    await assert.rejects(callMap.call("t.ruled", {}), DENIED);
  });

  it("a program's own calls stay trusted while calls are served, and after they were", async () => {
    const { registry, callMap, given } = secrets();
    let release;
    const released = new Promise((resolve) => {
      release = resolve;
    });
    registry.register(operation("query", "open", () => released));
    const served = callMap.call("t.open", {});
    await registry.execute("t.secret", {}, {});
    release(1);
    await served;
    await registry.execute("t.secret", {}, {});
    await registry.subscribe("t.secrets", {}, {}).next();
    assert.deepEqual(given, ["secret", "secret", "secrets"]);
  });

  it("a served handler is trusted where the program says so", async () => {
    const { registry, callMap, given } = secrets();
    registry.register(operation("query", "open", () => registry.execute("t.secret", {}, { trusted: true })));
    await callMap.call("t.open", {});
    assert.deepEqual(given, ["secret"]);
  });
});

describe("a handler that serves a caller", () => {
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
