// The worker of the guide on the call protocol: its two files are run as they are printed.

import assert from "node:assert/strict";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { it } from "node:test";
import { fileURLToPath } from "node:url";
import { runNode } from "../support/run-node.mjs";

const guide = new URL("../../docs/guides/call-protocol.md", import.meta.url);
const here = fileURLToPath(new URL(".", import.meta.url));

it("the worker of the guide answers the program of the guide", async () => {
  const [worker, main] = [...(await readFile(guide, "utf8")).matchAll(/^```js\n([\s\S]*?)^```$/gm)];
  // Within the package, so that its own name leads to it.
  const folder = await mkdtemp(join(here, "guide-"));
  try {
    await writeFile(join(folder, "worker.mjs"), worker[1]);
    await writeFile(join(folder, "main.mjs"), main[1]);
    const { code, stdout, stderr } = await runNode([join(folder, "main.mjs")]);
    assert.deepEqual({ code, stdout, stderr }, { code: 0, stdout: "144\n", stderr: "" });
  } finally {
    await rm(folder, { recursive: true });
  }
});
