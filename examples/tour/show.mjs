// How the tour prints.

import { inspect } from "node:util";

export function say(text) {
  console.log(`\n${text}`);
}

export function show(label, value) {
  const text = typeof value === "string" ? value : inspect(value, { breakLength: 100, colors: false });
  console.log(`  ${label.padEnd(34)} ${text}`);
}
