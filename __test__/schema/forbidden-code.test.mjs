// A process that forbids code from strings (a content security policy, `vm` contexts, hardened servers):
// fast checks and the native walk serve alone.

import assert from "node:assert/strict";
import { test } from "node:test";
import { runNode } from "../support/run-node.mjs";

const script = `
  import assert from "node:assert/strict";
  import { createRequire } from "node:module";
  import { Type } from "@sinclair/typebox";
  import { CallError, collectErrors, FromSchema, validateOrThrow } from "@alkdev/operations";

  const require = createRequire(process.cwd() + "/");
  const { CompiledSchema } = require("../../dist/schema/compiled.js");

  assert.throws(() => new Function("return 1"), EvalError);

  const schema = Type.Object({ id: Type.Integer(), tags: Type.Optional(Type.Array(Type.String())) });
  const compiled = new CompiledSchema(schema);
  assert.deepEqual(compiled.warmUp(), { check: false, exact: false });

  const value = { id: 1, tags: ["a"] };
  // Often enough that a schema would have earned code of its own.
  for (let i = 0; i < 5_000; i++) {
    assert.equal(compiled.check(value), true);
    assert.equal(compiled.check({ id: "1" }), false);
  }
  assert.deepEqual(compiled.errors({ id: 1, tags: [1] }), [{ path: "/tags/0", message: "Expected string" }]);
  assert.equal(compiled.normalise(value).value, value);
  assert.deepEqual(compiled.normalise({ id: "1", extra: true }).value, { id: 1 });
  assert.equal(compiled.isExact(value), true);
  assert.equal(compiled.isExact({ ...value, extra: true }), false);
  assert.equal(compiled.checkJson('{"id":1}'), true);

  validateOrThrow(schema, value);
  assert.throws(() => validateOrThrow(schema, { id: 1.5 }, "the test"), (error) => {
    assert.ok(error instanceof CallError);
    assert.equal(error.code, "VALIDATION_ERROR");
    assert.match(error.message, /^Validation failed for the test/);
    return true;
  });
  assert.deepEqual(collectErrors(schema, { id: 1.5 }), [{ path: "/id", message: "Expected integer" }]);
  assert.deepEqual(collectErrors(FromSchema({ type: "string", pattern: "^a" }), "b").length, 1);
  console.log("done");
`;

test("the walk serves where code generation is forbidden", async () => {
  const { code, stdout, stderr } = await runNode(
    ["--disallow-code-generation-from-strings", "--input-type=module", "--eval", script],
    { cwd: new URL(".", import.meta.url) },
  );
  assert.equal(code, 0, stderr);
  assert.equal(stdout, "done\n");
});
