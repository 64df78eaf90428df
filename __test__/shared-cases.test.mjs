// The tables of the core crate, run against the JavaScript functions of the same names.
// `crates/operations-core/tests/it/shared_cases.rs` runs them against the Rust ones.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { describe, it } from "node:test";
import {
  CallError,
  checkAccess,
  enforceAccess,
  InfrastructureErrorCode,
  isResponseEnvelope,
  OperationRegistry,
} from "@alkdev/operations";
import { toTools } from "@alkdev/operations/tools";
import { Type } from "@sinclair/typebox";

const { operationNotFound } = createRequire(import.meta.url)("../dist/registry/nearest.js");
const { readEvent } = createRequire(import.meta.url)("../dist/call/incoming.js");
const { errorOf } = createRequire(import.meta.url)("../dist/outcomes.js");
const { internalFlag, isInternal } = createRequire(import.meta.url)("../dist/errors.js");
const { traceIn } = createRequire(import.meta.url)("../dist/interop/trace.js");

function cases(file) {
  const url = new URL(`../crates/operations-core/tests/cases/${file}`, import.meta.url);
  const list = JSON.parse(readFileSync(url, "utf8"));
  assert.ok(list.length > 0);
  return list;
}

describe("shared table: envelopes", () => {
  for (const { name, value, envelope } of cases("envelopes.json")) {
    it(`shared table of envelopes: ${name}`, () => assert.equal(isResponseEnvelope(value), envelope));
  }
});

describe("shared table: conditions", () => {
  for (const { name, when, input, identity, listed, allowed } of cases("conditions.json")) {
    it(`shared table of conditions: ${name}`, async () => {
      const registry = new OperationRegistry();
      registry.register({
        namespace: "ns",
        name: "op",
        version: "1.0.0",
        type: "query",
        description: "",
        inputSchema: Type.Unknown(),
        outputSchema: Type.Unknown(),
        accessControl: { requiredScopes: [], when },
        handler: () => "done",
      });
      if (listed) {
        const kit = toTools(registry, { target: "openai", identity });
        assert.equal(kit.tools.length, allowed ? 1 : 0);
        return;
      }
      const call = registry.execute("ns.op", input, { identity });
      if (allowed) assert.equal((await call).data, "done");
      else await assert.rejects(call, { code: "ACCESS_DENIED", message: /does not meet the condition on/ });
    });
  }
});

describe("shared table: access", () => {
  for (const { name, rules, identity, allowed, message, details } of cases("access.json")) {
    it(`shared table of access: ${name}`, () => {
      assert.equal(checkAccess(rules, identity), allowed);
      assert.doesNotThrow(() => enforceAccess(rules, identity, "ns.op", true));
      if (allowed) {
        assert.equal(enforceAccess(rules, identity, "ns.op"), undefined);
        return;
      }
      assert.throws(
        () => enforceAccess(rules, identity, "ns.op"),
        (error) => {
          assert.ok(error instanceof CallError);
          assert.equal(error.code, InfrastructureErrorCode.ACCESS_DENIED);
          assert.ok(error.message.includes("ns.op"));
          assert.ok(error.message.includes(message), error.message);
          assert.deepEqual(error.details, { operationId: "ns.op", ...details });
          assert.ok(!JSON.stringify([error.message, error.details]).includes("secret-scope"));
          return true;
        },
      );
    });
  }
});

describe("shared table: errors that were not meant for callers", () => {
  for (const { name, payload, internal, sent } of cases("internal.json")) {
    it(name, () => {
      const { requestId: _, ...event } = readEvent("call.error", { requestId: "1", ...payload });
      const error = errorOf(event);
      assert.equal(isInternal(error), internal);
      assert.equal(internalFlag(error.code, error.details, internal) ?? null, sent);
    });
  }
});

describe("shared table: traces", () => {
  for (const { name, trace, kept } of cases("traces.json")) {
    it(`shared table of traces: ${name}`, () => assert.deepEqual(traceIn(trace), kept));
  }
});

describe("shared table: nearest names", () => {
  for (const { wanted, names, nearest } of cases("nearest.json")) {
    it(`shared table of nearest names: ${wanted.slice(0, 40)} among ${names.length}`, () =>
      assert.equal(operationNotFound(wanted, names).details.nearest, nearest));
  }
});
