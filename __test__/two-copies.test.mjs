// Two copies of the package in one process, as a hub and a plugin with a `node_modules` of its own have them.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join, sep } from "node:path";
import { describe, it } from "node:test";
import { fileURLToPath } from "node:url";
import { compileFunction } from "node:vm";
import {
  buildCallHandler,
  CallError,
  isResponseEnvelope,
  isRetryable,
  isTimeout,
  mapError,
  OperationRegistry,
  PendingRequestMap,
} from "@alkdev/operations";
import { createHandler, serve, serveStdio, toOpenAPI } from "@alkdev/operations/serve";
import { toTools } from "@alkdev/operations/tools";
import { Type } from "@sinclair/typebox";
import { buildSync } from "esbuild";

const require = createRequire(import.meta.url);
const { version } = JSON.parse(readFileSync(new URL("../package.json", import.meta.url)));
const OTHER_VERSION = "9.9.9-other";

/** Everything but the addon, loaded again. */
function secondCopy() {
  const dist = fileURLToPath(new URL("../dist/", import.meta.url)).replaceAll("/", sep);
  const isCode = (path) => path.startsWith(dist);
  const first = Object.entries(require.cache).filter(([path]) => isCode(path));
  for (const [path] of first) delete require.cache[path];
  const copy = require("@alkdev/operations");
  for (const path of Object.keys(require.cache).filter(isCode)) delete require.cache[path];
  Object.assign(require.cache, Object.fromEntries(first));
  return copy;
}

/** What a plugin that was bundled with the package brings: minified, and of another version. Only the binary is ours, since
 * there is one: it is made to say that it is of that version. */
function bundledCopy() {
  const { outputFiles } = buildSync({
    entryPoints: [fileURLToPath(new URL("../dist/index.js", import.meta.url))],
    ...{ bundle: true, minify: true, platform: "node", write: false, logLevel: "error" },
    external: ["@alkdev/operations-*", "@sinclair/typebox", "zod", "@valibot/to-json-schema"],
  });
  const code = outputFiles[0].text.replaceAll(JSON.stringify(version), JSON.stringify(OTHER_VERSION));
  const addon = Object.values(require.cache).find(({ filename }) => filename.endsWith(".node"));
  assert.ok(code.includes(OTHER_VERSION) && addon !== undefined);
  const named = process.env.OPERATIONS_NATIVE_PATH;
  const { exports } = addon;
  class Runtime extends exports.Runtime {
    get version() {
      return OTHER_VERSION;
    }
  }
  addon.exports = { ...exports, Runtime };
  process.env.OPERATIONS_NATIVE_PATH = addon.filename;
  try {
    const module = { exports: {} };
    const run = compileFunction(code, ["module", "exports", "require", "__filename", "__dirname"]);
    const folder = fileURLToPath(new URL("../target", import.meta.url));
    run(module, module.exports, require, join(folder, "plugin.cjs"), folder);
    return module.exports;
  } finally {
    addon.exports = exports;
    if (named === undefined) delete process.env.OPERATIONS_NATIVE_PATH;
    else process.env.OPERATIONS_NATIVE_PATH = named;
  }
}

const greet = {
  name: "greet",
  namespace: "demo",
  version: "1.0.0",
  type: "query",
  description: "Greets",
  inputSchema: Type.Object({ name: Type.String() }),
  outputSchema: Type.String(),
  accessControl: { requiredScopes: [] },
  handler: ({ name }) => `Hello ${name}`,
};

