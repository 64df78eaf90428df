// FromSchema over every schema of the official JSON Schema test suite: the JSON does not change, and
// TypeBox's own Value.Check answers. Its verdict may differ where TypeBox has no such kind (oneOf is
// "at least one", tuples have a fixed length, ...): the rate of agreement is printed.

import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { FromSchema } from "@alkdev/operations";
import { Value } from "@sinclair/typebox/value";
import { suite, withoutSuite } from "../support/json-schema-suite.mjs";

const tests = join(suite, "tests");

/** The lowest rate of agreement on required cases that we are content with. */
const AGREEMENT = 0.8;

/**
 * Where TypeBox's check has nothing to look up and throws. In these files references lead to
 * documents that are not part of the schema; and draft 4's `id` counts only where `$schema` says that
 * it is draft 4, because everyone else uses the word for other things.
 */
const UNRESOLVED = [
  /^draft\d[\d-]*\/(refRemote|optional\/cross-draft)\.json$/,
  /^draft\d[\d-]*\/(defs|definitions|ref)\.json$/,
  /^draft2020-12\/dynamicRef\.json$/,
  /^draft4\/optional\/id\.json$/,
];

/** Every group of every file, with the file's name. */
function* groups() {
  for (const draft of readdirSync(tests)) {
    for (const file of readdirSync(join(tests, draft), { recursive: true })) {
      if (!file.endsWith(".json")) continue;
      const name = `${draft}/${file.replaceAll("\\", "/")}`;
      for (const group of JSON.parse(readFileSync(join(tests, draft, file), "utf8"))) yield [name, group];
    }
  }
}

test("FromSchema leaves the JSON of every schema of the suite unchanged", { skip: withoutSuite }, () => {
  let count = 0;
  for (const [file, { description, schema }] of groups()) {
    assert.equal(JSON.stringify(FromSchema(schema)), JSON.stringify(schema), `${file}: ${description}`);
    count += 1;
  }
  assert.ok(count > 1_000, `only ${count} schemas`);
  console.log(`round trip: ${count} of ${count} schemas`);
});

test("TypeBox's own check works on every schema of the suite", { skip: withoutSuite }, () => {
  const unresolved = new Set();
  const required = { cases: 0, same: 0 };
  const optional = { cases: 0, same: 0 };
  for (const [file, { description, schema, tests }] of groups()) {
    const converted = FromSchema(schema);
    const tally = file.includes("/optional/") ? optional : required;
    for (const { data, valid, description: name } of tests) {
      tally.cases += 1;
      try {
        if (Value.Check(converted, data) === valid) tally.same += 1;
      } catch (error) {
        assert.equal(
          error.constructor.name,
          "TypeDereferenceError",
          `${file}: ${description}: ${name}: ${error.message}`,
        );
        unresolved.add(file);
      }
    }
  }
  for (const file of unresolved)
    assert.ok(
      UNRESOLVED.some((pattern) => pattern.test(file)),
      file,
    );
  for (const pattern of UNRESOLVED)
    assert.ok(
      [...unresolved].some((file) => pattern.test(file)),
      `${pattern} is no exception any more`,
    );
  const rate = required.same / required.cases;
  console.log(
    `TypeBox agrees on ${required.same} of ${required.cases} required cases (${(100 * rate).toFixed(1)} %)`,
  );
  console.log(
    `and on ${optional.same} of ${optional.cases} optional ones (formats nobody registered are refused)`,
  );
  assert.ok(rate > AGREEMENT, `agreement fell to ${rate}`);
});
