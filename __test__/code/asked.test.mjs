// Programs of MCP clients that can be asked: the answer resumes the run, and nothing is repeated.

import assert from "node:assert/strict";
import { after, describe, it } from "node:test";
import { createCodeRunner } from "@alkdev/operations/code";
import { serve } from "@alkdev/operations/serve";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import { ElicitRequestSchema } from "@modelcontextprotocol/sdk/types.js";
import { programs } from "./support.mjs";

const PREFIX = "io.modelcontextprotocol/";
/** Side effects before, between and after two calls that need an approval. */
const CODE = `const all = [await work.count({ n: 1 })];
  all.push(await pay.out({ n: 2 }).catch(({ code }) => code), await work.count({ n: 3 }));
  all.push(await pay.out({ n: 4 }).catch(({ code }) => code), await work.count({ n: 5 }));
  return all`;

const closing = [];
after(() => Promise.all(closing.map((close) => close())));

/** A server of programs, and what they did. */
async function served() {
  const registry = programs();
  const done = [];
  const spec = {
    ...registry.getSpec("demo.double"),
    type: "mutation",
    handler: ({ n }) => done.push(n) && n,
  };
  registry.register({ ...spec, namespace: "work", name: "count" });
  registry.register({ ...spec, namespace: "pay", name: "out", approval: "always" });
  const runner = createCodeRunner(registry);
  const server = await serve(registry, { port: 0, doors: { mcp: { code: runner } } });
  closing.push(
    () => server.close(),
    () => runner.close(),
  );
  return { url: `${server.url}/mcp`, done, registry };
}

describe("a program of an older MCP client", () => {
  const run = async (answer) => {
    const { url, done } = await served();
    const client = new Client({ name: "test", version: "1" }, { capabilities: { elicitation: {} } });
    const asked = [];
    client.setRequestHandler(ElicitRequestSchema, ({ params }) => {
      asked.push(params.message);
      return answer(asked.length);
    });
    await client.connect(new StreamableHTTPClientTransport(new URL(url)));
    closing.unshift(() => client.close());
    const { content } = await client.callTool({ name: "code_run", arguments: { code: CODE } });
    return { asked, done, run: JSON.parse(content[0].text) };
  };

  it("is asked about each call with its input, and the run goes on", async () => {
    const { asked, done, run: ended } = await run(() => ({ action: "accept", content: {} }));
    assert.deepEqual(asked.length, 2);
    assert.match(asked[0], /pay\.out with \{"n":2\}/);
    assert.deepEqual([ended.status, ended.data, done], ["completed", [1, 2, 3, 4, 5], [1, 2, 3, 4, 5]]);
  });

  it("that declines denies the call, inside the program", async () => {
    const { done, run: ended } = await run((n) => ({ action: n === 1 ? "decline" : "accept", content: {} }));
    assert.deepEqual(
      [ended.data, done],
      [
        [1, "ACCESS_DENIED", 3, 4, 5],
        [1, 3, 4, 5],
      ],
    );
  });

  it("that cancels, or fails, leaves the run waiting", async () => {
    const fails = () => {
      throw new Error("no user");
    };
    for (const answer of [() => ({ action: "cancel" }), fails]) {
      const { done, run: ended } = await run(answer);
      assert.deepEqual([ended.status, ended.approvals[0].operationId, done], ["waiting", "pay.out", [1]]);
    }
  });
});

describe("a program of an MCP client of 2026-07-28", () => {
  const call = async (url, args, more = {}, capabilities = { elicitation: {} }) => {
    const response = await fetch(url, {
      method: "POST",
      headers: {
        "content-type": "application/json",
        accept: "application/json, text/event-stream",
        "mcp-protocol-version": "2026-07-28",
        "mcp-method": "tools/call",
        "mcp-name": "code_run",
      },
      body: JSON.stringify({
        ...{ jsonrpc: "2.0", id: 1, method: "tools/call" },
        params: {
          ...{ name: "code_run", arguments: args, ...more },
          _meta: {
            [`${PREFIX}protocolVersion`]: "2026-07-28",
            [`${PREFIX}clientCapabilities`]: capabilities,
          },
        },
      }),
    });
    return response.json();
  };
  const dataOf = ({ result }) => JSON.parse(result.content[0].text);
  const accepted = ({ inputRequests }) =>
    Object.fromEntries(Object.keys(inputRequests).map((key) => [key, { action: "accept", content: {} }]));

  it("calls again with each answer: the run is found, and nothing is repeated", async () => {
    const { url, done } = await served();
    let answer = await call(url, { code: CODE });
    const counts = [];
    while (answer.result.resultType === "input_required") {
      const { requestState } = answer.result;
      counts.push(done.length);
      answer = await call(url, { code: CODE }, { requestState, inputResponses: accepted(answer.result) });
    }
    assert.deepEqual(counts, [1, 3]);
    assert.deepEqual(
      [dataOf(answer).data, done],
      [
        [1, 2, 3, 4, 5],
        [1, 2, 3, 4, 5],
      ],
    );
  });

  it("repeats an answer, and gets the same result: the run has ended", async () => {
    const { url, done } = await served();
    const code = "return await pay.out({ n: 7 })";
    const { result } = await call(url, { code });
    const more = { requestState: result.requestState, inputResponses: accepted(result) };
    const all = [await call(url, { code }, more), await call(url, { code }, more)].map(dataOf);
    assert.deepEqual([all[0].data, all[1].data, done], [7, 7, [7]]);
  });

  it("cannot name a run in its answers, and not resume one with another program", async () => {
    const { url, done } = await served();
    const code = "return await pay.out({ n: 8 })";
    const { result } = await call(url, { code });
    const inputResponses = { ...accepted(result), "operations/call": "mine" };
    const forged = await call(url, { code: "return 1" }, { inputResponses });
    assert.equal(dataOf(forged).data, 1);
    assert.notEqual(dataOf(forged).id, "mine");
    const other = await call(
      url,
      { code: "return 2" },
      { requestState: result.requestState, inputResponses },
    );
    assert.equal(other.error.code, -32602);
    assert.deepEqual(done, []);
  });

  it("that cannot be asked gets the id of a run that waits, and resumes it once that is decided", async () => {
    const { url, done, registry } = await served();
    const waiting = dataOf(await call(url, { code: "return await pay.out({ n: 9 })" }, {}, {}));
    assert.equal(waiting.status, "waiting");
    await registry.approvals.decide(waiting.approvals[0].id, { approve: true });
    assert.equal(dataOf(await call(url, { resume: waiting.id }, {}, {})).data, 9);
    assert.deepEqual(done, [9]);
  });
});
