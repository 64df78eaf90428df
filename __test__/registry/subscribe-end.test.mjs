// How a subscription ends: the handler's cleanup runs exactly once, whoever ends it and when.

import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { subscribe } from "@alkdev/operations";
import { registered, rejection } from "./support/operations.mjs";
import { byHand, counting, settled, waiting, within } from "./support/streams.mjs";

const DONE = { done: true, value: undefined };

function open(handler, context = {}) {
  const { registry, id } = registered({ type: "subscription", handler });
  return subscribe(registry, id, {}, context);
}

describe("the handler's finally runs exactly once", () => {
  it("the finally of a subscription's handler runs once when the consumer breaks", async () => {
    const { counts, handler } = counting();
    for await (const { data } of open(handler)) if (data === 2) break;
    assert.deepEqual(counts, { started: 1, pulled: 2, cleaned: 1 });
  });

  it("the finally of a subscription's handler runs once when the consumer's loop throws", async () => {
    const { counts, handler } = counting();
    const error = new Error("consumer");
    const consume = async () => {
      for await (const _ of open(handler)) throw error;
    };
    assert.equal((await rejection(consume())).thrown, error);
    assert.equal(counts.cleaned, 1);
  });

  it("the finally of a subscription's handler runs once when the consumer's function returns", async () => {
    const { counts, handler } = counting();
    const consume = async () => {
      for await (const { data } of open(handler)) return data;
    };
    assert.equal(await consume(), 1);
    assert.equal(counts.cleaned, 1);
  });

  it("the finally of a subscription's handler runs once on return(), which awaits it", async () => {
    let cleaned = false;
    const iterator = open(async function* () {
      try {
        yield 1;
      } finally {
        await new Promise((resolve) => setTimeout(resolve, 10));
        cleaned = true;
      }
    });
    await iterator.next();
    assert.deepEqual(await iterator.return(), DONE);
    assert.equal(cleaned, true);
  });

  it("the finally of a subscription's handler runs once on return() twice, and next() after it", async () => {
    const { counts, handler } = counting();
    const iterator = open(handler);
    await iterator.next();
    await Promise.all([iterator.return(), iterator.return()]);
    assert.deepEqual(await iterator.return(), DONE);
    assert.deepEqual(await iterator.next(), DONE);
    assert.deepEqual(counts, { started: 1, pulled: 1, cleaned: 1 });
  });

  it("the finally of a subscription's handler runs once on throw(), which rejects with what was thrown", async () => {
    const { counts, handler } = counting();
    const iterator = open(handler);
    await iterator.next();
    const error = new Error("enough");
    assert.equal((await rejection(iterator.throw(error))).thrown, error);
    assert.equal(counts.cleaned, 1);
    assert.deepEqual(await iterator.next(), DONE);
    assert.equal((await rejection(iterator.throw(error))).thrown, error);
    await iterator.return();
    assert.equal(counts.cleaned, 1);
  });

  it("the finally of a subscription's handler runs once on completion", async () => {
    let cleaned = 0;
    const iterator = open(async function* () {
      try {
        yield 1;
      } finally {
        cleaned++;
      }
    });
    for await (const _ of iterator);
    assert.equal(cleaned, 1);
    await iterator.return();
    assert.equal(cleaned, 1);
  });

  it("the finally of a subscription's handler runs once when the handler itself throws", async () => {
    let cleaned = 0;
    const error = new Error("mine");
    const iterator = open(async function* () {
      try {
        yield 1;
        throw error;
      } finally {
        cleaned++;
      }
    });
    await iterator.next();
    assert.equal((await rejection(iterator.next())).thrown, error);
    await iterator.return();
    assert.equal(cleaned, 1);
  });

  it("the finally of a subscription's handler runs once with Symbol.asyncDispose, as `await using` calls it", async () => {
    const { counts, handler } = counting();
    const iterator = open(handler);
    await iterator.next();
    assert.equal(await iterator[Symbol.asyncDispose](), undefined);
    assert.equal(counts.cleaned, 1);
    await iterator[Symbol.asyncDispose]();
    assert.equal(counts.cleaned, 1);
  });
});

describe("a subscription that was never started", () => {
  it("a subscription that was never started is over after return() and throw(), and its handler never runs", async () => {
    const { counts, handler } = counting();
    const [one, two, three] = [open(handler), open(handler), open(handler)];
    assert.deepEqual(await one.return(), DONE);
    assert.deepEqual(await one.next(), DONE);
    const error = new Error("enough");
    assert.equal((await rejection(two.throw(error))).thrown, error);
    assert.deepEqual(await two.next(), DONE);
    await three[Symbol.asyncDispose]();
    assert.deepEqual(counts, { started: 0, pulled: 0, cleaned: 0 });
  });

  it("a subscription that was never started checks and calls nothing when it is returned", async () => {
    let calls = 0;
    const handler = byHand(() => ({ next: async () => ({ done: true, value: undefined }) }));
    const { registry, id } = registered(
      {
        type: "subscription",
        accessControl: { requiredScopes: [], customAuth: "ask" },
        handler: Object.assign((...all) => ++calls && handler(...all), {
          [Symbol.toStringTag]: "AsyncGeneratorFunction",
        }),
      },
      { customAuth: { ask: () => ++calls > 0 } },
    );
    await subscribe(registry, id, {}, {}).return();
    await settled();
    assert.equal(calls, 0);
  });
});

