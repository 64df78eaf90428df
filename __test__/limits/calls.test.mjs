// Limits on calls: who begins, who waits, who is refused, and that places come back.

import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { setImmediate as turn, setTimeout as wait } from "node:timers/promises";
import {
  buildCallHandler,
  buildEnv,
  CallError,
  OperationRegistry,
  PendingRequestMap,
} from "@alkdev/operations";
import { Type } from "@sinclair/typebox";

const query = (name, handler, more = {}) => ({
  namespace: "demo",
  name,
  version: "1.0.0",
  type: "query",
  description: name,
  inputSchema: Type.Any(),
  outputSchema: Type.Any(),
  accessControl: { requiredScopes: [] },
  handler,
  ...more,
});
const stream = (name, handler, more) => query(name, handler, { type: "subscription", ...more });

function registryOf(operations, options) {
  const registry = new OperationRegistry(options);
  registry.registerAll(operations);
  return registry;
}

/** A handler whose calls end when they are told to. */
function gated() {
  const begun = [];
  const handler = (input) =>
    new Promise((resolve, reject) => begun.push({ input, end: () => resolve(input), fail: reject }));
  return { begun, handler };
}

const refusedWith = (reason) => (error) => {
  assert.ok(error instanceof CallError, String(error));
  assert.equal(error.code, "EXECUTION_ERROR");
  assert.equal(error.details.reason, reason);
  assert.equal(error.details.delivery, "none");
  assert.ok(Number.isInteger(error.details.retryAfter) && error.details.retryAfter >= 1, error.message);
  assert.match(error.message, /Try again in \d+ ms/);
  return true;
};

describe("concurrency", () => {
  it("10,000 calls against a limit of 16 are fair between two callers, and none is lost", async () => {
    let running = 0;
    let most = 0;
    const order = [];
    const handler = async (input, { identity }) => {
      running += 1;
      most = Math.max(most, running);
      order.push(identity.id);
      await turn();
      running -= 1;
      return input;
    };
    const registry = registryOf([query("work", handler, { limits: { concurrency: 16, queue: 10_000 } })]);
    const as = (id, from) =>
      Array.from({ length: 5_000 }, (_, i) =>
        registry.execute("demo.work", from + i, { identity: { id, scopes: [] } }),
      );
    // All of the first caller's calls are there before any of the second's.
    const answers = await Promise.all([...as("ada", 0), ...as("bob", 5_000)]);
    assert.deepEqual(
      answers.map(({ data }) => data),
      Array.from({ length: 10_000 }, (_, i) => i),
    );
    assert.equal(most, 16);
    // The first sixteen were the first caller's; from then on they take turns.
    const late = order.slice(16, 9_968);
    for (let at = 0; at + 100 <= late.length; at += 100) {
      const bobs = late.slice(at, at + 100).filter((id) => id === "bob").length;
      assert.equal(bobs, 50, `of the calls from ${at} on`);
    }
    const [stats] = registry.stats().limits;
    assert.deepEqual(stats, {
      scope: "operation",
      name: "demo.work",
      running: 0,
      waiting: 0,
      overrunning: 0,
      admitted: 10_000,
      refused: { overloaded: 0, rateLimited: 0, circuitOpen: 0 },
    });
  });

  it("a call beyond the queue is refused, with how long to wait", async () => {
    const { begun, handler } = gated();
    const registry = registryOf([query("work", handler, { limits: { concurrency: 1, queue: 1 } })]);
    const first = registry.execute("demo.work", 1);
    const second = registry.execute("demo.work", 2);
    await assert.rejects(registry.execute("demo.work", 3), refusedWith("overloaded"));
    assert.deepEqual([begun.length, registry.stats().limits[0].waiting], [1, 1]);
    begun[0].end();
    await first;
    while (begun.length < 2) await turn();
    begun[1].end();
    assert.equal((await second).data, 2);
    assert.equal(registry.stats().limits[0].refused.overloaded, 1);
  });

  it("a caller that fills the queue makes room for others", async () => {
    const { begun, handler } = gated();
    const registry = registryOf([query("work", handler, { limits: { concurrency: 1, queue: 4 } })]);
    const call = (id) => registry.execute("demo.work", id, { identity: { id, scopes: [] } });
    const greedy = Array.from({ length: 5 }, () => call("greedy"));
    const modest = call("modest");
    await assert.rejects(greedy[4], refusedWith("overloaded"));
    for (let i = 0; i < 5; i++) {
      while (begun.length <= i) await turn();
      begun[i].end();
    }
    await Promise.all([...greedy.slice(0, 4), modest]);
    assert.deepEqual(
      begun.map(({ input }) => input),
      ["greedy", "greedy", "modest", "greedy", "greedy"],
    );
  });

  it("a call that fails, at once or later, releases its permit, and rejects with the same error", async () => {
    const error = new Error("no");
    const registry = registryOf([
      query(
        "now",
        () => {
          throw error;
        },
        { limits: { concurrency: 1, queue: 0 } },
      ),
      query(
        "later",
        async () => {
          throw error;
        },
        { limits: { concurrency: 1, queue: 0 } },
      ),
      query("value", (input) => input, { limits: { concurrency: 1, queue: 0 } }),
    ]);
    for (let i = 0; i < 3; i++) {
      for (const id of ["demo.now", "demo.later"]) {
        await assert.rejects(registry.execute(id, {}), (thrown) => thrown === error);
      }
      assert.equal((await registry.execute("demo.value", i)).data, i);
    }
  });

  it("a call with a refused input, or without access, takes no permit", async () => {
    const limits = { rate: { calls: 1, per: 60_000 }, queue: 0 };
    const rules = { accessControl: { requiredScopes: ["work"] }, inputSchema: Type.Number(), limits };
    const registry = registryOf([query("work", (input) => input, rules)]);
    const identity = { id: "ada", scopes: ["work"] };
    await assert.rejects(registry.execute("demo.work", 1), { code: "ACCESS_DENIED" });
    await assert.rejects(registry.execute("demo.work", "1", { identity }), { code: "VALIDATION_ERROR" });
    assert.equal((await registry.execute("demo.work", 1, { identity })).data, 1);
    await assert.rejects(registry.execute("demo.work", 1, { identity }), refusedWith("rate-limited"));
  });
});

