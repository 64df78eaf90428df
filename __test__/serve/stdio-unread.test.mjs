// A client of serveStdio that sends calls and does not read their responses.

import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import { describe, it } from "node:test";
import { fileURLToPath } from "node:url";

const CALLS = 60;
const SIZE = 100_000;
const LIMIT = 2_000_000;

/** Its calls are answered together, when all have begun. */
const program = `
  import { OperationRegistry } from "@alkdev/operations";
  import { serveStdio } from "@alkdev/operations/serve";
  import { Type } from "@sinclair/typebox";
  const common = {
    namespace: "demo", version: "1.0.0", type: "query", description: "An operation",
    inputSchema: Type.Object({}, { additionalProperties: true }), outputSchema: Type.Unknown(),
    accessControl: { requiredScopes: [] },
  };
  const registry = new OperationRegistry();
  let begun = 0;
  let allHaveBegun;
  const all = new Promise((resolve) => (allHaveBegun = resolve));
  registry.registerAll([
    {
      ...common,
      name: "large",
      handler: async () => {
        begun += 1;
        if (begun === ${CALLS}) {
          allHaveBegun();
          sayWhenIdle(process.cpuUsage());
        }
        await all;
        return "x".repeat(${SIZE});
      },
    },
    { ...common, name: "small", handler: () => "here" },
  ]);
  // Then every response is made, and is held or refused.
  const sayWhenIdle = (before) => setTimeout(() => {
    const { user, system } = process.cpuUsage(before);
    if (user + system > 10_000) sayWhenIdle(process.cpuUsage());
    else process.stderr.write("made");
  }, 1_000);
  await serveStdio(registry, { name: "stdio", version: "1", maxBufferedBytes: ${LIMIT} });
`;

/** A client that reads when it is asked to. */
function start(t) {
  const child = spawn(process.execPath, ["--input-type=module", "-e", program], {
    cwd: fileURLToPath(new URL("../..", import.meta.url)),
  });
  t.after(() => child.kill("SIGKILL"));
  // It may be ended while it is being written to.
  child.stdin.on("error", () => {});
  const send = (id, method, params) =>
    child.stdin.write(`${JSON.stringify({ jsonrpc: "2.0", id, method, params })}\n`);
  const answers = new Map();
  let received = () => {};
  const read = () =>
    createInterface({ input: child.stdout }).on("line", (line) => {
      const message = JSON.parse(line);
      answers.set(message.id, message);
      received();
    });
  const answered = async (count) => {
    while (answers.size < count) await new Promise((resolve) => (received = resolve));
    return answers;
  };
  return { child, send, read, answered };
}

const hello = { protocolVersion: "2025-06-18", capabilities: {}, clientInfo: { name: "test", version: "1" } };
const call = (name, more) => ({ name: `demo_${name}`, arguments: { ...more } });

describe("serveStdio and a client that does not read", () => {
  it("responses that a client of serveStdio does not read are bounded in bytes, and calls go on when it reads", async (t) => {
    const { child, send, read, answered } = start(t);
    send("hello", "initialize", hello);
    for (let i = 0; i < CALLS; i += 1) send(i, "tools/call", call("large"));
    await once(child.stderr, "data");
    read();
    const answers = await answered(CALLS + 1);
    const results = Array.from({ length: CALLS }, (_, i) => answers.get(i));
    const refused = results.filter(({ error }) => error !== undefined);
    const held = results.filter(({ result }) => result?.structuredContent.result.length === SIZE);
    assert.equal(refused.length + held.length, CALLS);
    // One caller's unread responses: half of the limit, one more, and what the pipe has taken.
    assert.ok(held.length > 2 && held.length < CALLS / 2, `${held.length} of ${CALLS}`);
    for (const { error } of refused) {
      assert.match(error.message, /^The call was made, but its response could not be held/);
    }
    send("again", "tools/call", call("small"));
    const again = (await answered(CALLS + 2)).get("again");
    assert.deepEqual(again.result.structuredContent, { result: "here" });
  });

  it("calls of a client of serveStdio are bounded in the bytes of their inputs, and refused before they run", async (t) => {
    const { send, read, answered } = start(t);
    read();
    send("hello", "initialize", hello);
    // They wait for more calls than there will be.
    for (let i = 0; i < 30; i += 1) send(i, "tools/call", call("large", { text: "y".repeat(SIZE) }));
    send("small", "tools/call", call("small"));
    const answers = await answered(10);
    const refused = [...answers.values()].filter(({ error }) => error !== undefined);
    for (const { error } of refused) assert.match(error.message, /held in memory already\. Try again later$/);
    assert.ok(refused.length >= 8);
  });
});
