// What a server's list of tools becomes.

import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { CallError, OperationSpecSchema, OperationType } from "@alkdev/operations";
import { Value } from "@sinclair/typebox/value";
import { collectLog } from "../registry/support/warnings.mjs";
import { until } from "./support/processes.mjs";
import { connected, failure, stdio } from "./support/servers.mjs";
import { tools } from "./support/tools.mjs";

const names = (list) => list.map(({ name }) => name).sort();

describe("a tool", () => {
  it("a tool is a mutation in the namespace of its server", async (t) => {
    const { tool, wrapper } = await connected(t, stdio(), "files");
    const echo = tool("echo");
    assert.equal(echo.namespace, "files");
    assert.equal(echo.type, OperationType.MUTATION);
    assert.equal(echo.description, "Says what it was told");
    assert.deepEqual(echo.accessControl.requiredScopes, []);
    assert.equal(typeof echo.handler, "function");
    for (const { handler, ...spec } of wrapper.tools)
      assert.ok(Value.Check(OperationSpecSchema, spec), spec.name);
  });

  it("a tool keeps title and annotations", async (t) => {
    const { tool } = await connected(t, stdio());
    assert.equal(tool("echo").title, "Echo");
    assert.deepEqual(tool("echo")._meta.annotations, { readOnlyHint: true, openWorldHint: false });
  });

  it("a tool has the version of the config, else of the server, else 1.0.0", async (t) => {
    const given = await connected(t, stdio([], { version: "9.9.9" }));
    assert.equal(given.tool("echo").version, "9.9.9");
    const told = await connected(t, stdio());
    assert.equal(told.tool("echo").version, "4.5.6");
    const neither = await connected(t, stdio(["empty-version"]));
    assert.equal(neither.tool("echo").version, "1.0.0");
  });

  it("a tool keeps its schemas as they were, as JSON", async (t) => {
    const { tool } = await connected(t, stdio(["recursive-schemas"]));
    for (const { name, inputSchema, outputSchema } of tools) {
      assert.deepEqual(JSON.parse(JSON.stringify(tool(name).inputSchema)), inputSchema, name);
      if (outputSchema !== undefined) {
        assert.deepEqual(JSON.parse(JSON.stringify(tool(name).outputSchema)), outputSchema, name);
      }
    }
  });

  it("a tool checks its input before anything is sent", async (t) => {
    const { call, ask } = await connected(t, stdio());
    const error = await failure(call("echo", { text: 7 }));
    assert.ok(error instanceof CallError);
    assert.equal(error.code, "VALIDATION_ERROR");
    const received = await ask("received");
    assert.ok(!received.some(({ params }) => params?.name === "echo"));
  });

  it("a tool with $defs and recursion checks its input at every depth", async (t) => {
    const { call, ask } = await connected(t, stdio(["recursive-schemas"]));
    const root = { value: 1, children: [{ value: 2, children: [{ value: 3 }] }] };
    assert.deepEqual(await ask("tree", { root }), { root });
    root.children[0].children[0].value = -1;
    const error = await failure(call("tree", { root }));
    assert.equal(error.code, "VALIDATION_ERROR");
    assert.match(error.message, /\/root\/children\/0\/children\/0\/value/);
    const list = { value: "a", next: { value: "b", next: { value: "c" } } };
    assert.deepEqual(await ask("tree-of-itself", list), list);
    assert.equal((await failure(call("tree-of-itself", { value: "a", next: {} }))).code, "VALIDATION_ERROR");
  });
});

describe("the list", () => {
  const log = collectLog();

  it("the list of tools has all pages", async (t) => {
    const { wrapper } = await connected(t, stdio(["pages"]));
    assert.deepEqual(names(wrapper.tools), names(tools));
  });

  it("the list of tools ends when a cursor repeats, with a warning", async (t) => {
    const { wrapper } = await connected(t, stdio(["repeating-cursor"]), "dizzy");
    assert.deepEqual([...new Set(names(wrapper.tools))], names(tools));
    assert.equal(wrapper.tools.length, tools.length);
    await until(() => log.some(({ level, text }) => level === "warning" && text.includes("dizzy")));
  });

  it("an endless list of tools is bounded, with a warning", async (t) => {
    const { wrapper } = await connected(t, stdio(["endless-pages"], { connectTimeout: 60_000 }), "endless");
    assert.equal(wrapper.tools.length, 2_000);
    assert.match(wrapper.problems[0].reason, /more than 2000 tools \('maxTools'\)/);
    await until(() => log.some(({ level, text }) => level === "warning" && text.includes("endless")));
  });

  it("the list of tools may be empty", async (t) => {
    const { wrapper } = await connected(t, stdio(["no-tools"]));
    assert.deepEqual(wrapper.tools, []);
  });

  it("tools whose schemas cannot be used take any input, and are reported", async (t) => {
    const { wrapper, ask, call } = await connected(t, stdio(["strange-schemas"]), "strange");
    for (const name of ["good-before", "good-after"])
      assert.equal((await call(name)).data[0].text.length > 0, true);
    for (const name of ["schema-is-text", "schema-is-missing", "schema-points-nowhere"]) {
      assert.deepEqual(await ask(name, { any: ["thing"] }), { any: ["thing"] }, name);
    }
    assert.equal(wrapper.tools.length, tools.length + 6);
    const problems = wrapper.problems.map(({ tool, field }) => `${tool} ${field}`);
    assert.deepEqual(problems.sort(), [
      "bad-output-schema outputSchema",
      "schema-is-missing inputSchema",
      "schema-is-text inputSchema",
      "schema-points-nowhere inputSchema",
    ]);
    for (const { reason } of wrapper.problems) assert.ok(reason.length > 0);
    for (const name of ["schema-is-text", "schema-points-nowhere"]) {
      await until(
        () => log.some(({ level, text }) => level === "warning" && text.includes(name)),
        `a warning names ${name}`,
      );
    }
  });

  it("a tool whose output schema cannot be used is still available", async (t) => {
    const { call } = await connected(t, stdio(["strange-schemas"]), "strange");
    assert.deepEqual((await call("bad-output-schema")).data, { a: "b" });
  });

  it("entries of the list that are no tools, or occur twice, are skipped", async (t) => {
    const { wrapper } = await connected(t, stdio(["strange-entries"]), "strange");
    assert.deepEqual(names(wrapper.tools), names(tools));
    assert.equal(wrapper.problems.length, 7);
    assert.ok(wrapper.problems.some(({ tool, reason }) => tool === "echo" && /another tool/.test(reason)));
  });
});