for (const [what, other, itsVersion] of [
  ["the same build", secondCopy(), version],
  ["a minified bundle of another version", bundledCopy(), OTHER_VERSION],
])
  describe(`two copies of the package in one process: ${what}`, () => {
    function otherRegistry() {
      const registry = new other.OperationRegistry();
      registry.register(greet);
      return registry;
    }

    it("two copies of the package have classes of their own", () => {
      assert.notEqual(other.CallError, CallError);
      assert.notEqual(other.OperationRegistry, OperationRegistry);
    });

    it("a handler that one copy serves is not trusted by a registry of another that trusts direct calls", async () => {
      const inner = new other.OperationRegistry({ trustDirectCalls: true });
      inner.register({ ...greet, accessControl: { requiredScopes: ["admin"] } });
      const registry = new OperationRegistry();
      registry.register({
        ...greet,
        outputSchema: Type.Unknown(),
        handler: (input, context) =>
          Promise.all(
            [context, { ...context }, {}].map((each) =>
              inner.execute("demo.greet", input, each).catch((error) => error.code),
            ),
          ),
      });
      const callMap = new PendingRequestMap();
      callMap["call.requested"].subscribe(buildCallHandler({ registry, callMap }));
      const { data } = await callMap.call("demo.greet", { name: "Ada" });
      assert.deepEqual(data, ["ACCESS_DENIED", "ACCESS_DENIED", "ACCESS_DENIED"]);
      assert.equal((await inner.execute("demo.greet", { name: "Ada" })).data, "Hello Ada");
    });

    it("two copies of the package know each other's errors", () => {
      const error = new other.CallError("TIMEOUT", "too late", { delivery: "none", reason: "timeout" });
      assert.ok(error instanceof CallError);
      assert.ok(isTimeout(error));
      assert.ok(isRetryable(error));
      assert.equal(mapError(error), error);
      assert.equal(other.mapError(new CallError("QUOTA", "none left")).code, "QUOTA");
    });

    it("two copies of the package take nothing else for a CallError", () => {
      class OwnError extends CallError {}
      assert.ok(new OwnError("A", "a") instanceof other.CallError);
      assert.ok(!(new CallError("A", "a") instanceof OwnError));
      assert.ok(!(new other.CallError("A", "a") instanceof OwnError));
      for (const value of [new Error("TIMEOUT"), { name: "CallError", code: "TIMEOUT" }, null, "TIMEOUT"]) {
        assert.ok(!(value instanceof CallError));
      }
    });

    it("an error that a handler throws with the CallError of another copy keeps its code", async () => {
      const registry = new OperationRegistry();
      const callMap = new PendingRequestMap();
      registry.register({
        ...greet,
        handler: () => {
          throw new other.CallError("OUT_OF_STOCK", "none left");
        },
      });
      callMap["call.requested"].subscribe(buildCallHandler({ registry, callMap }));
      await assert.rejects(callMap.call("demo.greet", { name: "Ada" }), { code: "OUT_OF_STOCK" });
    });

    it("a caller does not see the message of an exception that another copy mapped", async () => {
      const registry = new OperationRegistry();
      registry.register({
        ...greet,
        handler: () => {
          throw other.mapError(new Error("password is hunter2"));
        },
      });
      const result = await toTools(registry, { target: "anthropic" }).call("demo_greet", { name: "Ada" });
      assert.ok(!JSON.stringify(result).includes("hunter2"));
    });

    it("two copies of the package know each other's envelopes, and use each other's operations", async () => {
      const theirs = otherRegistry();
      assert.ok(isResponseEnvelope(await theirs.execute("demo.greet", { name: "Ada" })));
      const registry = new OperationRegistry();
      registry.registerAll(theirs.list());
      const envelope = other.localEnvelope("Hello", "demo.other");
      registry.register({ ...greet, name: "other", handler: () => envelope });
      assert.equal((await registry.execute("demo.greet", { name: "Ada" })).data, "Hello Ada");
      assert.equal(await registry.execute("demo.other", { name: "Ada" }), envelope);
      const { tools } = toTools(theirs, { target: "anthropic" });
      assert.deepEqual(
        tools.map(({ name }) => name),
        ["demo_greet"],
      );
    });

    it("a registry of another copy is refused where it cannot be used, and the error names both versions", async () => {
      const registry = otherRegistry();
      const isNamed = ({ code, message }) => {
        assert.equal(code, "VALIDATION_ERROR");
        assert.match(message, /a second copy of @alkdev\/operations/);
        assert.ok(message.includes(`version ${version}`), message);
        assert.ok(message.includes(`version ${itsVersion}`), message);
        return true;
      };
      const options = { doors: { http: true } };
      await assert.rejects(serve(registry, options), isNamed);
      await assert.rejects(serveStdio(registry, { name: "demo", version: "1.0.0" }), isNamed);
      assert.throws(() => createHandler(registry, options), isNamed);
      assert.throws(() => toOpenAPI(registry, { title: "demo", version: "1.0.0" }), isNamed);
      assert.throws(() => buildCallHandler({ registry, callMap: new PendingRequestMap() }), isNamed);
    });
  });