describe("while a call waits", () => {
  it("an aborted signal removes a waiting call from the queue", async () => {
    const { begun, handler } = gated();
    const registry = registryOf([query("work", handler, { limits: { concurrency: 1 } })]);
    const first = registry.execute("demo.work", 1);
    const controller = new AbortController();
    const second = registry.execute("demo.work", 2, { signal: controller.signal });
    const third = registry.execute("demo.work", 3);
    controller.abort();
    await assert.rejects(second, { code: "ABORTED" });
    begun[0].end();
    await first;
    while (begun.length < 2) await turn();
    begun[1].end();
    assert.equal((await third).data, 3);
  });

  it("a deadline removes a waiting call from the queue", async () => {
    const { begun, handler } = gated();
    const registry = registryOf([query("work", handler, { limits: { concurrency: 1 } })]);
    const first = registry.execute("demo.work", 1);
    await assert.rejects(registry.execute("demo.work", 2, { deadline: Date.now() + 20 }), {
      code: "TIMEOUT",
    });
    assert.equal(registry.stats().limits[0].waiting, 0);
    begun[0].end();
    await first;
    assert.equal(begun.length, 1);
  });

  it("a call waits no longer than `timeout`", async () => {
    const ticks = async function* () {
      for (;;) yield 1;
    };
    const registry = registryOf([stream("ticks", ticks), query("work", () => 1)], {
      limits: { concurrency: 1, timeout: 30 },
    });
    // A stream that nobody reads is not silent, and holds its place.
    const open = registry.subscribe("demo.ticks", {});
    await open.next();
    await assert.rejects(registry.execute("demo.work", 2), refusedWith("overloaded"));
    await open.return();
    assert.equal((await registry.execute("demo.work", 2)).data, 1);
  });
});

describe("timeout", () => {
  it("a handler that never ends releases its permit at the timeout, and its signal is aborted", async () => {
    const signals = [];
    const handler = (input, { signal }) => {
      signals.push(signal);
      return input === "hang" ? new Promise(() => {}) : input;
    };
    const registry = registryOf([query("work", handler, { limits: { concurrency: 1, timeout: 30 } })]);
    await assert.rejects(registry.execute("demo.work", "hang"), (error) => {
      assert.equal(error.code, "TIMEOUT");
      assert.deepEqual(error.details, {
        reason: "timeout",
        delivery: "unknown",
        timeout: 30,
        operationId: "demo.work",
      });
      return true;
    });
    assert.equal(signals[0].aborted, true);
    assert.equal((await registry.execute("demo.work", "go on")).data, "go on");
    const [{ running, overrunning }] = registry.stats().limits;
    assert.deepEqual({ running, overrunning }, { running: 0, overrunning: 1 });
  });

  it("the timeout ends a silent stream", async () => {
    let ended = 0;
    const handler = async function* () {
      try {
        yield 1;
        await new Promise(() => {});
      } finally {
        ended += 1;
      }
    };
    const registry = registryOf([stream("ticks", handler, { limits: { concurrency: 1, timeout: 30 } })]);
    const seen = [];
    await assert.rejects(
      async () => {
        for await (const { data } of registry.subscribe("demo.ticks", {})) seen.push(data);
      },
      { code: "TIMEOUT" },
    );
    assert.deepEqual(seen, [1]);
    assert.equal(registry.stats().limits[0].running, 0);
    assert.equal(ended, 0, "nobody can end a generator that waits");
  });
});

