// The tests of the package itself, on the entry without native code: what a test checks must hold there too, unless it
// asks for something that says that it is not available.

import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { dirname, join } from "node:path";
import { describe, it } from "node:test";
import { fileURLToPath } from "node:url";

const folder = dirname(dirname(fileURLToPath(import.meta.url)));

/** Each file, and how many of its tests pass at least. */
const SUITES = {
  "access.test.mjs": 9,
  "content-blocks.test.mjs": 5,
  "envelopes.test.mjs": 14,
  "error-guards.test.mjs": 3,
  "errors.test.mjs": 24,
  "shared-cases.test.mjs": 60,
  "call/calls.test.mjs": 20,
  "call/identity.test.mjs": 3,
  "call/hostile.test.mjs": 9,
  "call/limits.test.mjs": 9,
  "call/port.test.mjs": 5,
  "call/subscriptions.test.mjs": 15,
  "transports/port.test.mjs": 23,
  "registry/access.test.mjs": 30,
  "registry/compose.test.mjs": 20,
  "registry/deadline.test.mjs": 24,
  "registry/execute.test.mjs": 39,
  "registry/hostile.test.mjs": 36,
  "registry/not-found.test.mjs": 26,
  "registry/notes.test.mjs": 15,
  "registry/output.test.mjs": 47,
  "registry/registration.test.mjs": 56,
  "registry/served-trust.test.mjs": 380,
  "registry/subscribe.test.mjs": 39,
  "registry/subscribe-end.test.mjs": 21,
  "schema/from-schema.test.mjs": 96,
  "schema/guards.test.mjs": 3,
  "sse/parse-frames.test.mjs": 100,
};

/** What the test runner prints about a file. */
function report(file) {
  const { NODE_TEST_CONTEXT: _, ...env } = process.env;
  const args = ["--conditions=workerd", "--test", "--test-reporter=tap", join(folder, file)];
  return new Promise((resolve) => {
    const options = { env, maxBuffer: 64 * 1024 * 1024, timeout: 300_000 };
    execFile(process.execPath, args, options, (_, stdout) => resolve(stdout));
  });
}

describe("with the condition browser", () => {
  for (const [file, least] of Object.entries(SUITES)) {
    it(`${file} passes with the condition browser, except for what is not available`, async () => {
      const text = await report(file);
      const failures = text
        .split(/^ *not ok /m)
        .slice(1)
        .filter((failure) => !/^ *error: .*(is not available here|subtests? failed)/m.test(failure));
      assert.deepEqual(failures, []);
      assert.ok(Number(/^# pass (\d+)$/m.exec(text)?.[1]) >= least, text.slice(-300));
      assert.match(text, /^# cancelled 0$/m);
    });
  }
});
