// The log lines of the package while a test runs.

import { configure, reset } from "@logtape/logtape";

/** Runs a test with a list that fills with log records. */
export async function logged(test) {
  const lines = [];
  await configure({
    sinks: { lines: (record) => lines.push(record) },
    loggers: [{ category: ["operations"], sinks: ["lines"], lowestLevel: "debug" }],
    reset: true,
  });
  try {
    await test(lines);
  } finally {
    await reset();
  }
}

export const textOf = (record) => JSON.stringify([record.message, record.properties]);
