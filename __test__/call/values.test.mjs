// Data does not change silently on the way: over a port, Redis and NATS.

import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { MessageChannel } from "node:worker_threads";
import { createPortEventTarget, PendingRequestMap } from "@alkdev/operations";
import { connectNats } from "@alkdev/operations/transport-nats";
import { createRedisEventTarget } from "@alkdev/operations/transport-redis";
import { missingBroker, startNats, startRedis } from "../support/brokers.mjs";
import { query, serving } from "./support.mjs";

const given = {};
const operations = [query("echo", (input) => input), query("give", ({ what }) => given[what]())];
const bytes = new Uint8Array([0, 1, 127, 128, 255]);

/** Ways to reach the operations, and how to end them. */
const wires = {
  "a MessagePort": {
    async open() {
      const { port1, port2 } = new MessageChannel();
      serving(operations, { target: createPortEventTarget(port1) });
      const map = new PendingRequestMap(createPortEventTarget(port2));
      return { map, close: () => port1.close() };
    },
  },
  Redis: {
    skip: missingBroker("redis-server"),
    async open() {
      const redis = await startRedis();
      const [there, here] = [0, 1].map(() => createRedisEventTarget({ url: redis.url }));
      serving(operations, { target: there });
      const map = new PendingRequestMap(here);
      for (let isServed = false; !isServed; ) {
        isServed = await map.call("t.echo", 1).then(
          () => true,
          () => false,
        );
      }
      const close = async () => {
        await Promise.all([there.close(), here.close()]);
        await redis.stop();
      };
      return { map, close };
    },
  },
  NATS: {
    skip: missingBroker("nats-server"),
    async open() {
      const nats = await startNats();
      const [worker, caller] = await Promise.all(
        ["worker", "caller"].map((name) => connectNats({ servers: nats.url, name })),
      );
      await worker.serve(serving(operations).registry);
      const close = async () => {
        await Promise.all([worker.close(), caller.close()]);
        await nats.stop();
      };
      return { map: caller.callMap, close };
    },
  },
};

for (const [name, { skip = false, open }] of Object.entries(wires)) {
  describe(`over ${name}`, { skip, timeout: 60_000 }, () => {
    let wire;
    before(async () => {
      wire = await open();
    });
    after(() => wire?.close());
    const echo = async (input) => (await wire.map.call("t.echo", input)).data;

    it("binary data arrives as a Uint8Array", async () => {
      assert.deepEqual(await echo(bytes), bytes);
      assert.deepEqual(await echo(bytes.buffer), bytes);
      assert.deepEqual(await echo(Buffer.from(bytes)), bytes);
      assert.deepEqual(await echo({ list: [bytes, { inner: bytes }] }), { list: [bytes, { inner: bytes }] });
    });

    it("an object that resembles binary data stays what it is", async () => {
      for (const value of [
        { $bytes: "aGk=" },
        { $bytes: ["aGk="] },
        { $bytes: { $bytes: "aGk=" } },
        { $bytes: bytes },
        { $bytes: "aGk=", more: 1 },
        JSON.parse('{"__proto__":{"$bytes":"aGk="}}'),
      ]) {
        const back = await echo(value);
        assert.deepEqual(back, value);
        assert.equal(JSON.stringify(back), JSON.stringify(value));
      }
    });

    for (const [what, value, path] of [
      ["a bigint", { list: [{ n: 1n }] }, /\/list\/0\/n is a bigint/],
      ["NaN", { a: Number.NaN }, /\/a is NaN/],
      ["infinity", [1, Number.POSITIVE_INFINITY], /\/1 is Infinity/],
      ["undefined in a list", { a: [1, undefined] }, /\/a\/1 is undefined/],
      ["a Map", { "a/b": new Map() }, /\/a~1b is a Map/],
      ["a function in a list", [() => {}], /\/0 is a function/],
      ["numbers that are no bytes", { f: new Float64Array(1) }, /\/f is a Float64Array/],
    ]) {
      it(`over ${name}, ${what} is refused by the sender, with its path`, async () => {
        await assert.rejects(wire.map.call("t.echo", value), { code: "VALIDATION_ERROR", message: path });
        given.it = () => value;
        await assert.rejects(wire.map.call("t.give", { what: "it" }), {
          code: "VALIDATION_ERROR",
          message: path,
        });
        assert.equal(await echo("still there"), "still there");
      });
    }

    it(`over ${name}, what JSON omits or writes in its own way is as with JSON`, async () => {
      const date = new Date(0);
      assert.deepEqual(await echo({ a: undefined, date }), { date: date.toJSON() });
    });
  });
}
