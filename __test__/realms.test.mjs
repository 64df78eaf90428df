// Clocks and realms of test runners: mocked timers, values of `vm` contexts, and jsdom.

import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { createContext, runInContext } from "node:vm";
import { Worker } from "node:worker_threads";
import {
  buildCallHandler,
  collectErrors,
  connectPort,
  OperationRegistry,
  PendingRequestMap,
} from "@alkdev/operations";
import { Type } from "@sinclair/typebox";
import { hubOf, spokeOf } from "./hub/support.mjs";
import { operation } from "./registry/support/operations.mjs";
import { post } from "./serve/support.mjs";
import { registryOf } from "./support/registry.mjs";
import { runModule, runNode } from "./support/run-node.mjs";

const OPERATIONS = new URL("registry/support/operations.mjs", import.meta.url).href;

describe("a mocked clock", () => {
  it("a deadline of Date.now() + 60_000 is a time, not a duration, if a mocked clock stands at 0", async (t) => {
    t.mock.timers.enable({ apis: ["Date", "setTimeout"], now: 0 });
    const registry = new OperationRegistry();
    registry.register(operation({ name: "echo" }));
    registry.register(operation({ name: "hang", handler: () => new Promise(() => {}) }));
    const context = { deadline: Date.now() + 60_000 };
    assert.equal((await registry.execute("test.echo", "a", context)).data, "a");
    const late = registry.execute("test.hang", "a", context);
    t.mock.timers.tick(60_000);
    await assert.rejects(late, { code: "TIMEOUT" });
    const map = new PendingRequestMap();
    const unanswered = map.call("test.echo", "a", { deadline: Date.now() + 5_000 });
    t.mock.timers.tick(5_000);
    await assert.rejects(unanswered, { code: "TIMEOUT" });
  });

  it("a deadline of 60_000 is refused as a duration on the clock of the machine", async () => {
    const registry = new OperationRegistry();
    registry.register(operation({ name: "echo" }));
    await assert.rejects(registry.execute("test.echo", "a", { deadline: 60_000 }), /use Date\.now\(\) \+ ms/);
  });

  /** Says whether its deadline is in the next minute, or as good as that. */
  const inTime = operation({
    name: "inTime",
    handler: (_, { deadline }) => deadline > Date.now() && deadline < Date.now() + 61_000,
  });
  const fails = operation({
    name: "fails",
    handler: () => {
      throw new Error("refused");
    },
  });
  const within = () => ({ deadline: Date.now() + 60_000 });

  for (const now of [0, Date.UTC(2030, 0, 1)]) {
    const year = new Date(now).getUTCFullYear();

    it(`calls are answered here and through a call map if a mocked clock stands at ${year}`, async (t) => {
      t.mock.timers.enable({ apis: ["Date"], now });
      const limited = operation({
        name: "limited",
        limits: { concurrency: 1, queue: 2 },
        handler: async (...args) => inTime.handler(...args),
      });
      const registry = registryOf(inTime, limited);
      const callMap = new PendingRequestMap();
      callMap["call.requested"].subscribe(buildCallHandler({ registry, callMap }));
      const calls = [
        registry.execute("test.inTime", {}, within()),
        registry.execute("test.limited", {}, within()),
        registry.execute("test.limited", {}, within()),
        callMap.call("test.inTime", {}, within()),
      ];
      for (const call of calls) assert.equal((await call).data, true);
    });

    it(`serve answers if a mocked clock stands at ${year}`, async (t) => {
      const { url, address, registry } = await hubOf([inTime, fails], {
        hub: { accept: ({ name }) => ({ namespace: name }) },
        timeout: 60_000,
      });
      const spoke = await spokeOf(address, { token: "bob", name: "laptop" });
      await spoke.serve(registryOf(inTime));
      t.mock.timers.enable({ apis: ["Date"], now });
      assert.equal(await (await post(`${url}/api/test/inTime`, {})).json(), true);
      assert.equal((await post(`${url}/api/test/fails`, {})).status, 500);
      assert.equal((await spoke.callMap.call("test.inTime", {}, within())).data, true);
      await assert.rejects(spoke.callMap.call("test.fails", {}, within()), { code: "EXECUTION_ERROR" });
      assert.equal((await registry.execute("laptop.inTime", {}, within())).data, true);
    });

    it(`a worker thread with the clock of the machine answers if a mocked clock stands at ${year}`, async (t) => {
      const worker = new Worker(
        `const { connectPort, createRegistry } = require("@alkdev/operations");
         const { parentPort } = require("node:worker_threads");
         import(${JSON.stringify(OPERATIONS)}).then(({ operation }) => {
           const inTime = operation({ name: "inTime", handler: ${inTime.handler} });
           connectPort(parentPort).serve(createRegistry([inTime]));
         });`,
        { eval: true },
      );
      t.after(() => worker.terminate());
      t.mock.timers.enable({ apis: ["Date"], now });
      const { callMap } = connectPort(worker);
      assert.equal((await callMap.call("test.inTime", {}, within())).data, true);
    });
  }

  it("calls are answered if the clock was mocked before the package is loaded", async () => {
    const { stdout, stderr } = await runModule(`
      const now = Date.UTC(2030, 0, 1);
      globalThis.Date = class extends Date { static now() { return now; } };
      const { createRegistry } = await import("@alkdev/operations");
      const { serve } = await import("@alkdev/operations/serve");
      const { operation } = await import(${JSON.stringify(OPERATIONS)});
      const handler = (_, { deadline }) => deadline > now && deadline < now + 61_000;
      const registry = createRegistry([operation({ name: "time", handler })]);
      const served = await serve(registry, { doors: { http: true }, timeout: 60_000 });
      const response = await fetch(served.url + "/api/test/time", { method: "POST" });
      console.log(await response.text());
      await served.close();`);
    assert.equal(stderr, "");
    assert.equal(stdout, "true\n");
  });
});

