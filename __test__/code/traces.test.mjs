// The trace of a program: a span for the run, its calls below it.

import assert from "node:assert/strict";
import { AsyncLocalStorage } from "node:async_hooks";
import { after, describe, it } from "node:test";
import { createCodeRunner } from "@alkdev/operations/code";
import { instrument } from "@alkdev/operations/otel";
import { toTools } from "@alkdev/operations/tools";
import { spanOf, spans, useSdk } from "../otel/support.mjs";
import { programs } from "./support.mjs";

useSdk();
const registry = programs();
const runner = createCodeRunner(registry);
const stop = instrument(registry);
after(() => {
  stop();
  return runner.close();
});
const children = (parent) =>
  spans().filter(({ parentSpanContext }) => parentSpanContext?.spanId === parent.spanContext().spanId);

describe("the span of a run", () => {
  it("has its calls below it, each run its own", async () => {
    const source = (n) => `for (let i = 0; i < ${n}; i++) await demo.double({ n: i }); return 1`;
    const runs = await Promise.all([runner.run(source(1)), runner.run(source(2)), runner.run(source(3))]);
    const found = spans().filter(({ name }) => name === "run program");
    for (const [index, { id }] of runs.entries()) {
      const span = found.find(({ attributes }) => attributes["operations.run.id"] === id);
      assert.equal(span.attributes["operations.run.status"], "completed");
      assert.equal(span.attributes["operations.run.calls"], index + 1);
      assert.deepEqual(
        children(span).map(({ attributes }) => attributes["operations.id"]),
        Array.from({ length: index + 1 }, () => "demo.double"),
      );
    }
  });

  it("says how a run failed", async () => {
    await runner.run("throw new Error('no')");
    const { status, attributes } = spanOf("run program");
    assert.equal(attributes["error.type"], "PROGRAM_ERROR");
    assert.match(status.message, /Error: no/);
  });

  it("belongs to the trace that its caller sent", async () => {
    const kit = toTools(registry, { target: "json-schema", mode: "code", runner });
    const traceparent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
    await kit.call("run", { code: "return await demo.double({ n: 1 })" }, { trace: { traceparent } });
    const span = spanOf("run program");
    assert.equal(span.spanContext().traceId, "0af7651916cd43dd8448eb211c80319c");
    assert.equal(children(span).length, 1);
  });
});

describe("the asynchronous context of a call", () => {
  it("is that of the code that started the run, whichever thread was used before", async () => {
    const storage = new AsyncLocalStorage();
    registry.register({
      ...registry.getSpec("demo.double"),
      name: "stored",
      handler: () => storage.getStore() ?? null,
    });
    const of = (value) => storage.run(value, () => runner.run("return await demo.stored({})"));
    assert.equal((await of("one")).data, "one");
    assert.equal((await of("other")).data, "other");
    assert.equal((await runner.run("return await demo.stored({})")).data, null);
  });
});
