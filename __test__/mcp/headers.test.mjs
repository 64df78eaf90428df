// Arguments that are sent as headers too (`x-mcp-header`, 2026-07-28).

import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { collectLog } from "../registry/support/warnings.mjs";
import { connected, failure } from "./support/servers.mjs";
import { startStatelessServer } from "./support/stateless-server.mjs";

const tool = (name, properties) => ({ name, inputSchema: { type: "object", properties } });

describe("arguments as headers", () => {
  const log = collectLog();

  it("arguments are sent as headers as the schema says", async (t) => {
    const { url, requests } = await startStatelessServer(t, [
      tool("route", {
        region: { type: "string", "x-mcp-header": "Region" },
        user: { type: "object", properties: { id: { type: "integer", "x-mcp-header": "User-Id" } } },
        dry: { type: "boolean", "x-mcp-header": "Dry" },
        text: { type: "string" },
      }),
      tool("plain", { region: { type: "string" } }),
    ]);
    const { call, wrapper } = await connected(t, { url });
    assert.equal(wrapper.client.serverInfo.name, "by hand");
    const { data } = await call("route", { region: "Zürich", user: { id: 7 }, dry: false, text: "x" });
    assert.equal(data["mcp-method"], "tools/call");
    assert.equal(data["mcp-name"], "route");
    assert.equal(data["mcp-protocol-version"], "2026-07-28");
    assert.equal(data["mcp-param-region"], `=?base64?${Buffer.from("Zürich").toString("base64")}?=`);
    assert.equal(data["mcp-param-user-id"], "7");
    assert.equal(data["mcp-param-dry"], "false");
    assert.equal(Object.keys(data).filter((name) => name.startsWith("mcp-param-")).length, 3);
    const other = await call("plain", { region: "x" });
    assert.equal(other.data["mcp-param-region"], undefined);
    for (const { headers, method } of requests) assert.equal(headers["mcp-method"], method);
  });

  it("a tool whose argument headers break the rules is left out and reported, and no other", async (t) => {
    const header = (name, type = "string") => ({ type, "x-mcp-header": name });
    const broken = {
      empty: { a: header("") },
      spaced: { a: header("a b") },
      twice: { a: header("Same"), b: header("same") },
      "no-text": { a: header(7) },
      "of-a-number": { a: header("A", "number") },
      "in-a-list": { a: { type: "array", items: header("A") } },
    };
    const { url, requests } = await startStatelessServer(t, [
      tool("fine", { a: header("A") }),
      ...Object.entries(broken).map(([name, properties]) => tool(name, properties)),
    ]);
    const { call, wrapper } = await connected(t, { url });
    assert.deepEqual(
      wrapper.tools.map(({ name }) => name),
      ["fine"],
    );
    assert.equal((await call("fine", { a: "x" })).data["mcp-param-a"], "x");
    const problems = Object.fromEntries(wrapper.problems.map(({ tool, ...problem }) => [tool, problem]));
    assert.deepEqual(Object.keys(problems).sort(), Object.keys(broken).sort());
    for (const { field, reason } of Object.values(problems)) {
      assert.equal(field, "inputSchema");
      assert.match(reason, /x-mcp-header/);
    }
    for (const name of Object.keys(broken)) {
      const told = log.filter(({ level, text }) => level === "warning" && text.includes(`'${name}'`));
      assert.equal(told.length, 1, name);
    }
    const { tools } = await wrapper.client.listTools();
    assert.deepEqual(
      tools.map(({ name }) => name),
      ["fine"],
    );
    assert.ok((await failure(call("empty"))) instanceof Error);
    assert.ok(requests.every(({ params }) => params?.name === undefined || params.name === "fine"));
  });
});
