// `registry.on` and `registry.audit`, the diagnostics channel and the line in the log: for those who only look.

import assert from "node:assert/strict";
import { subscribe as listen, unsubscribe } from "node:diagnostics_channel";
import { afterEach, describe, it } from "node:test";
import {
  buildCallHandler,
  buildEnv,
  CallError,
  mcpEnvelope,
  OperationRegistry,
  PendingRequestMap,
  subscribe,
} from "@alkdev/operations";
import { configure, reset } from "@logtape/logtape";
import { Type } from "@sinclair/typebox";
import { callError, idOf, operation, registered } from "./support/operations.mjs";
import { collect } from "./support/streams.mjs";

/** What a registry tells of an event, in a list. */
function heard(registry, name) {
  const reports = [];
  const stop = registry.on(name, (report) => void reports.push(report));
  return Object.assign(reports, { stop });
}

const ada = { id: "ada", scopes: ["read"] };

describe('on("call")', () => {
  it('on("call") reports outcome, duration, source, kind and caller of a call', async () => {
    const { registry, id, execute } = registered();
    const reports = heard(registry, "call");
    const before = Date.now();
    await execute(1, { requestId: "r-1", parentRequestId: "r-0", identity: ada });
    const [{ startedAt, duration, ...report }] = reports;
    assert.deepEqual(report, {
      operationId: id,
      kind: "call",
      outcome: "ok",
      source: "local",
      requestId: "r-1",
      parentRequestId: "r-0",
      identityId: "ada",
      isServed: false,
      isNative: false,
    });
    assert.ok(startedAt >= before && startedAt <= Date.now());
    assert.ok(duration >= 0);
  });

  it('on("call") reports failures by their codes, with the error that the caller got', async () => {
    const failure = new CallError("NO_SUCH_PET", "gone");
    const { registry, id } = registered({
      inputSchema: Type.Number(),
      errorSchemas: [{ code: "DECLARED" }],
      handler: (input) => {
        if (input === 1) throw failure;
        throw new Error(input === 2 ? "DECLARED: so" : "else");
      },
    });
    const reports = heard(registry, "call");
    for (const input of ["x", 1, 2, 3]) await registry.execute(id, input).catch(() => {});
    await registry.execute("no.such", {}).catch(() => {});
    assert.deepEqual(
      reports.map(({ operationId, outcome, code }) => [operationId, outcome, code]),
      [
        [id, "error", "VALIDATION_ERROR"],
        [id, "error", "NO_SUCH_PET"],
        [id, "error", "DECLARED"],
        [id, "error", "EXECUTION_ERROR"],
        ["no.such", "error", "OPERATION_NOT_FOUND"],
      ],
    );
    assert.equal(reports[1].error, failure);
  });

  it('on("call") counts an MCP result with isError as an error', async () => {
    const { registry, execute } = registered({
      handler: () => mcpEnvelope([], { isError: true, content: [] }),
    });
    const reports = heard(registry, "call");
    assert.equal((await execute()).meta.isError, true);
    assert.deepEqual(
      [reports[0].outcome, reports[0].code, reports[0].source],
      ["error", "TOOL_ERROR", "mcp"],
    );
  });

  it('on("call") reports a subscription once, when it has ended in any way, with the number of events', async () => {
    const { registry, id } = registered({
      type: "subscription",
      handler: async function* (input) {
        yield 1;
        yield 2;
        if (input === "fail") throw new CallError("BROKEN", "broken");
      },
    });
    const reports = heard(registry, "call");
    await collect(subscribe(registry, id, ""));
    await collect(subscribe(registry, id, "fail")).catch(() => {});
    for await (const _ of subscribe(registry, id, "")) break;
    await collect(subscribe(registry, "no.such", "")).catch(() => {});
    assert.deepEqual(
      reports.map(({ kind, outcome, code, events, source }) => [kind, outcome, code, events, source]),
      [
        ["subscription", "ok", undefined, 2, "local"],
        ["subscription", "error", "BROKEN", 2, undefined],
        ["subscription", "ok", undefined, 1, "local"],
        ["subscription", "error", "OPERATION_NOT_FOUND", 0, undefined],
      ],
    );
  });

  it('on("call") reports served calls, and those that middleware ends', async () => {
    const { registry, id } = registered();
    registry.use(async (_, next) => next());
    const reports = heard(registry, "call");
    const callMap = new PendingRequestMap();
    callMap["call.requested"].subscribe(buildCallHandler({ registry, callMap }));
    await callMap.call(id, 1, { identity: ada });
    assert.equal(reports.length, 1);
    assert.deepEqual([reports[0].isServed, reports[0].identityId], [true, "ada"]);
    assert.match(reports[0].requestId, /^[\da-f-]{36}$/);
  });

  it("a listener that throws, at once or later, harms no call", async () => {
    const { registry, execute } = registered();
    registry.on("call", () => {
      throw new Error("my fault");
    });
    registry.on("call", async () => {
      throw new Error("my fault, later");
    });
    const reports = heard(registry, "call");
    assert.equal((await execute(1)).data, 1);
    assert.equal(reports.length, 1);
  });

  it('on("call") reports nothing to a listener that was removed', async () => {
    const { registry, execute } = registered();
    const reports = heard(registry, "call");
    await execute(1);
    reports.stop();
    reports.stop();
    await execute(1);
    assert.equal(reports.length, 1);
  });
});

