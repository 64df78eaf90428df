// Arguments that are also headers (`x-mcp-header`, revision 2026-07-28): a server holds one against the other.

import assert from "node:assert/strict";
import { after, describe, it } from "node:test";
import { closeMCPClient, createMCPClient, FromSchema, OperationRegistry } from "@alkdev/operations";
import { operation, serving } from "./support.mjs";

const PREFIX = "io.modelcontextprotocol/";

const routed = operation({
  namespace: "x",
  name: "routed",
  type: "mutation",
  inputSchema: FromSchema({
    type: "object",
    properties: {
      region: { type: "string", "x-mcp-header": "Region" },
      user: { type: "object", properties: { id: { type: "integer", "x-mcp-header": "User" } } },
    },
  }),
  handler: (input) => input,
});

const mcp = () => serving([routed], { doors: { mcp: { name: "test", version: "1.2.3" } } });

async function call(url, args, headers, isModern = true) {
  const params = { name: "x_routed", arguments: args };
  if (isModern) {
    params._meta = { [`${PREFIX}protocolVersion`]: "2026-07-28", [`${PREFIX}clientCapabilities`]: {} };
  }
  const response = await fetch(`${url}/mcp`, {
    method: "POST",
    headers: {
      "content-type": "application/json",
      accept: "application/json, text/event-stream",
      ...(isModern && {
        "mcp-protocol-version": "2026-07-28",
        "mcp-method": "tools/call",
        "mcp-name": "x_routed",
      }),
      ...headers,
    },
    body: JSON.stringify({ jsonrpc: "2.0", id: 1, method: "tools/call", params }),
  });
  return { status: response.status, ...(await response.json()) };
}

describe("arguments that are headers too", () => {
  it("arguments that are also headers must be the same in both", async () => {
    const { url } = await mcp();
    for (const [args, headers] of [
      [{ region: "eu" }, { "mcp-param-region": "eu" }],
      [{ region: "Zürich" }, { "Mcp-Param-Region": "=?base64?WsO8cmljaA==?=" }],
      [{ user: { id: 7 } }, { "mcp-param-user": "7" }],
      [{}, {}],
      [{}, { "mcp-param-other": "x" }],
    ]) {
      const { status, result } = await call(url, args, headers);
      assert.equal(status, 200, JSON.stringify(headers));
      assert.deepEqual(result.structuredContent, args);
    }
    for (const [args, headers, message] of [
      [{ region: "eu" }, {}, /mcp-param-region header is missing.*'region'/],
      [
        { region: "eu" },
        { "mcp-param-region": "us" },
        /mcp-param-region header and the argument 'region' differ/,
      ],
      [{ region: "eu" }, { "mcp-param-region": "=?base64?*?=" }, /not encoded as it should be/],
      [{ user: { id: 7 } }, { "mcp-param-user": "8" }, /'user.id' differ/],
      [{}, { "mcp-param-region": "eu" }, /has a value, and the argument 'region' has no value/],
    ]) {
      const { status, error } = await call(url, args, headers);
      assert.equal(status, 400, JSON.stringify(headers));
      assert.equal(error.code, -32020);
      assert.match(error.message, message);
    }
  });

  it("clients of earlier revisions need no argument headers", async () => {
    const { url } = await mcp();
    const { result } = await call(url, { region: "eu" }, {}, false);
    assert.deepEqual(result.structuredContent, { region: "eu" });
  });

  it("our own client sends arguments as headers", async () => {
    const { url } = await mcp();
    const wrapper = await createMCPClient("there", { url: `${url}/mcp` });
    after(() => closeMCPClient(wrapper));
    assert.equal(wrapper.client.protocolVersion, "2026-07-28");
    const registry = new OperationRegistry();
    registry.registerAll(wrapper.tools);
    const input = { region: " =?base64?Zürich?= ", user: { id: 7 } };
    const { data } = await registry.execute("there.x_routed", input, {});
    assert.deepEqual(data, input);
  });
});
