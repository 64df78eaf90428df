// Clocks and realms of test runners: mocked timers, values of `vm` contexts, and jsdom.

import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { createContext, runInContext } from "node:vm";
import { collectErrors, OperationRegistry, PendingRequestMap } from "@alkdev/operations";
import { Type } from "@sinclair/typebox";
import { operation } from "./registry/support/operations.mjs";
import { runNode } from "./support/run-node.mjs";

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
