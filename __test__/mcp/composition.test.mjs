// Tools among the other operations: the call protocol, composition, access.

import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { buildCallHandler, buildEnv, OperationRegistry, PendingRequestMap, unwrap } from "@alkdev/operations";
import { Type } from "@sinclair/typebox";
import { startHost } from "./support/hosts.mjs";
import { until } from "./support/processes.mjs";
import { connected, failure, stdio } from "./support/servers.mjs";

function serving(registry) {
  const callMap = new PendingRequestMap();
  callMap["call.requested"].subscribe(buildCallHandler({ registry, callMap }));
  return callMap;
}

describe("through the call protocol", () => {
  it("a tool is called through the call protocol like any operation", async (t) => {
    const { registry } = await connected(t, stdio());
    const callMap = serving(registry);
    const envelope = await callMap.call("test.echo", { text: "hello" });
    assert.equal(envelope.meta.source, "mcp");
    assert.equal(unwrap(envelope)[0].text, "hello");
    assert.equal(callMap.getPendingCount(), 0);
  });

  it("a tool that fails is a response over the call protocol, not an error", async (t) => {
    const { registry } = await connected(t, stdio());
    const envelope = await serving(registry).call("test.fail", {});
    assert.equal(envelope.meta.isError, true);
  });

  it("an abort through the call protocol reaches the server", async (t) => {
    const { registry, ask } = await connected(t, stdio());
    const callMap = serving(registry);
    let requestId;
    callMap["call.requested"].subscribe((event) => {
      requestId ??= event.requestId;
    });
    const pending = failure(callMap.call("test.never", {}));
    await until(async () => (await ask("received")).some(({ params }) => params?.name === "never"));
    callMap.abort(requestId);
    assert.equal((await pending).code, "ABORTED");
    await until(
      async () => (await ask("received")).some(({ method }) => method === "notifications/cancelled"),
      "the server is told",
    );
  });

  it("a lost server is EXECUTION_ERROR on the other side of the call protocol, too", async (t) => {
    const { registry } = await connected(t, stdio());
    const error = await failure(serving(registry).call("test.die", {}));
    assert.equal(error.code, "EXECUTION_ERROR");
    assert.match(error.message, /may have been carried out/);
  });
});

it("a local operation calls tools through its env", async (t) => {
  const { registry } = await connected(t, stdio(), "people");
  registry.register({
    name: "greet",
    namespace: "local",
    version: "1.0.0",
    type: "query",
    description: "",
    inputSchema: Type.Object({}),
    outputSchema: Type.Object({ greeting: Type.String() }),
    accessControl: { requiredScopes: [] },
    handler: async (_, context) => {
      const env = buildEnv({ registry, context });
      return { greeting: `Hello, ${unwrap(await env.people.person({})).name}` };
    },
  });
  assert.deepEqual(unwrap(await registry.execute("local.greet", {}, {})), { greeting: "Hello, Ada" });
});

it("a tool can be guarded like any operation", async (t) => {
  const { wrapper } = await connected(t, stdio());
  const registry = new OperationRegistry();
  registry.registerAll(
    wrapper.tools.map((tool) => ({ ...tool, accessControl: { requiredScopes: ["tools"] } })),
  );
  assert.equal((await failure(registry.execute("test.echo", { text: "a" }, {}))).code, "ACCESS_DENIED");
  const identity = { id: "me", scopes: ["tools"] };
  assert.equal((await registry.execute("test.echo", { text: "a" }, { identity })).data[0].text, "a");
});

it("no JavaScript MCP SDK is loaded", async (t) => {
  const host = startHost(
    t,
    stdio(),
    `import { createRequire } from "node:module";
     await closeMCPClient(await createMCPClient("a", config));
     const loaded = Object.keys(createRequire(import.meta.url + "/x.js").cache);
     console.log(JSON.stringify([loaded.length > 10, loaded.filter((path) => path.includes("modelcontextprotocol"))]));`,
  );
  assert.equal(await host.line(), "[true,[]]");
});
