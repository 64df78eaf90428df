// MCP tools that a worker serves without waking JavaScript.

import assert from "node:assert/strict";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, describe, it } from "node:test";
import { closeMCPClient, createMCPClient, unwrap } from "@alkdev/operations";
import { packaged, stdio } from "../mcp/support/servers.mjs";
import { withTimeEnough } from "../support/time-enough.mjs";
import { skip, until, useNats, watch } from "./support.mjs";

/** Results that JavaScript and Rust could see differently. */
const RESULTS = [
  "{}",
  '{"content":null,"isError":null,"structuredContent":null,"_meta":null}',
  '{"content":{"0":1},"isError":1}',
  '{"content":[],"isError":true}',
  '{"content":[],"isError":true,"structuredContent":{"why":-0}}',
  '{"content":[{"type":"text","text":"half \\ud800 \\u0041 \\/"}]}',
  '{"content":[],"structuredContent":{"a":-0,"b":1e400,"c":9007199254740993,"d":1.50,"__proto__":{"x":1}}}',
  '{"content":[],"structuredContent":{"b":{"2":1,"1":2,"b":3,"b":4}},"_meta":{"2":1,"1":-0}}',
  '{"content":[],"structuredContent":[1,"x",null]}',
  '{"content":[],"structuredContent":"text"}',
  '{"content":[],"structuredContent":0}',
  '{"content":[{"type":"text","text":"[1.0,-0]"}]}',
  '{"content":[{"type":"text","text":"7"}]}',
  '{"content":[{"type":"video","n":-0,"2":1,"1":2}]}',
  '{"content":[7,null,"x",[1],{"type":"text"},{"type":7}]}',
  '{"content":[{"type":"image","data":"AA==","mimeType":"image/png","more":1,"annotations":[1]}]}',
  '{"content":[{"type":"audio","data":7,"mimeType":"audio/wav"}]}',
  '{"content":[{"type":"resource","resource":{"uri":"a:b","blob":"AA==","text":7,"x":1},"annotations":null}]}',
  '{"content":[{"type":"resource","resource":{"text":"x"}},{"type":"resource","resource":[]}]}',
  '{"content":[{"type":"resource_link","uri":"a:b","name":"n","size":1.50,"title":null,"_meta":{}}]}',
  '{"resultType":"complete","content":[{"type":"text","text":"input_required"}]}',
  "7",
  "null",
  "[]",
  '"text"',
];

/** Calls of the hand-made server's tools. */
const CALLS = [
  ["echo", { text: "half \ud800" }],
  ["echo", { text: 7 }],
  ["echo", undefined],
  ["arguments", { z: -0, a: [1.5, null], 2: 1, 1: 2 }],
  ["arguments", {}],
  ["arguments", null],
  ["arguments", []],
  ...[
    "person",
    "sloppy-person",
    "undeclared-structure",
    "fail",
    "json-text",
    "two-texts",
    "every-content",
    "no-content",
  ].map((name) => [name, {}]),
  ["deep", { depth: 200 }],
  ["deep", { depth: 20_000 }],
  ["large", { bytes: 200_000 }],
  ...RESULTS.map((written) => ["raw-result", { written }]),
];

const made = [];

const temporary = () => {
  const folder = mkdtempSync(join(tmpdir(), "operations-"));
  after(() => rmSync(folder, { recursive: true, force: true, maxRetries: 20 }));
  return folder;
};

let last = 0;

/** A client with a name of its own, because all workers of this file serve on one broker. */
async function client(config, name = `n${++last}`) {
  const wrapper = await createMCPClient(name, config);
  made.push(wrapper);
  return wrapper;
}

/** The same tools behind functions of the user's, which only JavaScript can call. */
const wrapped = (tools, namespace) =>
  tools.map((tool) => ({
    ...tool,
    namespace,
    handler: (input, context) => tool.handler(input, context),
  }));

async function outcomeOf(promise) {
  try {
    return await promise;
  } catch ({ code, message, details }) {
    return { code, message, details };
  }
}

