import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { PendingRequestMap, unwrap } from "@alkdev/operations";
import { assertNoStalls } from "../support/event-loop.mjs";
import { deferred } from "../support/waiting.mjs";
import { query, record, serving, settled, sleep, subscription } from "./support.mjs";

assertNoStalls();

const count = subscription("count", async function* ({ to }) {
  for (let i = 1; i <= to; i++) yield i;
});

async function collect(stream) {
  const values = [];
  for await (const envelope of stream) values.push(unwrap(envelope));
  return values;
}

describe("a subscription", () => {
  it("a subscription yields an envelope for each value and ends", async () => {
    const { callMap } = serving([count]);
    const events = record(callMap);
    assert.deepEqual(await collect(callMap.subscribe("t.count", { to: 3 })), [1, 2, 3]);
    assert.deepEqual(
      events.map(([type]) => type),
      ["call.requested", "call.responded", "call.responded", "call.responded", "call.completed"],
    );
    assert.equal(callMap.getPendingCount(), 0);
  });

  it("a subscription sends nothing before its first next()", async () => {
    const { callMap } = serving([count]);
    const events = record(callMap);
    callMap.subscribe("t.count", { to: 3 });
    await settled();
    assert.deepEqual(events, []);
    assert.equal(callMap.getPendingCount(), 0);
  });

  it("a consumer that breaks publishes call.aborted and runs the handler's cleanup once", async () => {
    let cleanups = 0;
    const { callMap } = serving([
      subscription("endless", async function* () {
        try {
          for (let i = 0; ; i++) {
            await settled();
            yield i;
          }
        } finally {
          cleanups += 1;
        }
      }),
    ]);
    const events = record(callMap);
    for await (const envelope of callMap.subscribe("t.endless", {})) if (unwrap(envelope) === 2) break;
    await sleep(20);
    assert.equal(cleanups, 1);
    assert.equal(events.filter(([type]) => type === "call.aborted").length, 1);
    assert.equal(
      events.some(([type]) => type === "call.completed"),
      false,
    );
    assert.equal(callMap.getPendingCount(), 0);
  });

  it("a subscription throws what the handler threw, after what it yielded", async () => {
    const { callMap } = serving([
      subscription("breaks", async function* () {
        yield 1;
        throw new Error("broken");
      }),
    ]);
    const stream = callMap.subscribe("t.breaks", {});
    assert.equal(unwrap((await stream.next()).value), 1);
    await assert.rejects(stream.next(), { code: "EXECUTION_ERROR", message: "broken" });
    assert.deepEqual(await stream.next(), { done: true, value: undefined });
  });

  it("a subscription ends without an error when the other side aborts", async () => {
    const { callMap } = serving([
      subscription("wait", async function* (_, { requestId }) {
        yield requestId;
        await new Promise(() => {});
      }),
    ]);
    const values = [];
    for await (const envelope of callMap.subscribe("t.wait", {})) {
      values.push(envelope);
      callMap.abort(unwrap(envelope));
    }
    assert.equal(values.length, 1);
    assert.equal(callMap.getPendingCount(), 0);
  });

  it("a subscription throws ABORTED for the subscriber's own signal", async () => {
    const { callMap } = serving([
      subscription("wait", async function* () {
        await new Promise(() => {});
      }),
    ]);
    const controller = new AbortController();
    const next = callMap.subscribe("t.wait", {}, { signal: controller.signal }).next();
    controller.abort();
    await assert.rejects(next, { code: "ABORTED" });
    const events = record(callMap);
    await assert.rejects(callMap.subscribe("t.wait", {}, { signal: AbortSignal.abort() }).next(), {
      code: "ABORTED",
    });
    assert.deepEqual(events, []);
  });

  it("return() while a next() is pending releases the consumer", async () => {
    const { callMap } = serving([
      subscription("wait", async function* () {
        await new Promise(() => {});
      }),
    ]);
    const stream = callMap.subscribe("t.wait", {});
    const next = stream.next();
    await stream.return();
    assert.deepEqual(await next, { done: true, value: undefined });
    assert.equal(callMap.getPendingCount(), 0);
  });

  it("idleTimeout ends a subscription that is silent for longer", async () => {
    const { callMap } = serving([
      subscription("silent", async function* () {
        yield* [1, 2, 3];
        await new Promise(() => {});
      }),
    ]);
    const events = record(callMap);
    const values = [];
    await assert.rejects(
      async () => {
        for await (const envelope of callMap.subscribe("t.silent", {}, { idleTimeout: 150 })) {
          values.push(unwrap(envelope));
        }
      },
      (error) => error.code === "TIMEOUT" && error.details.idleTimeout === 150,
    );
    assert.deepEqual(values, [1, 2, 3]);
    assert.equal(events.filter(([type]) => type === "call.aborted").length, 1);
  });

  it("a consumer that is too slow gets an error before memory is exhausted", async () => {
    const { callMap } = serving(
      [
        subscription("flood", async function* () {
          for (let i = 0; i < 1000; i++) yield i;
        }),
      ],
      { mapOptions: { maxWaitingEvents: 100 } },
    );
    const { promise: wasEnded, resolve } = deferred();
    callMap["call.aborted"].subscribe(resolve);
    const stream = callMap.subscribe("t.flood", {});
    await stream.next();
    await wasEnded;
    const values = [];
    await assert.rejects(
      async () => {
        for (;;) {
          const { done, value } = await stream.next();
          if (done) break;
          values.push(unwrap(value));
        }
      },
      { code: "EXECUTION_ERROR", message: /too slow/ },
    );
    assert.equal(values.length, 100);
  });

  it("a call of a query works beside subscriptions", async () => {
    const { callMap } = serving([count, query("one", () => 1)]);
    const [values, one] = await Promise.all([
      collect(callMap.subscribe("t.count", { to: 100 })),
      callMap.call("t.one", {}),
    ]);
    assert.equal(values.length, 100);
    assert.equal(unwrap(one), 1);
  });
});

