// What the package logs, for tests that read it.

import { afterEach, beforeEach } from "node:test";
import { configure, reset } from "@logtape/logtape";

/** Collects log lines during each test of the suite that calls this. The list is emptied between tests. */
export function collectLog() {
  const lines = [];
  beforeEach(async () => {
    lines.length = 0;
    await configure({
      sinks: {
        memory: ({ category, level, message, properties }) => {
          // The line that every call writes has tests of its own (watch.test.mjs).
          if (category.at(-1) === "call" && level === "debug") return;
          lines.push({ category, level, text: message.join(""), properties });
        },
      },
      loggers: [
        { category: ["operations"], sinks: ["memory"], lowestLevel: "debug" },
        { category: ["logtape", "meta"], sinks: [] },
      ],
    });
  });
  afterEach(() => reset());
  return lines;
}
