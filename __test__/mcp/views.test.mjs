// Which tools of a server become operations, and as what.

import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { createMCPClient, OperationRegistry, OperationType } from "@alkdev/operations";
import { catalogue } from "@alkdev/operations/tools";
import { collectLog } from "../registry/support/warnings.mjs";
import { connected, failure, packaged, stdio } from "./support/servers.mjs";

const names = ({ tools }) => tools.map(({ name }) => name);

describe("tools", { timeout: 60_000 }, () => {
  const log = collectLog();

  it("include and exclude take names, patterns, an object or a function", async (t) => {
    for (const [tools, expected] of [
      [{ include: ["echo", "two-*"] }, ["echo", "two-texts"]],
      [
        ["echo", "two-*"],
        ["echo", "two-texts"],
      ],
      [{ include: { echo: true, person: false } }, ["echo"]],
      [
        { include: { "*": true, "*-*": false, "two-texts": true }, exclude: ["[a-z]", "echo", "w*"] },
        undefined,
      ],
      [{ include: ({ name }) => name.startsWith("e"), exclude: ["every-content", "elicit*"] }, ["echo"]],
    ]) {
      const { wrapper } = await connected(t, stdio([], { tools }));
      if (expected !== undefined) assert.deepEqual(names(wrapper), expected);
      else {
        assert.ok(names(wrapper).includes("two-texts") && names(wrapper).includes("person"));
        assert.ok(!names(wrapper).some((name) => ["echo", "wait", "json-text"].includes(name)));
      }
    }
  });

  it("rename changes the operation, and not what is sent to the server", async (t) => {
    const tools = { include: ["echo"], rename: { echo: "say" }, describe: { echo: "Says it again" } };
    const { wrapper, call } = await connected(t, stdio([], { tools }));
    const [tool] = wrapper.tools;
    assert.deepEqual([tool.name, tool.description, tool._meta.tool], ["say", "Says it again", "echo"]);
    assert.equal((await call("say", { text: "hello" })).data[0].text, "hello");
  });

  it("rename and describe can be functions of the tool", async (t) => {
    const tools = {
      include: ["echo", "person"],
      rename: ({ name }) => (name === "echo" ? "say" : undefined),
      describe: ({ description }) => `${description}!`,
    };
    const { wrapper } = await connected(t, stdio([], { tools }));
    assert.deepEqual(names(wrapper), ["say", "person"]);
    assert.ok(wrapper.tools.every(({ description }) => description.endsWith("!")));
  });

  it("two tools under one name are refused: the first keeps it, and the other is a problem", async (t) => {
    const tools = { include: ["echo", "person"], rename: { person: "echo" } };
    const { wrapper } = await connected(t, stdio([], { tools }));
    assert.deepEqual(names(wrapper), ["echo"]);
    assert.deepEqual(
      wrapper.problems.map(({ tool, field }) => [tool, field]),
      [["person", "name"]],
    );
    assert.match(wrapper.problems[0].reason, /it would be test\.echo, which is tool 'echo'/);
  });

  it("access is by the name of the tool, and over accessControl", async (t) => {
    const config = stdio([], {
      accessControl: { requiredScopes: ["all"] },
      tools: { rename: { echo: "say" }, access: { echo: { requiredScopes: [] } } },
    });
    const { call } = await connected(t, config);
    assert.equal((await call("say", { text: "open" })).data[0].text, "open");
    assert.equal((await failure(call("person"))).code, "ACCESS_DENIED");
  });

  it("trustAnnotations makes a tool with readOnlyHint a query; without it every tool is a mutation", async (t) => {
    const types = async (tools) => {
      const { wrapper } = await connected(t, packaged("server-filesystem", ["."], { tools }), "files");
      return Object.fromEntries(wrapper.tools.map(({ name, type }) => [name, type]));
    };
    const { QUERY, MUTATION } = OperationType;
    const trusted = await types({ include: ["read_text_file", "write_file"], trustAnnotations: true });
    assert.deepEqual(trusted, { read_text_file: QUERY, write_file: MUTATION });
    const some = await types({
      include: ["read_text_file", "list_directory"],
      trustAnnotations: ["list_*"],
    });
    assert.deepEqual(some, { read_text_file: MUTATION, list_directory: QUERY });
    const registry = new OperationRegistry();
    assert.equal(registry.get("files.read_text_file"), undefined);
  });

  it("a name that fits no tool is a problem, because it protects nothing", async (t) => {
    const tools = { exclude: ["delete_all"], access: { ehco: { requiredScopes: ["x"] } } };
    const { wrapper } = await connected(t, stdio([], { tools }));
    assert.deepEqual(
      wrapper.problems.map(({ tool, reason }) => [tool, reason]),
      [
        ["delete_all", "there is no such tool"],
        ["ehco", "there is no such tool"],
      ],
    );
    assert.ok(log.some(({ text }) => text.includes("delete_all")));
  });

  it("a function that throws leaves its tool out", async (t) => {
    const include = ({ name }) => {
      if (name === "person") throw new Error("not today");
      return name === "echo";
    };
    const { wrapper } = await connected(t, stdio([], { tools: { include } }));
    assert.deepEqual(names(wrapper), ["echo"]);
    assert.match(wrapper.problems[0].reason, /not today/);
  });

  it("a view that cannot be used is refused by its place", async () => {
    for (const [tools, words] of [
      [{ exlude: [] }, /tools\.exlude is not an option. Did you mean exclude\?/],
      [{ include: [1] }, /tools\.include must be a list of names/],
      [{ rename: { a: 1 } }, /tools\.rename\["a"\] must be a string/],
      [{ access: { a: { requiredScope: [] } } }, /tools\.access\["a"\]/],
      [{ trustAnnotations: "yes" }, /tools\.trustAnnotations must be/],
    ]) {
      const error = await failure(createMCPClient("s", stdio([], { tools })));
      assert.equal(error.code, "VALIDATION_ERROR");
      assert.match(error.message, words);
    }
  });
});

describe("instructions", { timeout: 60_000 }, () => {
  it("the instructions of a server are in the _meta of its operations and in catalogues", async (t) => {
    const { tool, registry } = await connected(t, stdio(["instructs"]));
    assert.equal(tool("echo")._meta.instructions, "Ask politely.");
    assert.equal(catalogue(registry).describe("test.echo").instructions, "Ask politely.");
  });
});
