// The server that the conformance suite looks at: a registry behind `serve()`, as any program would have it. It writes the
// address of its MCP door to standard output, and runs until its standard input ends. With `--stdio` it speaks over the
// standard streams instead.

import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { OperationRegistry } from "@alkdev/operations";
import { serve, serveStdio } from "@alkdev/operations/serve";
import { changes } from "./fixture/changes.mjs";
import { operations } from "./fixture/operations.mjs";
import { tasks } from "./fixture/tasks.mjs";

const registry = new OperationRegistry();
registry.registerAll([...operations, ...tasks, ...changes(registry)]);

if (process.argv.includes("--stdio")) {
  await serveStdio(registry, { name: "conformance", version: "1.0.0" });
} else {
  // Of its own: tasks of other runs are none of its business.
  const dir = mkdtempSync(join(tmpdir(), "conformance-tasks-"));
  process.once("exit", () => rmSync(dir, { recursive: true, force: true }));
  const served = await serve(registry, {
    // Streams are short, so that the suite can see how clients come back.
    doors: { mcp: { name: "conformance", version: "1.0.0", resume: { hold: 500 }, tasks: { dir } } },
  });
  console.log(`${served.url}/mcp`);
  process.stdin.resume().on("end", () => served.close({ drain: 0 }));
}
