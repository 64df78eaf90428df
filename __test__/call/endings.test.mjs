// How calls end early, here and on the other side, and what is left behind: nothing.

import assert from "node:assert/strict";
import { getEventListeners } from "node:events";
import { after, before, describe, it } from "node:test";
import { MessageChannel } from "node:worker_threads";
import {
  buildCallHandler,
  buildEnv,
  createPortEventTarget,
  OperationRegistry,
  PendingRequestMap,
  unwrap,
} from "@alkdev/operations";
import { runModule } from "../support/run-node.mjs";
import { until } from "../support/waiting.mjs";
import { query, record, serving, settled, subscription } from "./support.mjs";

describe("what a caller can know about a call that has left", () => {
  it("a call that ended without a response says in details.delivery whether it may have run", async () => {
    const { port1: port } = new MessageChannel();
    const map = new PendingRequestMap(createPortEventTarget(port));
    const told = async (options) => {
      const error = await map.call("t.x", {}, options).catch((thrown) => thrown);
      const { reason, delivery } = error.details;
      return [error.code, reason, delivery];
    };
    assert.deepEqual(await told({ deadline: Date.now() - 1 }), ["TIMEOUT", "timeout", "none"]);
    assert.deepEqual(await told({ signal: AbortSignal.abort() }), ["ABORTED", "aborted", "none"]);
    assert.deepEqual(await told({ deadline: Date.now() + 20 }), ["TIMEOUT", "timeout", "unknown"]);
    const controller = new AbortController();
    setImmediate(() => controller.abort());
    assert.deepEqual(await told({ signal: controller.signal }), ["ABORTED", "aborted", "unknown"]);
    assert.equal(map.getPendingCount(), 0);
    port.close();
  });
});

/** Two ends of a wire that serialises; each hears its own events too. `drop` leaves some of them out. */
function wire(drop = () => false) {
  class End extends EventTarget {
    other;
    dispatchEvent(event) {
      if (drop(event.type)) return true;
      const text = JSON.stringify(event.detail);
      for (const end of [this, this.other]) {
        queueMicrotask(() =>
          EventTarget.prototype.dispatchEvent.call(
            end,
            new CustomEvent(event.type, { detail: JSON.parse(text) }),
          ),
        );
      }
      return true;
    }
  }
  const [here, there] = [new End(), new End()];
  here.other = there;
  there.other = here;
  return [here, there];
}

/** Serves `outer`, which calls `middle`, which calls `inner`, which never ends; tells whose signals were aborted. */
function serveNested(target) {
  const aborted = [];
  const started = [];
  const registry = new OperationRegistry();
  const callMap = new PendingRequestMap(target);
  const nested = (name, next) =>
    query(name, (_, context) => {
      started.push(name);
      context.signal.addEventListener("abort", () => aborted.push(name));
      if (next === undefined) return new Promise(() => {});
      return buildEnv({ registry, context, callMap }).t[next]({});
    });
  registry.registerAll([nested("outer", "middle"), nested("middle", "inner"), nested("inner")]);
  callMap["call.requested"].subscribe(buildCallHandler({ registry, callMap }));
  return { callMap, aborted, started };
}

