// npm start: a tour of the package. Each chapter is a program of its own that can be read and run alone.

import { fileURLToPath } from "node:url";

const chapters = [
  "01-envelopes.mjs",
  "02-errors.mjs",
  "03-access.mjs",
  "04-registry.mjs",
  "05-schemas.mjs",
  "06-call-protocol.mjs",
  "07-openapi.mjs",
  "08-mcp.mjs",
  "09-serving.mjs",
  "10-hub.mjs",
  "11-code.mjs",
];

for (const chapter of chapters) {
  const url = new URL(chapter, import.meta.url);
  console.log(`\n\x1b[1m${"─".repeat(78)}\n${fileURLToPath(url).replace(process.cwd(), ".")}\x1b[0m`);
  const { default: run } = await import(url.href);
  await run();
}
console.log("\nThat was the tour. The guides are in docs/guides/, the API is listed in README.md.");
console.log("Next: `npm run hub` starts an agent hub (examples/agent-hub) and prints its addresses.");