describe("values of another realm", () => {
  const other = (code) => runInContext(code, createContext({}));
  const values = [
    [Type.Date(), "new Date(0)", "Object.create(Date.prototype)"],
    [Type.Uint8Array({ minByteLength: 2 }), "new Uint8Array(2)", "new Uint8Array(1)"],
    [Type.Promise(Type.Any()), "Promise.resolve()", "({ then() {} })"],
  ];
  for (const [schema, valid, invalid] of values) {
    it(`${valid} of another realm fits its schema, and ${invalid} does not`, () => {
      const inObject = Type.Object({ value: schema });
      // Often enough for the check to be compiled.
      for (let i = 0; i < 2_000; i++) {
        assert.deepEqual(collectErrors(inObject, { value: cached(valid) }), []);
        assert.notDeepEqual(collectErrors(inObject, { value: cached(invalid) }), []);
      }
    });
  }

  it("a Date of another realm is no record", () => {
    const record = Type.Record(Type.String(), Type.Any());
    for (let i = 0; i < 2_000; i++) {
      assert.notDeepEqual(collectErrors(record, cached("new Date(0)")), []);
      assert.deepEqual(collectErrors(record, cached("({ a: 1 })")), []);
    }
  });

  const kept = new Map();
  function cached(code) {
    if (!kept.has(code)) kept.set(code, other(code));
    return kept.get(code);
  }
});

describe("Jest's jsdom", () => {
  it("the entry for browsers loads in Jest's jsdom, which has no TextEncoder", async () => {
    const { code, stderr } = await runNode(
      [
        "--eval",
        `delete globalThis.TextEncoder;
         delete globalThis.setImmediate;
         delete globalThis.structuredClone;
         const { exports } = require("@alkdev/operations/package.json");
         const { createRegistry } = require("../" + exports["."].browser.require);
         createRegistry([]);`,
      ],
      { cwd: new URL(".", import.meta.url) },
    );
    assert.equal(stderr, "");
    assert.equal(code, 0);
  });
});
