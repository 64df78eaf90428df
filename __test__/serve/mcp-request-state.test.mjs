// `requestState` of 2026-07-28: what a person was asked about is what is done.

import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { Type } from "@sinclair/typebox";
import { operation, serving } from "./support.mjs";

const PREFIX = "io.modelcontextprotocol/";
const accept = { action: "accept", content: {} };

/** Removes a file after somebody has agreed to that. */
function remover(removed) {
  return operation({
    namespace: "files",
    name: "remove",
    type: "mutation",
    inputSchema: Type.Object({ file: Type.String(), options: Type.Optional(Type.Unknown()) }),
    handler: async ({ file }, { elicit }) => {
      const { action } = await elicit({ message: `Remove ${file}?` }, { key: "sure" });
      if (action === "accept") removed.push(file);
      return removed.length;
    },
  });
}

async function ask(url, params, { method = "tools/call", name = params.name } = {}) {
  const response = await fetch(`${url}/mcp`, {
    method: "POST",
    headers: {
      "content-type": "application/json",
      accept: "application/json, text/event-stream",
      "mcp-protocol-version": "2026-07-28",
      "mcp-method": method,
      "mcp-name": name,
    },
    body: JSON.stringify({
      ...{ jsonrpc: "2.0", id: 1, method },
      params: {
        ...params,
        _meta: {
          [`${PREFIX}protocolVersion`]: "2026-07-28",
          [`${PREFIX}clientCapabilities`]: { elicitation: {} },
        },
      },
    }),
  });
  return response.json();
}

describe("an answer to a question of a tool", () => {
  const inputResponses = { sure: accept };
  const remove = (url, args, more = {}) => ask(url, { name: "files_remove", arguments: args, ...more });

  it("an answer to a tool's question about one file removes that file and no other", async () => {
    const removed = [];
    const { url } = await serving([remover(removed)], { doors: { mcp: true } });
    const { result: question } = await remove(url, { file: "draft.txt" });
    assert.equal(question.inputRequests.sure.params.message, "Remove draft.txt?");
    const { requestState } = question;
    const other = await remove(url, { file: "thesis.txt" }, { requestState, inputResponses });
    assert.equal(other.error?.code, -32602);
    const more = await remove(url, { file: "draft.txt", options: 1 }, { requestState, inputResponses });
    assert.equal(more.error?.code, -32602);
    assert.deepEqual(removed, []);
    const { result } = await remove(url, { file: "draft.txt" }, { requestState, inputResponses });
    assert.equal(result.resultType, "complete");
    assert.deepEqual(removed, ["draft.txt"]);
  });

  it("an answer to a tool's question counts for the same arguments in another order, or written in another way", async () => {
    const removed = [];
    const { url } = await serving([remover(removed)], { doors: { mcp: true } });
    const one = '{"file":"a","options":{"b":[1,{"c":"é","d":1.0}],"e":1e2}}';
    const same = '{"options":{"e":100,"b":[1.0,{"d":1,"c":"\\u00e9"}]},"file":"a"}';
    const raw = (text) => ({ toJSON: () => JSON.rawJSON(text) });
    if (JSON.rawJSON === undefined) return;
    const { result: question } = await remove(url, raw(one));
    const { requestState } = question;
    const { result } = await remove(url, raw(same), { requestState, inputResponses });
    assert.equal(result?.resultType, "complete");
    assert.deepEqual(removed, ["a"]);
  });

  it("an answer to a tool's question about one operation does not count for another that has taken its name", async () => {
    const removed = [];
    const named = (namespace) => ({
      ...remover(removed),
      namespace,
      _meta: { mcp: { tool: { name: "remove" } } },
    });
    const { url, registry } = await serving([named("drafts")], { doors: { mcp: true } });
    const args = { name: "remove", arguments: { file: "a" } };
    const { result: question } = await ask(url, args);
    registry.register({ ...named("drafts"), _meta: {} });
    registry.register(named("theses"));
    const { requestState } = question;
    const { error } = await ask(url, { ...args, requestState, inputResponses });
    assert.equal(error?.code, -32602);
    assert.deepEqual(removed, []);
  });

  it("an answer to the question of a prompt does not count for other arguments", async () => {
    const drafts = operation({
      namespace: "mail",
      name: "draft",
      inputSchema: Type.Object({ to: Type.String() }),
      _meta: { mcp: { tool: false, prompt: true } },
      handler: async ({ to }, { elicit }) => {
        await elicit({ message: `Write to ${to}?` }, { key: "sure" });
        return `Dear ${to}`;
      },
    });
    const { url } = await serving([drafts], { doors: { mcp: true } });
    const prompt = (to, more = {}) =>
      ask(url, { name: "mail_draft", arguments: { to }, ...more }, { method: "prompts/get" });
    const { requestState } = (await prompt("ada")).result;
    assert.equal((await prompt("eve", { requestState, inputResponses })).error?.code, -32602);
    assert.match(JSON.stringify((await prompt("ada", { requestState, inputResponses })).result), /Dear ada/);
  });
});
