// One contract for every stream of the package, wherever its events come from: a handler in the process, the call
// protocol, an HTTP response, a worker behind NATS.

import assert from "node:assert/strict";
import { once } from "node:events";
import { describe, it } from "node:test";
import { subscribe } from "@alkdev/operations";
import { serving, subscription } from "../call/support.mjs";
import { registryOf, serve, until } from "../http/support.mjs";
import { skip, useNats } from "../nats/support.mjs";

const DONE = { done: true, value: undefined };

/** A stream as its handler sees it: how often it was opened and closed, and what it sends. */
class Source {
  opened = 0;
  closed = 0;
  #send;
  #ready = new Promise((resolve) => {
    this.#send = resolve;
  });

  /** The events, and whether more are withheld. */
  send(events, ending = "open") {
    this.#send({ events, ending });
  }

  get operation() {
    const source = this;
    return subscription("events", async function* (_, { signal }) {
      source.opened += 1;
      try {
        const { events, ending } = await source.#ready;
        for (const each of events) yield each;
        if (ending === "fails") throw new Error("no more");
        if (ending === "open" && !signal.aborted) await once(signal, "abort");
      } finally {
        source.closed += 1;
      }
    });
  }

  async answer(response) {
    this.opened += 1;
    response.on("close", () => {
      this.closed += 1;
    });
    response.writeHead(200, { "content-type": "text/event-stream" });
    response.flushHeaders();
    const { events, ending } = await this.#ready;
    for (const each of events) response.write(`data: ${each}\n\n`);
    if (ending === "fails") response.write(`data: ${"x".repeat(70_000)}\n\n`);
    if (ending === "ends") response.end();
  }
}

const inProcess = async () => {
  const source = new Source();
  const { registry } = serving([source.operation]);
  const controller = new AbortController();
  // A generator of the user's runs its `finally` when the promise that it awaits is settled.
  return {
    source,
    open: () => subscribe(registry, "t.events", {}, { signal: controller.signal }),
    controller,
  };
};

const callProtocol = async () => {
  const source = new Source();
  const { callMap } = serving([source.operation]);
  return { source, open: () => callMap.subscribe("t.events", {}) };
};

const http = async () => {
  const source = new Source();
  const { url } = await serve((_, response) => source.answer(response));
  const registry = registryOf(
    {
      "/": {
        get: {
          operationId: "events",
          responses: { 200: { description: "", content: { "text/event-stream": {} } } },
        },
      },
    },
    { baseUrl: url, sse: { maxEventBytes: 65_536 } },
  );
  return { source, open: () => registry.get("t.events").handler({}, {}) };
};

contract("a handler in the process", inProcess);
contract("the call protocol", callProtocol);
contract("an HTTP response", http);
describe("over a broker", { skip }, () => {
  const nats = useNats();
  let count = 0;
  contract("a worker behind NATS", async () => {
    const source = new Source();
    // A prefix of its own for each, so that no other worker is asked.
    const prefix = `iterators-${++count}`;
    await nats.worker([source.operation], { prefix });
    const { callMap } = await nats.connect({ prefix });
    return { source, open: () => callMap.subscribe("t.events", {}) };
  });
});

function contract(name, make) {
  describe(name, () => {
    it(`a stream of ${name} opens nothing before the first next(), nor after return()`, async () => {
      const { source, open } = await make();
      const stream = open();
      assert.equal(stream[Symbol.asyncIterator](), stream);
      assert.deepEqual(await stream.return(), DONE);
      assert.deepEqual(await stream.next(), DONE);
      assert.deepEqual([source.opened, source.closed], [0, 0]);
    });

    it(`a stream of ${name} resolves concurrent next() calls in order, and ends once`, async () => {
      const { source, open } = await make();
      const stream = open();
      const asked = Promise.all([stream.next(), stream.next(), stream.next(), stream.next()]);
      source.send([1, 2], "ends");
      const steps = await asked;
      assert.deepEqual(
        steps.map(({ done, value }) => [done, value?.data]),
        [
          [false, 1],
          [false, 2],
          [true, undefined],
          [true, undefined],
        ],
      );
      assert.deepEqual(await stream.next(), DONE);
      await until(() => source.closed === 1);
      assert.equal(source.opened, 1);
    });

    it(`a stream of ${name} releases a consumer that leaves while it waits, and closes the source once`, async () => {
      const { source, open, controller } = await make();
      const stream = open();
      const pending = [stream.next(), stream.next()];
      await until(() => source.opened === 1);
      const left = stream.return();
      assert.deepEqual(await Promise.all(pending), [DONE, DONE]);
      source.send([]);
      controller?.abort();
      assert.deepEqual(await left, DONE);
      assert.deepEqual(await stream.next(), DONE);
      await until(() => source.closed === 1);
      await stream.return();
      assert.deepEqual([source.opened, source.closed], [1, 1]);
    });

    it(`a stream of ${name} fails the first pending next(), and ends the others`, async () => {
      const { source, open } = await make();
      const stream = open();
      const asked = Promise.allSettled([stream.next(), stream.next(), stream.next()]);
      source.send([1], "fails");
      const [first, second, third] = await asked;
      assert.equal(first.value.value.data, 1);
      assert.equal(second.status, "rejected");
      assert.deepEqual(third.value, DONE);
      assert.deepEqual(await stream.next(), DONE);
      await until(() => source.closed === 1);
    });

    it(`a stream of ${name} is closed once by throw() and by await using`, async () => {
      for (const leave of [
        (stream) => assert.rejects(stream.throw(new Error("mine")), { message: "mine" }),
        async (stream) => assert.equal(await stream[Symbol.asyncDispose](), undefined),
      ]) {
        const { source, open } = await make();
        source.send([1]);
        const stream = open();
        assert.equal((await stream.next()).value.data, 1);
        await leave(stream);
        assert.deepEqual(await stream.next(), DONE);
        await until(() => source.closed === 1);
        assert.equal(source.opened, 1);
      }
    });
  });
}