describe("an MCP tool over NATS", { skip, timeout: 180_000 }, () => {
  const nats = useNats();
  after(() => Promise.all(made.map(closeMCPClient)));

  it("an MCP tool over NATS is answered while the JavaScript thread of its worker is busy", async () => {
    const release = join(temporary(), "release");
    const mcp = packaged("server-everything", ["stdio"]);
    const worker = await nats.process("./busy-worker-process.mjs", { mcp, release });
    const { callMap } = await nats.connect();
    const order = [];
    worker.tell("block");
    await worker.until((line) => line.blocked);
    const released = worker.until((line) => line.released).then(() => order.push("released"));
    const local = callMap.call("t.local", {}).then(unwrap);
    void local.then(() => order.push("JavaScript"));
    const echo = await callMap.call("mcp.echo", { message: "hello" });
    order.push("echo");
    assert.deepEqual(echo, {
      data: [{ type: "text", text: "Echo: hello" }],
      meta: { isError: false, content: [{ type: "text", text: "Echo: hello" }], source: "mcp" },
    });
    const { data, meta } = await callMap.call("mcp.get-structured-content", { location: "Chicago" });
    order.push("structured");
    assert.deepEqual(data, meta.structuredContent);
    const media = unwrap(await callMap.call("mcp.get-tiny-image", {}));
    order.push("image");
    assert.ok(media.some(({ type, mimeType }) => type === "image" && mimeType === "image/png"));
    await assert.rejects(callMap.call("mcp.echo", { message: 7 }), { code: "VALIDATION_ERROR" });
    order.push("refused");
    writeFileSync(release, "");
    await released;
    assert.equal(await local, "from JavaScript");
    assert.deepEqual(order, ["echo", "structured", "image", "refused", "released", "JavaScript"]);
    await worker.kill();
  });

  for (const [how, more] of Object.entries({
    "as it is": {},
    "with parseJSONText": { parseJSONText: true },
    "with onToolError": { onToolError: "throw" },
    "with output: keep": { output: "keep" },
    "with output: off": { output: "off" },
  })) {
    it(`an MCP tool over NATS has the same outcome as through JavaScript, ${how}`, async () => {
      const { name: server, tools } = await client(stdio([], more));
      const { registry } = await nats.worker([...tools, ...wrapped(tools, `j-${server}`)]);
      const seen = watch(registry);
      const { callMap } = await nats.connect();
      for (const [name, input] of CALLS) {
        const natively = await outcomeOf(callMap.call(`${server}.${name}`, input));
        const through = await outcomeOf(callMap.call(`j-${server}.${name}`, input));
        const about = `${name} ${JSON.stringify(input)}`;
        const sameNames = JSON.parse(JSON.stringify(through).replaceAll("operation j-", "operation "));
        assert.deepEqual(JSON.parse(JSON.stringify(natively)), sameNames, about);
        assert.deepEqual(Object.keys(natively.meta ?? {}), Object.keys(through.meta ?? {}), about);
      }
      // Only those of the user's functions have woken the registry here.
      assert.deepEqual([...new Set(seen.map((id) => id.split(".")[0]))], [`j-${server}`]);
    });
  }

  it("an MCP tool over NATS has the same errors as through JavaScript when its server ends", async () => {
    for (const [tool, input] of [
      ["die", { words: "oh", code: 7 }],
      ["die-once", { marker: "marker" }],
    ]) {
      const outcomes = [];
      for (const namespace of [`native-${tool}`, `through-${tool}`]) {
        const folder = temporary();
        const { tools } = await client(stdio(), "same");
        const natively = tools.map((each) => ({ ...each, namespace }));
        await nats.worker(namespace.startsWith("native") ? natively : wrapped(tools, namespace));
        const { callMap } = await nats.connect();
        const given = { ...input, ...(input.marker && { marker: join(folder, input.marker) }) };
        outcomes.push(await outcomeOf(callMap.call(`${namespace}.${tool}`, given)));
      }
      assert.equal(outcomes[0].code, "EXECUTION_ERROR");
      assert.deepEqual(outcomes[0], outcomes[1]);
    }
  });

  it("elicitations of an MCP tool over NATS reach JavaScript", async () => {
    const asked = [];
    const { name, tools } = await client(
      stdio([], {
        onElicitation: ({ message }) => {
          asked.push(message);
          return { action: "accept", content: { name: "Ada" } };
        },
      }),
    );
    const { registry } = await nats.worker(tools);
    const seen = watch(registry);
    const { callMap } = await nats.connect();
    const [{ text }] = unwrap(await callMap.call(`${name}.elicit`, {}));
    assert.deepEqual(JSON.parse(text).result, { action: "accept", content: { name: "Ada" } });
    assert.deepEqual([asked, seen], [["What is your name?"], []]);
  });

  it("an MCP tool over NATS is cancelled at its server when no caller waits any more", async () => {
    const wrapper = await client(stdio());
    const { registry } = await nats.worker(wrapper.tools, { concurrency: 1 });
    const seen = watch(registry);
    const { callMap } = await nats.connect();
    const received = async (fits) => {
      const { content } = await wrapper.client.callTool({ name: "received" });
      return JSON.parse(content[0].text).filter(fits).length;
    };
    const cancelled = ({ method }) => method === "notifications/cancelled";
    const controller = new AbortController();
    const aborted = outcomeOf(callMap.call(`${wrapper.name}.never`, {}, { signal: controller.signal }));
    await until(async () => (await received(({ params }) => params?.name === "never")) === 1);
    controller.abort();
    assert.equal((await aborted).code, "ABORTED");
    await until(async () => (await received(cancelled)) === 1);
    // Its place is free again: there is only this one.
    await withTimeEnough(async (time) => {
      const late = callMap.call(`${wrapper.name}.never`, {}, { deadline: Date.now() + time });
      assert.equal((await outcomeOf(late)).code, "TIMEOUT");
      return (await received(({ params }) => params?.name === "never")) === 2;
    });
    await until(async () => (await received(cancelled)) === 2);
    assert.equal(unwrap(await callMap.call(`${wrapper.name}.echo`, { text: "a" }))[0].text, "a");
    assert.deepEqual(seen, []);
  });

  it("an MCP tool over NATS is served by JavaScript wherever JavaScript has a say", async () => {
    const { name, tools } = await client(stdio());
    const closed = wrapped(tools, "auth").map((tool, index) => ({
      ...tool,
      handler: tools[index].handler,
      accessControl: { requiredScopes: [], customAuth: "ask" },
    }));
    const { registry } = await nats.worker([...tools, ...closed], {
      registryOptions: { customAuth: { ask: () => true } },
    });
    const seen = watch(registry);
    const { callMap } = await nats.connect();
    const isThroughJavaScript = async (id, options) => {
      seen.length = 0;
      const [{ text }] = unwrap(await callMap.call(id, { text: "a" }, options));
      assert.equal(text, "a");
      return seen.length > 0;
    };
    assert.equal(await isThroughJavaScript(`${name}.echo`), false);
    assert.equal(await isThroughJavaScript("auth.echo"), true);
    assert.equal(await isThroughJavaScript(`${name}.echo`, { metadata: { other: 1 } }), false);
    assert.equal(await isThroughJavaScript(`${name}.echo`, { metadata: { timeout: 5_000 } }), true);
    registry.registerHandler(`${name}.echo`, () => [{ type: "text", text: "a" }]);
    assert.equal(await isThroughJavaScript(`${name}.echo`), true);
  });
});
