// What `npm run check` runs for a change, and which test files only `npm run test:all` has.

import assert from "node:assert/strict";
import { test } from "node:test";
import { concerns } from "../../scripts/check.mjs";
import { isSlow } from "../../scripts/tiers.mjs";
import { testFiles } from "../../scripts/unit-tests.mjs";

const tests = testFiles("__test__").map((file) => file.replaceAll("\\", "/"));

test("a change of one file of the facade runs the tests that are named after it", () => {
  const found = concerns(["facade/registry/middleware.ts"], tests);
  assert.deepEqual(found.tests, ["__test__/registry/middleware.test.mjs"]);
  assert.deepEqual([found.facade, found.binding, found.crates], [true, false, []]);
});

test("a change whose name says nothing runs the tests of its folder", () => {
  const found = concerns(["facade/nats/index.ts"], tests);
  assert.deepEqual(
    found.tests,
    tests.filter((file) => file.startsWith("__test__/nats/")),
  );
});

test("a change of a crate runs its Rust tests, builds the addon and runs the tests of its area", () => {
  const found = concerns(["crates/operations-nats/src/lib.rs"], tests);
  assert.deepEqual([found.crates, found.binding], [["operations-nats"], true]);
  assert.ok(found.tests.includes("__test__/nats/native.test.mjs"));
});

test("a changed test file is run itself", () => {
  assert.deepEqual(concerns(["__test__/access.test.mjs"], tests).tests, ["__test__/access.test.mjs"]);
});

test("each folder of the facade and each crate has tests that a change of it runs", () => {
  const areas = [
    "interop",
    "call",
    "cli",
    "code",
    "mcp",
    "nats",
    "openapi",
    "otel",
    "redis",
    "registry",
    "schema",
    "serve",
    "sse",
  ];
  for (const area of [...areas, "tools", "websocket"]) {
    assert.notEqual(concerns([`facade/${area}/index.ts`], tests).tests.length, 0, area);
  }
  for (const crate of [
    "core",
    "http",
    "mcp",
    "nats",
    "openapi",
    "redis",
    "schema",
    "serve",
    "spill",
    "tools",
    "websocket",
  ]) {
    assert.notEqual(concerns([`crates/operations-${crate}/src/lib.rs`], tests).tests.length, 0, crate);
  }
});

test("npm test runs all test files but a few slow ones", () => {
  const slow = tests.filter(isSlow);
  assert.ok(slow.length > 0 && slow.length < 20, slow.join("\n"));
});