describe('on("registered") and on("unregistered")', () => {
  it('on("registered") and on("unregistered") report operations that come, change and go', () => {
    const registry = new OperationRegistry();
    const [came, went] = [heard(registry, "registered"), heard(registry, "unregistered")];
    const spec = operation();
    const id = idOf(spec);
    registry.register(spec);
    registry.registerHandler(id, () => 1);
    registry.register(spec);
    registry.unregister(id);
    registry.unregister(id);
    assert.deepEqual(
      came.map(({ operationId, isNew, operation: { name } }) => [operationId, isNew, name]),
      [
        [id, true, spec.name],
        [id, false, spec.name],
        [id, false, spec.name],
      ],
    );
    assert.deepEqual([...went], [{ operationId: id }]);
  });

  it("on() refuses an event that does not exist", () => {
    assert.throws(
      () => new OperationRegistry().on("calls", () => {}),
      callError("VALIDATION_ERROR", "on: event", '"call"'),
    );
  });
});

describe("audit", () => {
  const RULES = [
    [{ requiredScopes: [] }, undefined, true, "open"],
    [{ requiredScopes: ["read"] }, ada, true, "requiredScopes"],
    [{ requiredScopes: ["read"] }, undefined, false, "identity"],
    [{ requiredScopes: ["write"] }, ada, false, "requiredScopes"],
    [{ requiredScopes: [], requiredScopesAny: ["write"] }, ada, false, "requiredScopesAny"],
    [
      { requiredScopes: ["read"], requiredScopesAny: ["read"] },
      ada,
      true,
      "requiredScopes, requiredScopesAny",
    ],
    [{ requiredScopes: [], resourceType: "pet", resourceAction: "feed" }, ada, false, "resource"],
    [{ requiredScopes: [], customAuth: "yes" }, ada, true, "customAuth:yes"],
    [{ requiredScopes: [], customAuth: "no" }, ada, false, "customAuth:no"],
    [{ requiredScopes: [], customAuth: "unknown" }, ada, false, "customAuth:unknown"],
  ];

  for (const type of ["query", "subscription"]) {
    it(`audit reports every decision about a ${type}, and which rule made it`, async () => {
      const customAuth = { yes: async () => true, no: () => false };
      for (const [accessControl, identity, isGranted, rule] of RULES) {
        const { registry, id } = registered({ type, accessControl }, { customAuth });
        const reports = [];
        registry.audit((report) => void reports.push(report));
        const denied = heard(registry, "denied");
        const context = { requestId: "r-1", ...(identity && { identity }) };
        const call =
          type === "query"
            ? registry.execute(id, [], context)
            : collect(subscribe(registry, id, [], context));
        if (isGranted) await call;
        else await assert.rejects(call, callError("ACCESS_DENIED"));
        assert.equal(reports.length, 1, rule);
        const { at, reason, ...report } = reports[0];
        assert.deepEqual(report, {
          operationId: id,
          isGranted,
          rule,
          ...(identity && { identityId: "ada" }),
          requestId: "r-1",
          isServed: false,
          isNative: false,
        });
        assert.equal(typeof at, "number");
        assert.equal(reason === undefined, isGranted);
        assert.equal(denied.length, isGranted ? 0 : 1);
      }
    });
  }

  it("audit says why a trusted call was let in", async () => {
    const { registry, id } = registered({ accessControl: { requiredScopes: ["s"] } });
    const trusting = registered({ accessControl: { requiredScopes: ["s"] } }, { trustDirectCalls: true });
    const rules = [];
    for (const each of [registry, trusting.registry]) each.audit(({ rule }) => void rules.push(rule));
    const [namespace, name] = id.split(".");
    await buildEnv({ registry, context: {} })[namespace][name]({});
    await trusting.execute({});
    assert.deepEqual(rules, ["trusted", "trustDirectCalls"]);
  });

  it("audit reports no ACCESS_DENIED that a handler throws itself", async () => {
    const { registry, execute } = registered({
      handler: () => {
        throw new CallError("ACCESS_DENIED", "by somebody else");
      },
    });
    const granted = [];
    registry.audit(({ isGranted }) => void granted.push(isGranted));
    await assert.rejects(execute(1), callError("ACCESS_DENIED"));
    assert.deepEqual(granted, [true]);
  });

  it("audit runs a custom rule once", async () => {
    let asked = 0;
    const customAuth = { once: () => Boolean(++asked) };
    const { registry, execute } = registered(
      { accessControl: { requiredScopes: [], customAuth: "once" } },
      { customAuth },
    );
    registry.audit(() => {});
    await execute(1);
    assert.equal(asked, 1);
  });
});