describe("return() while a next() is pending", () => {
  it("return() during a pending next() releases the consumer of a plain generator at once; cleanup follows", async () => {
    const { state, handler } = waiting();
    const iterator = open(handler);
    await iterator.next();
    const pending = iterator.next();
    await settled();
    const left = iterator.return();
    assert.deepEqual(await within(pending), DONE);
    assert.equal(state.cleaned, 0);
    state.release();
    assert.deepEqual(await left, DONE);
    assert.equal(state.cleaned, 1);
  });

  it("return() during a pending next() ends the read of an iterator that has return()", async () => {
    const events = [];
    const handler = byHand(() => {
      let tell;
      return {
        next() {
          events.push("next");
          return new Promise((resolve) => {
            tell = resolve;
          });
        },
        async return() {
          events.push("return");
          tell({ done: true, value: undefined });
          return { done: true, value: undefined };
        },
      };
    });
    const iterator = open(handler);
    const pending = iterator.next();
    await settled();
    assert.deepEqual(await within(iterator.return()), DONE);
    assert.deepEqual(await within(pending), DONE);
    await iterator.return();
    assert.deepEqual(events, ["next", "return"]);
  });

  it("return() releases all pending next() calls", async () => {
    const { state, handler } = waiting();
    const iterator = open(handler);
    await iterator.next();
    const pending = [iterator.next(), iterator.next(), iterator.next()];
    await settled();
    const left = iterator.return();
    assert.deepEqual(await within(Promise.all(pending)), [DONE, DONE, DONE]);
    state.release();
    await left;
    assert.equal(state.cleaned, 1);
  });

  it("throw() during a pending next() releases it, and rejects for its own caller", async () => {
    const { state, handler } = waiting();
    const iterator = open(handler);
    await iterator.next();
    const pending = iterator.next();
    await settled();
    const error = new Error("enough");
    const left = rejection(iterator.throw(error));
    assert.deepEqual(await within(pending), DONE);
    state.release();
    assert.equal((await left).thrown, error);
    assert.equal(state.cleaned, 1);
  });

  it("an error of a handler after return() is no unhandled rejection", async () => {
    const unhandled = [];
    const note = (reason) => unhandled.push(reason);
    process.on("unhandledRejection", note);
    try {
      let fail;
      const iterator = open(async function* () {
        yield 1;
        await new Promise((_, reject) => {
          fail = reject;
        });
      });
      await iterator.next();
      const pending = iterator.next();
      await settled();
      const left = iterator.return();
      assert.deepEqual(await within(pending), DONE);
      fail(new Error("afterwards"));
      assert.deepEqual(await left, DONE);
      await settled();
      assert.deepEqual(unhandled, []);
    } finally {
      process.off("unhandledRejection", note);
    }
  });

  it("return() while a customAuth rule runs keeps the handler's body from running", async () => {
    const { counts, handler } = counting();
    let grant;
    const { registry, id } = registered(
      { type: "subscription", handler, accessControl: { requiredScopes: [], customAuth: "ask" } },
      {
        customAuth: {
          ask: () =>
            new Promise((resolve) => {
              grant = resolve;
            }),
        },
      },
    );
    const iterator = subscribe(registry, id, {}, {});
    const pending = iterator.next();
    await settled();
    const left = iterator.return();
    assert.deepEqual(await within(pending), DONE);
    grant(true);
    assert.deepEqual(await left, DONE);
    assert.equal(counts.started, 0);
  });
});

describe("odd iterators", () => {
  it("leaving an iterator without return() is no error", async () => {
    const iterator = open(byHand(() => ({ next: async () => ({ done: false, value: 1 }) })));
    await iterator.next();
    assert.deepEqual(await iterator.return(), DONE);
  });

  it("a cleanup that fails rejects for the consumer that left", async () => {
    const error = new Error("cleanup");
    const iterator = open(async function* () {
      try {
        yield 1;
      } finally {
        // biome-ignore lint/correctness/noUnsafeFinally: a cleanup that fails is what is tested
        throw error;
      }
    });
    await iterator.next();
    assert.equal((await rejection(iterator.return())).thrown, error);
  });

  it("a handler that yields in its finally ends all the same", async () => {
    const iterator = open(async function* () {
      try {
        yield 1;
      } finally {
        yield "stubborn";
      }
    });
    await iterator.next();
    assert.deepEqual(await within(iterator.return()), DONE);
    assert.deepEqual(await iterator.next(), DONE);
  });

  it("an abort that the handler listens to ends the stream", async () => {
    const controller = new AbortController();
    const iterator = open(
      async function* (_, { signal }) {
        yield 1;
        await new Promise((resolve) => signal.addEventListener("abort", resolve));
      },
      { signal: controller.signal },
    );
    await iterator.next();
    const pending = iterator.next();
    await settled();
    controller.abort();
    assert.deepEqual(await within(pending), DONE);
  });
});