describe("over an EventTarget", () => {
  it("two call maps on one EventTarget reach each other", async () => {
    const target = new EventTarget();
    serving([count, query("double", (n) => n * 2)], { target });
    const caller = new PendingRequestMap(target);
    assert.equal(unwrap(await caller.call("t.double", 4)), 8);
    assert.deepEqual(await collect(caller.subscribe("t.count", { to: 4 })), [1, 2, 3, 4]);
    assert.equal(caller.getPendingCount(), 0);
  });

  it("an event on an EventTarget is a CustomEvent with { type, id, payload }", async () => {
    const target = new EventTarget();
    const seen = [];
    target.addEventListener("call.requested", (event) => seen.push(event));
    const map = new PendingRequestMap(target);
    map.call("t.x", { a: 1 }).catch(() => {});
    assert.equal(seen[0].type, "call.requested");
    assert.deepEqual(Object.keys(seen[0].detail), ["type", "id", "payload"]);
    assert.equal(seen[0].detail.type, "call.requested");
    assert.equal(seen[0].detail.id, "");
    assert.deepEqual(seen[0].detail.payload.input, { a: 1 });
  });

  it("an EventTarget accepts the bare payload, too, and drops what is no event", async () => {
    const target = new EventTarget();
    const map = new PendingRequestMap(target);
    let requestId;
    map["call.requested"].subscribe((event) => {
      requestId = event.requestId;
    });
    const call = map.call("t.x", {});
    for (const detail of [
      undefined,
      null,
      1,
      "x",
      {},
      { requestId: 7 },
      { payload: null },
      { payload: {} },
    ]) {
      target.dispatchEvent(new CustomEvent("call.responded", { detail }));
    }
    assert.equal(map.getPendingCount(), 1);
    const output = { data: 1, meta: { source: "local", operationId: "t.x", timestamp: 1 } };
    target.dispatchEvent(new CustomEvent("call.responded", { detail: { requestId, output } }));
    assert.equal(unwrap(await call), 1);
  });

  it("a response that is no envelope fails the call instead of hanging it", async () => {
    const target = new EventTarget();
    const map = new PendingRequestMap(target);
    map["call.requested"].subscribe(({ requestId }) => {
      target.dispatchEvent(new CustomEvent("call.responded", { detail: { requestId, output: 5 } }));
    });
    await assert.rejects(map.call("t.x", {}), { code: "EXECUTION_ERROR", message: /not a ResponseEnvelope/ });
  });

  it("calls pass through a bridge that serialises", async () => {
    class Bridge extends EventTarget {
      other;
      dispatchEvent(event) {
        const text = JSON.stringify(event.detail);
        for (const side of [this, this.other]) {
          queueMicrotask(() =>
            EventTarget.prototype.dispatchEvent.call(
              side,
              new CustomEvent(event.type, { detail: JSON.parse(text) }),
            ),
          );
        }
        return true;
      }
    }
    const [here, there] = [new Bridge(), new Bridge()];
    here.other = there;
    there.other = here;
    serving([count, query("double", ({ n }) => ({ n: n * 2 }))], { target: there });
    const caller = new PendingRequestMap(here);
    assert.deepEqual(unwrap(await caller.call("t.double", { n: 4 })), { n: 8 });
    assert.deepEqual(await collect(caller.subscribe("t.count", { to: 3 })), [1, 2, 3]);
    await assert.rejects(caller.call("t.none", {}), { code: "OPERATION_NOT_FOUND" });
  });
});
