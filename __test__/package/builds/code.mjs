// A program with code mode, for one binary: the engine is inside it.

import { OperationRegistry } from "@alkdev/operations";
import { createCodeRunner } from "@alkdev/operations/code";
import { Type } from "@sinclair/typebox";
import path from "quickjs-wasi/quickjs.wasm" with { type: "file" };

const registry = new OperationRegistry();
registry.register({
  namespace: "demo",
  name: "double",
  version: "1.0.0",
  type: "query",
  description: "Doubles a number",
  inputSchema: Type.Object({ n: Type.Number() }),
  outputSchema: Type.Number(),
  accessControl: { requiredScopes: [] },
  handler: ({ n }) => n * 2,
});
const engine = new Uint8Array(await Bun.file(path).arrayBuffer());
const runner = createCodeRunner(registry, { engine });
const { data, error } = await runner.run("return await demo.double({ n: input })", { input: 21 });
console.log(data ?? error.message);
await runner.close();