describe("rate", () => {
  it("no more calls begin in a period than the rate allows", async () => {
    let began = 0;
    const handler = () => {
      began += 1;
    };
    // A stretch that does not end in the course of the test. (What happens at its end, the machine's own test says, by a clock of its own.)
    const registry = registryOf([query("work", handler, { limits: { rate: { calls: 5, per: 3_600_000 } } })]);
    const controller = new AbortController();
    const context = { signal: controller.signal };
    const calls = Array.from({ length: 18 }, () => registry.execute("demo.work", {}, context));
    await Promise.all(calls.slice(0, 5));
    const [{ waiting, admitted }] = registry.stats().limits;
    assert.deepEqual([began, admitted, waiting], [5, 5, 13]);
    controller.abort();
    const others = await Promise.allSettled(calls.slice(5));
    assert.ok(others.every(({ reason }) => reason?.code === "ABORTED"));
    assert.equal(began, 5);
  });

  it("calls that wait for the rate begin in turn when it allows", async () => {
    const began = [];
    const handler = ({ n }) => began.push(n);
    // Long enough for a busy machine: those who may begin while the event loop stands still begin after it, and a new call could be first.
    const registry = registryOf([query("work", handler, { limits: { rate: { calls: 5, per: 250 } } })]);
    await Promise.all(Array.from({ length: 18 }, (_, n) => registry.execute("demo.work", { n })));
    assert.deepEqual(
      began,
      Array.from({ length: 18 }, (_, n) => n),
    );
  });

  it("a call that could only begin after its deadline is refused at once", async () => {
    const registry = registryOf([query("work", () => 1, { limits: { rate: { calls: 1, per: 60_000 } } })]);
    await registry.execute("demo.work", {});
    await assert.rejects(registry.execute("demo.work", {}, { deadline: Date.now() + 5_000 }), (error) => {
      refusedWith("rate-limited")(error);
      assert.ok(error.details.retryAfter > 50_000 && error.details.retryAfter <= 60_000);
      return true;
    });
  });
});

describe("nested calls", () => {
  it("nested calls never wait for the permit of their own parent", async () => {
    const limits = { concurrency: 1, queue: 0 };
    const registry = registryOf(
      [
        query("leaf", (input) => input + 1),
        query("middle", async (input, context) => {
          await turn();
          return (await buildEnv({ registry, context }).demo.leaf(input)).data + 1;
        }),
        query("root", async (input) => (await registry.execute("demo.middle", input)).data + 1),
        query(
          "itself",
          async (input) => (input === 0 ? 0 : (await registry.execute("demo.itself", input - 1)).data + 1),
          {
            limits,
          },
        ),
      ],
      { limits },
    );
    assert.equal((await registry.execute("demo.root", 0)).data, 3);
    assert.equal((await registry.execute("demo.itself", 5)).data, 5);
    assert.equal(registry.stats().limits[0].running, 0);
  });

  it("nested calls through the call protocol never wait for the permit of their own parent", async () => {
    const callMap = new PendingRequestMap();
    const registry = registryOf(
      [
        query("leaf", (input) => input),
        query(
          "root",
          async (input, context) => (await buildEnv({ registry, context, callMap }).demo.leaf(input)).data,
        ),
      ],
      { limits: { concurrency: 1, queue: 0 } },
    );
    callMap["call.requested"].subscribe(buildCallHandler({ registry, callMap }));
    assert.equal((await callMap.call("demo.root", 7)).data, 7);
  });

  it("work that goes on after its call has ended is no longer nested in it", async () => {
    const { begun, handler } = gated();
    let later;
    const registry = registryOf(
      [
        query("leaf", handler),
        query("root", () => {
          later = wait(5).then(() => registry.execute("demo.leaf", "late"));
          return 1;
        }),
      ],
      { limits: { concurrency: 1, queue: 0 } },
    );
    await registry.execute("demo.root", {});
    const other = registry.execute("demo.leaf", "other");
    await assert.rejects(later, refusedWith("overloaded"));
    begun[0].end();
    await other;
  });

  it("calls of a stream's handler are nested in it", async () => {
    const registry = registryOf(
      [
        query("leaf", (input) => input),
        stream("ticks", async function* (input) {
          for (let i = 0; i < input; i++) yield (await registry.execute("demo.leaf", i)).data;
        }),
      ],
      { limits: { concurrency: 1, queue: 0 } },
    );
    const seen = [];
    for await (const { data } of registry.subscribe("demo.ticks", 3)) seen.push(data);
    assert.deepEqual(seen, [0, 1, 2]);
  });
});

