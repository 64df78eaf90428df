// A reporter of node:test for scripts/unit-tests.mjs: a JSON text per line for what was left out, and at the end how
// long each file took.

import { relative } from "node:path";

export default async function* report(events) {
  const files = {};
  for await (const { type, data } of events) {
    if (type !== "test:pass" && type !== "test:fail") continue;
    if (data.nesting === 0 && data.file) {
      const file = relative(process.cwd(), data.file);
      files[file] = (files[file] ?? 0) + data.details.duration_ms;
    }
    if (type === "test:pass" && data.skip) {
      const reason = data.skip === true ? "no reason given" : data.skip;
      yield `${JSON.stringify({ name: data.name, reason })}\n`;
    }
  }
  yield `${JSON.stringify({ files })}\n`;
}
