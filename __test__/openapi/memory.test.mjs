// What a document holds in native memory is told to the garbage collector, which would otherwise see small objects
// and no reason to run.

import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { fileURLToPath } from "node:url";
import { runNode } from "../support/run-node.mjs";

const script = `
import { FromOpenAPI } from "@alkdev/operations";
import { realDocuments } from "./support/documents.mjs";

const text = realDocuments[0].text();
const sizes = [];
for (let round = 0; round < 24; round++) {
  FromOpenAPI(text, { namespace: "x" });
  await new Promise((resolve) => setImmediate(resolve));
  sizes.push(process.memoryUsage().rss);
}
console.log(JSON.stringify(sizes));
`;

describe("the memory of documents that nobody uses any more", () => {
  it("the memory of documents that are no longer used is released without a request for it", async () => {
    const cwd = fileURLToPath(new URL(".", import.meta.url));
    const { code, stdout, stderr } = await runNode(["--input-type=module", "--eval", script], {
      cwd,
      timeout: 120_000,
    });
    assert.deepEqual({ code, stderr }, { code: 0, stderr: "" });
    const sizes = JSON.parse(stdout);
    const one = sizes[1] - sizes[0];
    const grown = Math.max(...sizes) - sizes[0];
    assert.ok(grown < 15 * one, `24 documents of ${one} bytes took ${grown}`);
  });
});