describe("the diagnostics channel operations:call", () => {
  it("the diagnostics channel operations:call has every call of every registry", async () => {
    const { id, execute } = registered();
    const messages = [];
    const onMessage = (message) => messages.push(message);
    listen("operations:call", onMessage);
    try {
      await execute(1);
    } finally {
      unsubscribe("operations:call", onMessage);
    }
    await execute(2);
    assert.deepEqual(
      messages.map(({ operationId, outcome }) => [operationId, outcome]),
      [[id, "ok"]],
    );
  });
});

describe("the log", () => {
  afterEach(() => reset());

  async function lines(level, work) {
    const records = [];
    await configure({
      sinks: { memory: (record) => records.push(record) },
      loggers: [
        { category: ["operations"], sinks: ["memory"], lowestLevel: level },
        { category: ["logtape", "meta"], sinks: [] },
      ],
    });
    await work();
    return records;
  }

  it("the log has one entry per call at level debug, without inputs and outputs", async () => {
    const { id, execute } = registered();
    const [line, ...others] = await lines("debug", () => execute("a secret", { requestId: "r-1" }));
    assert.deepEqual(others, []);
    assert.deepEqual(line.category, ["operations", "call"]);
    assert.equal(line.level, "debug");
    assert.match(line.message.join(""), new RegExp(`^${id} \\(local\\): ok after [\\d.]+ ms$`));
    const { duration, ...facts } = line.properties;
    assert.equal(typeof duration, "number");
    assert.deepEqual(facts, {
      operationId: id,
      kind: "call",
      outcome: "ok",
      code: undefined,
      source: "local",
      requestId: "r-1",
      isServed: false,
      isNative: false,
    });
    assert.ok(!JSON.stringify([line.message, line.properties]).includes("secret"));
  });

  it("the log has no entry for a call above level debug", async () => {
    const { execute } = registered();
    assert.deepEqual(await lines("info", () => execute(1)), []);
  });
});
