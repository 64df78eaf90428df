// What the log says about outputs: operation, paths, what was done; not too often; and never an exception.

import assert from "node:assert/strict";
import { afterEach, describe, it, mock } from "node:test";
import { httpEnvelope, mcpEnvelope } from "@alkdev/operations";
import { configure } from "@logtape/logtape";
import { Type } from "@sinclair/typebox";
import { registered } from "./support/operations.mjs";
import { collectLog } from "./support/warnings.mjs";

const Point = Type.Object({ x: Type.Number(), y: Type.Number() });

describe("warnings about outputs", () => {
  const log = collectLog();
  afterEach(() => mock.timers.reset());

  it("a warning about a replaced value has the operation, the path and what was done", async () => {
    const { execute, id } = registered({ outputSchema: Point });
    const { data } = await execute({ x: "much", y: 1 });
    assert.deepEqual(data, { x: 0, y: 1 });
    assert.equal(log.length, 1);
    const [{ category, level, text, properties }] = log;
    assert.deepEqual(category, ["operations", "registry"]);
    assert.equal(level, "warning");
    assert.ok(text.includes(id));
    assert.match(text, /\/x: .*replaced/);
    assert.equal(properties.operationId, id);
    assert.deepEqual(
      properties.notes.map(({ path }) => path),
      ["/x"],
    );
  });

  it("one warning has all paths of one output", async () => {
    const { execute } = registered({ outputSchema: Type.Object({ list: Type.Array(Point) }) });
    await execute({
      list: [
        { x: "a", y: "b" },
        { x: 1, y: "c" },
      ],
    });
    assert.equal(log.length, 1);
    for (const path of ["/list/0/x", "/list/0/y", "/list/1/y"]) assert.ok(log[0].text.includes(`${path}: `));
  });

  it("a warning says that a value which breaks a constraint is returned unchanged", async () => {
    const Name = Type.Object({ name: Type.String({ pattern: "^[a-z]+$" }) });
    const { execute } = registered({ outputSchema: Name });
    const value = { name: "UPPER" };
    assert.equal((await execute(value)).data, value);
    assert.equal(log.length, 1);
    assert.ok(log[0].text.includes("/name: "));
  });

  it("a value that cannot be made stays missing with a warning, and the call succeeds", async () => {
    const Code = Type.Object({ code: Type.String({ pattern: "^[A-Z]{3}$" }) });
    const { execute } = registered({ outputSchema: Code });
    const value = {};
    assert.deepEqual((await execute(value)).data, {});
    assert.equal(log.length, 1);
    assert.ok(log[0].text.includes("code"));
  });

  it("with output off, a warning says what is wrong, and that it was left", async () => {
    const { execute, id } = registered({ outputSchema: Point }, { output: "off" });
    await execute({ x: "much", y: 1 });
    assert.equal(log.length, 1);
    assert.ok(log[0].text.includes(id));
    assert.ok(log[0].text.includes("left as it is"));
    assert.ok(log[0].text.includes("/x: Expected number"));
  });

  it("outputs that fit, and undeclared properties, cause no warning", async () => {
    for (const output of ["normalise", "keep", "off"]) {
      const { execute } = registered({ outputSchema: Point }, { output });
      await execute({ x: 1, y: 2 });
      await execute({ x: 1, y: 2, z: 3 });
    }
    assert.deepEqual(log, []);
  });

  it("an output that is not normalised causes no warning", async () => {
    const point = registered({ outputSchema: Point });
    await point.execute(mcpEnvelope([], { isError: true, content: [] }));
    await point.execute(httpEnvelope(undefined, { statusCode: 204, headers: {}, contentType: "" }));
    await registered({ outputSchema: Type.Unknown() }).execute(() => {});
    await registered({ outputSchema: Type.Any() }).execute(Symbol("s"));
    assert.deepEqual(log, []);
  });

  it("a warning is logged at most once per operation, path and minute", async () => {
    mock.timers.enable({ apis: ["Date"], now: Date.now() });
    const { execute } = registered({ outputSchema: Point });
    const wrong = { x: "much", y: 1 };
    for (let i = 0; i < 100; i++) await execute(wrong);
    assert.equal(log.length, 1);
    mock.timers.tick(59_999);
    await execute(wrong);
    assert.equal(log.length, 1);
    mock.timers.tick(1);
    await execute(wrong);
    await execute(wrong);
    assert.equal(log.length, 2);
  });

  it("a warning about another path or operation is logged at once", async () => {
    const first = registered({ outputSchema: Point });
    const second = registered({ outputSchema: Point });
    await first.execute({ x: "much", y: 1 });
    await first.execute({ x: "much", y: "more" });
    assert.equal(log.length, 2);
    assert.deepEqual(
      log[1].properties.notes.map(({ path }) => path),
      ["/y"],
    );
    assert.ok(!log[1].text.includes("/x"));
    await second.execute({ x: "much", y: 1 });
    assert.equal(log.length, 3);
    assert.ok(log[2].text.includes(second.id));
  });

  it("a clock that is set back does not silence warnings for long", async () => {
    const now = Date.now();
    mock.timers.enable({ apis: ["Date"], now });
    const { execute } = registered({ outputSchema: Point });
    await execute({ x: "much", y: 1 });
    mock.timers.setTime(now - 86_400_000);
    await execute({ x: "much", y: 1 });
    mock.timers.setTime(now - 86_400_000 + 60_000);
    await execute({ x: "much", y: 1 });
    assert.ok(log.length >= 2);
  });

  it("a log sink that throws does not fail the call", async () => {
    await configure({
      reset: true,
      sinks: {
        broken: () => {
          throw new Error("broken sink");
        },
      },
      loggers: [
        { category: ["operations"], sinks: ["broken"] },
        { category: ["logtape", "meta"], sinks: [] },
      ],
    });
    const { execute } = registered({ outputSchema: Point });
    assert.deepEqual((await execute({ x: "much", y: 1 })).data, { x: 0, y: 1 });
  });
});
