// The export conditions `workerd`, `edge-light` and `browser`: every name of every entry is there; what cannot work says why.

import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { readFileSync } from "node:fs";
import { dirname } from "node:path";
import { describe, it } from "node:test";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";

const run = promisify(execFile);
const root = dirname(dirname(dirname(fileURLToPath(import.meta.url))));
const { exports } = JSON.parse(readFileSync(new URL("../../package.json", import.meta.url), "utf8"));
const entries = Object.entries(exports).filter(([, conditions]) => typeof conditions !== "string");
const specifier = (path) => `@alkdev/operations${path.slice(1)}`;

/** Runs a program with a condition, here in the repository, and returns what it printed. */
async function printed(program, condition, type = "module") {
  const args = [`--conditions=${condition}`, `--input-type=${type}`, "--eval", program];
  const { stdout } = await run(process.execPath, args, { cwd: root });
  return stdout;
}

/** Whether a value says that it is not available when it is called. */
const isRefusal = `(value) => {
  if (typeof value !== "function" || value.name !== "refuse") return false;
  try { value(); } catch (error) { return error.message; }
  return false;
}`;

/** The names that work without native code. A name that moves has to be moved here. */
const WORKING = [
  "AccessControlSchema",
  "CONVENTIONS",
  "CallError",
  "CallEventMap",
  "CallEventSchema",
  "ErrorDefinitionSchema",
  "FromSchema",
  "HTTPResponseMetaSchema",
  "InfrastructureErrorCode",
  "LocalResponseMetaSchema",
  "MCPContentBlockSchema",
  "MCPResponseMetaSchema",
  "OperationContextSchema",
  "OperationDefinitionSchema",
  "OperationRegistry",
  "OperationSpecSchema",
  "OperationType",
  "PendingRequestMap",
  "PendingRequestMapClass",
  "RESPONSE_SOURCES",
  "ResponseEnvelopeSchema",
  "ResponseMetaSchema",
  "assertIsSchema",
  "buildCallHandler",
  "buildEnv",
  "checkAccess",
  "collectErrors",
  "connectPort",
  "createClient",
  "createPortEventTarget",
  "createRegistry",
  "createWebSocketEventTarget",
  "defaultAdapter",
  "defineNamespace",
  "defineOperation",
  "enforceAccess",
  "formatValueErrors",
  "httpEnvelope",
  "isAccessError",
  "isApprovalRequired",
  "isDeclaredError",
  "isHTTPError",
  "isResponseEnvelope",
  "isRetryable",
  "isTimeout",
  "isValidationError",
  "localEnvelope",
  "mapError",
  "mapMCPContentBlocks",
  "mcpEnvelope",
  "nodeScannerFS",
  "parseSSEFrames",
  "subscribe",
  "unwrap",
  "useTypeBox",
  "validateOrThrow",
];

describe("the entries without native code", () => {
  for (const [path, conditions] of entries) {
    it(`${path} without native code is offered to workers at the edge first, and to browsers after server runtimes`, () => {
      // The first that fits is taken.
      const order = ["types", "workerd", "edge-light", "node", "bun", "deno", "browser", "import", "require"];
      assert.deepEqual(Object.keys(conditions), order);
      for (const name of ["workerd", "edge-light"]) assert.deepEqual(conditions[name], conditions.browser);
      const native = { import: conditions.import, require: conditions.require };
      for (const name of ["node", "bun", "deno"]) assert.deepEqual(conditions[name], native);
    });

    it(`${path} has the names that it has in Node, in both module formats`, async () => {
      const inNode = Object.keys(await import(specifier(path))).sort();
      const list = `console.log(JSON.stringify(Object.keys(entry).sort()))`;
      const asModule = await printed(`import * as entry from "${specifier(path)}"; ${list}`, "edge-light");
      assert.deepEqual(JSON.parse(asModule), inNode);
      const required = `const entry = require("${specifier(path)}"); ${list}`;
      assert.deepEqual(JSON.parse(await printed(required, "workerd", "commonjs")), inNode);
    });
  }

  it("the entries without native code work, or say in one sentence why not", async () => {
    const program = `
      const isRefusal = ${isRefusal};
      const working = [], refusals = [];
      for (const path of ${JSON.stringify(entries.map(([path]) => specifier(path)))}) {
        for (const [name, value] of Object.entries(await import(path))) {
          const refusal = isRefusal(value);
          if (refusal) refusals.push([name, refusal]);
          else if (!working.includes(name)) working.push(name);
        }
      }
      console.log(JSON.stringify({ working: working.sort(), refusals }));`;
    const { working, refusals } = JSON.parse(await printed(program, "edge-light"));
    assert.deepEqual(working, WORKING);
    assert.ok(refusals.length >= 20, `${refusals.length} refusals`);
    for (const [name, message] of refusals) {
      assert.match(message, new RegExp(`^${name} is not available here, because .+: .+[^.]$`));
      assert.ok(!message.includes(". "), "one sentence");
    }
  });

  it("a server runtime that is started with the condition browser gets the native entry", async () => {
    const program = `import { FromOpenAPI } from "@alkdev/operations"; console.log(FromOpenAPI.name)`;
    assert.equal(await printed(program, "browser"), "FromOpenAPI\n");
  });

  it("the entries without native code share one CallError", async () => {
    const check = `
      try { serve({}); } catch (error) {
        console.log(error instanceof CallError, error.code, JSON.stringify(error.details));
      }`;
    const expected = 'true EXECUTION_ERROR {"reason":"unavailable","name":"serve"}\n';
    const asModule = `
      import { CallError } from "@alkdev/operations";
      import { serve } from "@alkdev/operations/serve"; ${check}`;
    assert.equal(await printed(asModule, "edge-light"), expected);
    const required = `
      const { CallError } = require("@alkdev/operations");
      const { serve } = require("@alkdev/operations/serve"); ${check}`;
    assert.equal(await printed(required, "workerd", "commonjs"), expected);
  });
});