describe("streams", () => {
  it("streams hold their permit until they end in any way", async () => {
    const handler = async function* (input) {
      for (let i = 0; ; i++) {
        if (input === "fail" && i === 2) throw new Error("broken");
        if (input === "end" && i === 2) return;
        yield i;
      }
    };
    const registry = registryOf([stream("ticks", handler, { limits: { concurrency: 1, queue: 0 } })]);
    const running = () => registry.stats().limits[0].running;
    const open = registry.subscribe("demo.ticks", "on");
    assert.equal(running(), 0, "nothing happens before the first next()");
    assert.equal((await open.next()).value.data, 0);
    assert.equal(running(), 1);
    await assert.rejects(registry.subscribe("demo.ticks", "on").next(), refusedWith("overloaded"));
    await open.return();
    assert.equal(running(), 0);
    for await (const { data } of registry.subscribe("demo.ticks", "end")) assert.ok(data < 2);
    assert.equal(running(), 0);
    await assert.rejects(async () => {
      for await (const { data } of registry.subscribe("demo.ticks", "fail")) assert.ok(data < 2);
    }, /broken/);
    assert.equal(running(), 0);
    for await (const { data } of registry.subscribe("demo.ticks", "on")) if (data === 3) break;
    assert.equal(running(), 0);
  });

  it("a stream that waits for a permit can be left", async () => {
    const handler = async function* () {
      for (;;) yield 1;
    };
    const registry = registryOf([stream("ticks", handler, { limits: { concurrency: 1 } })]);
    const first = registry.subscribe("demo.ticks", {});
    await first.next();
    const second = registry.subscribe("demo.ticks", {});
    const waiting = second.next();
    await turn();
    assert.equal(registry.stats().limits[0].waiting, 1);
    await second.return();
    assert.deepEqual(await waiting, { done: true, value: undefined });
    assert.equal(registry.stats().limits[0].waiting, 0);
    const third = registry.subscribe("demo.ticks", {});
    const next = third.next();
    await first.return();
    assert.equal((await next).value.data, 1);
    await third.return();
    assert.equal(registry.stats().limits[0].running, 0);
  });

  it("a handler that returns no stream is an error, and its permit is released", async () => {
    const handler = Object.defineProperty(() => 7, Symbol.toStringTag, { value: "AsyncGeneratorFunction" });
    const registry = registryOf([stream("odd", handler, { limits: { concurrency: 1, queue: 0 } })]);
    for (let i = 0; i < 2; i++) {
      await assert.rejects(registry.subscribe("demo.odd", {}).next(), /must return an async iterable/);
    }
  });
});

describe("several limits", () => {
  it("a call that waits for one limit holds no permit of the others", async () => {
    const { begun, handler } = gated();
    const registry = registryOf(
      [query("slow", handler, { limits: { concurrency: 1 } }), query("quick", (input) => input)],
      { limits: { concurrency: 2, queue: 0 } },
    );
    const slow = [1, 2, 3].map((input) => registry.execute("demo.slow", input));
    assert.equal((await registry.execute("demo.quick", 1)).data, 1);
    const [whole, own] = registry.stats().limits;
    assert.deepEqual(
      [whole.scope, whole.running, own.name, own.running, own.waiting],
      ["registry", 1, "demo.slow", 1, 2],
    );
    for (let i = 0; i < 3; i++) {
      while (begun.length <= i) await turn();
      begun[i].end();
    }
    await Promise.all(slow);
  });

  it("an operation that is registered again keeps its permits, unless its limits changed", async () => {
    const { begun, handler } = gated();
    const make = (concurrency) => query("work", handler, { limits: { concurrency, queue: 0 } });
    const registry = registryOf([make(1)]);
    const first = registry.execute("demo.work", 1);
    registry.register(make(1));
    await assert.rejects(registry.execute("demo.work", 2), refusedWith("overloaded"));
    registry.register(make(2));
    const third = registry.execute("demo.work", 3);
    assert.equal(begun.length, 2);
    for (const { end } of begun) end();
    await Promise.all([first, third]);
  });
});

describe("options", () => {
  it("invalid limits are refused by name", () => {
    for (const [limits, field] of [
      [{ concurrency: 0 }, "limits.concurrency"],
      [{ queue: -1 }, "limits.queue"],
      [{ rate: { calls: 5 } }, "limits.rate.per"],
      [{ concurency: 5 }, "limits.concurency"],
      [7, "limits"],
    ]) {
      assert.throws(
        () => new OperationRegistry({ limits }),
        (error) => {
          assert.equal(error.code, "VALIDATION_ERROR");
          assert.ok(error.message.includes(field), error.message);
          return true;
        },
      );
      assert.throws(
        () => registryOf([query("work", () => 1, { limits })]),
        (error) => {
          assert.equal(error.code, "VALIDATION_ERROR");
          assert.ok(error.message.includes("demo.work"), error.message);
          return true;
        },
      );
    }
  });
});