describe("aborting across a wire", () => {
  // What has no deadline keeps no process alive, this test has to.
  let alive;
  before(() => {
    alive = setInterval(() => {}, 1000);
  });
  after(() => clearInterval(alive));

  /** Ends the outermost of three calls, once all three are under way; undefined if its deadline was sooner. */
  async function endNested({ deadline, end = () => {} }) {
    const [here, there] = wire();
    const server = serveNested(there);
    const map = new PendingRequestMap(here);
    const controller = new AbortController();
    const call = map.call("t.outer", {}, { signal: controller.signal, ...(deadline && { deadline }) });
    let error;
    call.catch((reason) => {
      error = reason;
    });
    await until(() => server.started.length === 3 || error !== undefined);
    if (server.started.length < 3) return undefined;
    end(controller);
    await until(() => error !== undefined && server.aborted.length === 3);
    assert.deepEqual([...server.aborted].sort(), ["inner", "middle", "outer"]);
    await until(() => server.callMap.getPendingCount() === 0);
    assert.equal(map.getPendingCount(), 0);
    return error;
  }

  it("an abort by the caller's signal crosses a wire and reaches nested calls, at any depth", async () => {
    const error = await endNested({ end: (controller) => controller.abort() });
    assert.equal(error.code, "ABORTED");
  });

  it("an abort by a deadline crosses a wire and reaches nested calls, at any depth", async () => {
    let error;
    // On a busy machine a short deadline may pass before all three are under way.
    for (let wait = 60; error === undefined; wait *= 2)
      error = await endNested({ deadline: Date.now() + wait });
    assert.equal(error.code, "TIMEOUT");
  });

  it("the caller's deadline ends the work even if the abort never arrives", async () => {
    const [here, there] = wire((type) => type === "call.aborted");
    let signal;
    serving(
      [
        query("slow", (_, context) => {
          signal = context.signal;
          return new Promise(() => {});
        }),
      ],
      { target: there },
    );
    // On a busy machine a short deadline may pass before the handler begins.
    for (let wait = 30; signal === undefined; wait *= 2) {
      const call = new PendingRequestMap(here).call("t.slow", {}, { deadline: Date.now() + wait });
      await assert.rejects(call, { code: "TIMEOUT" });
    }
    await until(() => signal.aborted);
  });

  it("a response without data settles the call", async () => {
    const [here, there] = wire();
    serving([query("nothing", () => {})], { target: there });
    const envelope = await new PendingRequestMap(here).call("t.nothing", {});
    assert.equal(envelope.data, undefined);
    assert.equal("data" in envelope, true);
  });
});

describe("context.signal", () => {
  it("context.signal is one signal, and a copy of the context has it too", async () => {
    let seen;
    const { callMap } = serving([
      query("look", (_, context) => {
        const copy = { ...context };
        seen = [context.signal, copy.signal, context.signal];
        return new Promise(() => {});
      }),
    ]);
    const controller = new AbortController();
    const call = callMap.call("t.look", {}, { signal: controller.signal });
    assert.equal(new Set(seen).size, 1);
    assert.equal(seen[0].aborted, false);
    controller.abort();
    await assert.rejects(call, { code: "ABORTED" });
    assert.equal(seen[0].aborted, true);
  });

  it("context.signal and env can be read through a proxy and an inheriting object, and be replaced", async () => {
    let seen;
    const { callMap } = serving([
      query("wrapped", (_, context) => {
        const around = [new Proxy(context, {}), Object.create(context)];
        seen = {
          keys: Object.keys(context),
          signals: [context, ...around].map(({ signal }) => signal),
          envs: [context, ...around].map(({ env }) => env),
        };
        const [signal, env] = [AbortSignal.abort(), { none: {} }];
        Object.assign(context, { signal, env });
        seen.replaced = around.map((each) => each.signal === signal && each.env === env);
      }),
    ]);
    await callMap.call("t.wrapped", {});
    assert.deepEqual(seen.keys, ["requestId", "signal", "env"]);
    assert.ok(seen.signals[0] instanceof AbortSignal);
    assert.equal(new Set(seen.signals).size, 1);
    assert.equal(typeof seen.envs[0].t.wrapped, "function");
    assert.equal(new Set(seen.envs).size, 1);
    assert.deepEqual(seen.replaced, [true, true]);
  });

  it("context.signal is aborted when it is first read after the abort", async () => {
    let look;
    const { callMap } = serving([
      query("late", (_, context) => {
        look = () => context.signal.aborted;
        return new Promise(() => {});
      }),
    ]);
    const controller = new AbortController();
    const call = callMap.call("t.late", {}, { signal: controller.signal });
    controller.abort();
    await assert.rejects(call, { code: "ABORTED" });
    assert.equal(look(), true);
  });
});

