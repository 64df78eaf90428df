// The log of the package on standard error.

import { configure, type LogLevel, type LogRecord } from "@logtape/logtape";
import type { Terminal } from "./terminal.js";

export async function showLog(terminal: Terminal, lowestLevel: LogLevel): Promise<void> {
  const sink = ({ category, level, message }: LogRecord) =>
    terminal.complain(`${level} ${category.slice(1).join(".")}: ${message.map(String).join("")}`);
  await configure({
    reset: true,
    sinks: { terminal: sink },
    loggers: [
      { category: "operations", lowestLevel, sinks: ["terminal"] },
      { category: ["logtape", "meta"], lowestLevel: "fatal", sinks: [] },
    ],
  });
}
