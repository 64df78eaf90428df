// What MCP servers write to standard error was written for their operator.

import assert from "node:assert/strict";
import { it } from "node:test";
import { OperationRegistry } from "@alkdev/operations";
import { serve } from "@alkdev/operations/serve";
import { toTools } from "@alkdev/operations/tools";
import { connected, failure, stdio } from "../mcp/support/servers.mjs";

const SECRET = "db password in /etc/app/secret.conf";

it("what an MCP server writes to standard error reaches neither remote callers nor models", async (t) => {
  const { wrapper } = await connected(t, stdio([], { reconnect: true }));
  const registry = new OperationRegistry();
  registry.registerAll(wrapper.tools);
  const own = await failure(registry.execute("test.die", { words: SECRET }));
  assert.ok(own.message.includes(SECRET) && own.details.stderr.includes(SECRET));
  const server = await serve(registry, { port: 0, doors: { http: true, mcp: true } });
  t.after(() => server.close());
  const post = (path, body) =>
    fetch(`${server.url}${path}`, {
      method: "POST",
      headers: { "content-type": "application/json", accept: "application/json, text/event-stream" },
      body: JSON.stringify(body),
    });
  const response = await post("/api/test/die", { words: SECRET });
  const text = await response.text();
  assert.ok(response.status >= 500 && text.includes("connection was lost"), text);
  assert.ok(!text.includes("db password"), text);
  const { call } = toTools(registry, { target: "json-schema" });
  const { isError, content } = await call("test_die", { words: SECRET });
  assert.equal(isError, true);
  assert.ok(!JSON.stringify(content).includes("db password"));
});
