// Programs in a single file: the code of the worker needs no file beside it, and the engine is passed as bytes.

import assert from "node:assert/strict";
import { existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";
import { addonFile } from "../../scripts/lib.mjs";
import { runNode } from "../support/run-node.mjs";

const root = fileURLToPath(new URL("../..", import.meta.url));
/** Not below the repository, whose node_modules would be found. */
const folder = mkdtempSync(join(tmpdir(), "operations-bundle-"));
after(() => rmSync(folder, { recursive: true, force: true }));

const program = (engine) => `
  import { OperationRegistry } from "@alkdev/operations";
  import { createCodeRunner } from "@alkdev/operations/code";
  import { Type } from "@sinclair/typebox";
  ${engine ? 'import engine from "quickjs-wasi/quickjs.wasm";' : ""}
  const registry = new OperationRegistry();
  registry.register({ namespace: "demo", name: "double", version: "1.0.0", type: "query", description: "Doubles",
    inputSchema: Type.Object({ n: Type.Number() }), outputSchema: Type.Number(), accessControl: { requiredScopes: [] },
    handler: ({ n }) => n * 2 });
  const runner = createCodeRunner(registry, { ${engine ? "engine" : ""} });
  const say = async (source) => {
    const { data, error } = await runner.run(source).catch((error) => ({ error }));
    console.log(JSON.stringify(data ?? error.message));
  };
  say("return await demo.double({ n: 21 })")
    .then(() => say("const n: number = 1; return n"))
    .then(() => runner.close());
`;

describe("a program in a single file", () => {
  before(() => mkdirSync(join(root, "target"), { recursive: true }));

  async function bundled(name, engine) {
    const entry = join(mkdtempSync(join(root, "target", "bundle-")), "entry.mjs");
    writeFileSync(entry, program(engine));
    const out = join(folder, name);
    try {
      await build({
        entryPoints: [entry],
        outfile: join(out, "out.cjs"),
        bundle: true,
        platform: "node",
        target: "node20",
        loader: { ".node": "copy", ".wasm": "binary" },
        logLevel: "error",
        logOverride: { "require-resolve-not-external": "silent" },
      });
    } finally {
      rmSync(join(entry, ".."), { recursive: true });
    }
    const beside = readdirSync(out).filter((file) => file !== "out.cjs" && !file.endsWith(".node"));
    assert.deepEqual(beside, [], "nothing is beside it but the addon");
    assert.equal(existsSync(join(folder, "node_modules")), false);
    const { code, stdout, stderr } = await runNode([join(out, "out.cjs")], {
      cwd: out,
      env: { ...process.env, OPERATIONS_NATIVE_PATH: join(root, addonFile()) },
    });
    assert.deepEqual({ code, stderr }, { code: 0, stderr: "" });
    return stdout
      .trim()
      .split("\n")
      .map((line) => JSON.parse(line));
  }

  it("runs programs with the engine that it passes; without what removes types, TypeScript is refused and says why", async () => {
    const [doubled, typed] = await bundled("with", true);
    assert.equal(doubled, 42);
    const { stripTypeScriptTypes } = await import("node:module");
    if (stripTypeScriptTypes !== undefined) assert.equal(typed, 1);
    else
      assert.match(typed, /SyntaxError.*types are removed by Node 22\.13 and newer, or by the package amaro/);
  });

  it("without an engine says what is missing", async () => {
    const [message] = await bundled("without", false);
    assert.match(message, /needs the package quickjs-wasi.*pass the bytes of its quickjs\.wasm as engine/);
  });
});