describe("however deep calls nest", () => {
  it("aborting the first of deeply nested calls aborts them all, without exhausting the stack", async () => {
    for (const target of [undefined, new EventTarget()]) {
      const map = new PendingRequestMap(target);
      let last;
      map["call.requested"].subscribe(({ requestId }) => {
        last = requestId;
      });
      const calls = [];
      let first;
      for (let i = 0; i < 20_000; i++) {
        calls.push(map.call("t.x", {}, { parentRequestId: last }).catch(({ code }) => code));
        first ??= last;
      }
      map.abort(first);
      assert.equal(map.getPendingCount(), 0);
      assert.deepEqual(new Set(await Promise.all(calls)), new Set(["ABORTED"]));
    }
  });

  it("aborting one of many calls does not cost the others", async () => {
    const map = new PendingRequestMap();
    const ids = [];
    map["call.requested"].subscribe(({ requestId }) => ids.push(requestId));
    const calls = Array.from({ length: 100_000 }, (_, i) =>
      map.call("t.x", {}, { parentRequestId: i === 0 ? undefined : ids[0] }).catch(({ code }) => code),
    );
    const events = record(map);
    map.abort(ids[0]);
    assert.equal(events.length, 100_000);
    assert.equal(map.getPendingCount(), 0);
    assert.ok((await Promise.all(calls)).every((code) => code === "ABORTED"));
  });
});

describe("a bus that fails", () => {
  it("an event target that fails fails the call, and leaves nothing pending", async () => {
    class Broken extends EventTarget {
      dispatchEvent() {
        throw new TypeError("no way out");
      }
    }
    const map = new PendingRequestMap(new Broken());
    await assert.rejects(map.call("t.x", {}), { message: "no way out" });
    await assert.rejects(map.subscribe("t.x", {}).next(), { message: "no way out" });
    assert.throws(() => map.abort("r"), { message: "no way out" });
    assert.equal(map.getPendingCount(), 0);
  });

  it("an event target that fails does not undo an outcome that the caller already has", async () => {
    class Worn extends EventTarget {
      dispatchEvent(event) {
        if (event.type === "call.aborted") throw new TypeError("no way out");
        return super.dispatchEvent(event);
      }
    }
    const map = new PendingRequestMap(new Worn());
    const controller = new AbortController();
    const call = map.call("t.x", {}, { signal: controller.signal });
    controller.abort();
    await assert.rejects(call, { code: "ABORTED" });
    const stream = map.subscribe("t.x", {});
    const next = stream.next();
    await stream.return();
    assert.deepEqual(await next, { done: true, value: undefined });
    assert.equal(map.getPendingCount(), 0);
  });
});

describe("nothing is left behind", () => {
  class Counting extends EventTarget {
    count = 0;
    addEventListener(...args) {
      this.count += 1;
      super.addEventListener(...args);
    }
    removeEventListener(...args) {
      this.count -= 1;
      super.removeEventListener(...args);
    }
  }
  const timers = () => process.getActiveResourcesInfo().filter((each) => each === "Timeout").length;

  it("a request leaves no listener and no timer, however it ends", async () => {
    const target = new Counting();
    const { stop } = serving(
      [
        query("ok", () => 1),
        query("bad", () => Promise.reject(new Error("no"))),
        query("never", () => new Promise(() => {})),
        subscription("count", async function* () {
          yield 1;
          yield 2;
        }),
        subscription("wait", async function* () {
          yield 1;
          await new Promise(() => {});
        }),
      ],
      { target },
    );
    const map = new PendingRequestMap(target);
    const before = { listeners: target.count, timers: timers() };
    const { signal } = new AbortController();
    const options = { signal, deadline: Date.now() + 600_000, idleTimeout: 600_000 };
    assert.equal(unwrap(await map.call("t.ok", {}, options)), 1);
    await assert.rejects(map.call("t.bad", {}, options));
    const controller = new AbortController();
    const aborted = map.call("t.never", {}, { ...options, signal: controller.signal });
    controller.abort();
    await assert.rejects(aborted);
    for await (const _ of map.subscribe("t.count", {}, options));
    for await (const _ of map.subscribe("t.wait", {}, options)) break;
    await settled();
    assert.deepEqual({ listeners: target.count, timers: timers() }, before);
    assert.equal(getEventListeners(signal, "abort").length, 0);
    assert.equal(getEventListeners(controller.signal, "abort").length, 0);
    stop();
    assert.equal(target.count, 0);
  });

  it("pending requests without a deadline do not keep a process alive", async () => {
    const { code, stdout, stderr } = await runModule(`
      import { PendingRequestMap } from "@alkdev/operations";
      const map = new PendingRequestMap();
      map.call("t.x", {});
      map.subscribe("t.x", {}).next();
      console.log(map.getPendingCount());
    `);
    assert.deepEqual({ code, stdout, stderr }, { code: 0, stdout: "2\n", stderr: "" });
  });
});
