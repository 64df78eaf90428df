// The entry without native code in an engine that has the language and nothing else: no events, no timers, no `console`. QuickJS is one.

import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { runInNewContext } from "node:vm";
import { build } from "esbuild";
import { root } from "../../scripts/lib.mjs";

/** Runs a program in an engine without anything but the language and some globals, and returns what its promise is resolved with. */
async function runBare(program, globals = {}) {
  const { outputFiles } = await build({
    stdin: { contents: program, resolveDir: root },
    bundle: true,
    format: "iife",
    globalName: "program",
    platform: "browser",
    write: false,
    logLevel: "error",
  });
  const [{ text }] = outputFiles;
  return JSON.parse(await runInNewContext(`${text}; program.result.then(JSON.stringify)`, globals));
}

describe("in an engine without anything but the language", () => {
  it("in a bare engine a registry checks and calls", async () => {
    const outcome = await runBare(`
      import { createRegistry, defineOperation } from "@alkdev/operations";
      import { Type } from "@sinclair/typebox";

      const greet = defineOperation({
        namespace: "page",
        name: "greet",
        version: "1.0.0",
        type: "query",
        description: "Greets somebody",
        inputSchema: Type.Object({ name: Type.String() }),
        outputSchema: Type.Object({ greeting: Type.String() }),
        accessControl: { requiredScopes: [] },
        handler: ({ name }) => ({ greeting: "Hello " + name }),
      });
      const registry = createRegistry([greet]);
      export const result = (async () => [
        (await registry.execute("page.greet", { name: "Ada" })).data,
        await registry.execute("page.greet", { name: 1 }).catch(({ code }) => code),
      ])();
    `);
    assert.deepEqual(outcome, [{ greeting: "Hello Ada" }, "VALIDATION_ERROR"]);
  });

  it("in an engine without AsyncLocalStorage a served handler is not trusted with its context or a copy of it", async () => {
    const outcome = await runBare(
      `
      import { buildCallHandler, OperationRegistry, PendingRequestMap } from "@alkdev/operations";
      import { Type } from "@sinclair/typebox";

      const operation = (name, requiredScopes, handler) => ({
        namespace: "page",
        name,
        version: "1.0.0",
        type: "query",
        description: name,
        inputSchema: Type.Unknown(),
        outputSchema: Type.Unknown(),
        accessControl: { requiredScopes },
        handler,
      });
      const registry = new OperationRegistry({ trustDirectCalls: true });
      const contexts = (context) => [
        context,
        { ...context },
        new Proxy(context, {}),
        Object.fromEntries(Object.entries(context)),
      ];
      const secret = (context) => registry.execute("page.secret", {}, context).then(({ data }) => data, ({ code }) => code);
      registry.registerAll([
        operation("secret", ["admin"], () => "secret"),
        operation("open", [], (_, context) => Promise.all(contexts(context).map(secret))),
      ]);
      const callMap = new PendingRequestMap();
      callMap["call.requested"].subscribe(buildCallHandler({ registry, callMap }));
      export const result = (async () => [await secret({}), ...(await callMap.call("page.open", {})).data])();
    `,
      { crypto, setTimeout, clearTimeout, AbortController, EventTarget, CustomEvent },
    );
    assert.deepEqual(outcome, ["secret", ...Array.from({ length: 4 }, () => "ACCESS_DENIED")]);
  });

  it("in a bare engine events of a stream are read", async () => {
    const outcome = await runBare(`
      import { parseSSEFrames } from "@alkdev/operations";

      export const result = (async () => parseSSEFrames("data: 1\\n\\ndata: 2\\n\\n"))();
    `);
    assert.deepEqual(
      outcome.events.map(({ data }) => data),
      ["1", "2"],
    );
  });

  it("in a bare engine a socket cannot be used, and the error says why", async () => {
    const outcome = await runBare(`
      import { createWebSocketEventTarget } from "@alkdev/operations/transport-websocket";

      const socket = { readyState: 1, send() {}, close() {}, addEventListener() {}, removeEventListener() {} };
      export const result = (async () => createWebSocketEventTarget(socket))()
        .catch(({ code, message, details }) => ({ code, message, details }));
    `);
    assert.deepEqual(outcome, {
      code: "EXECUTION_ERROR",
      message: "A port or a socket cannot be used here, because this engine has no EventTarget",
      details: { reason: "unavailable", name: "EventTarget" },
    });
  });
});
