// Servers that follow the protocol loosely, or use it against us.

import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { CallError } from "@alkdev/operations";
import { assertNoStalls } from "../support/event-loop.mjs";
import { connected, failure, stdio } from "./support/servers.mjs";

assertNoStalls();

describe("messages that are written otherwise", { concurrency: true }, () => {
  for (const trait of ["batches", "pretty", "answers-twice", "string-ids", "strangers-first"]) {
    it(`unusual but valid messages are understood: ${trait}`, async (t) => {
      const { call } = await connected(t, stdio([trait]));
      for (let i = 0; i < 5; i++) {
        assert.equal((await call("echo", { text: `call ${i}` })).data[0].text, `call ${i}`);
      }
      const answers = await Promise.all([1, 2, 3].map((n) => call("echo", { text: `${n}` })));
      assert.deepEqual(
        answers.map(({ data }) => data[0].text),
        ["1", "2", "3"],
      );
    });
  }
});

describe("results that are none", { concurrency: true }, () => {
  for (const [what, written] of Object.entries({
    null: "null",
    "a number": "7",
    "a text": '"fine"',
    "an array": "[1]",
  })) {
    it(`a result that is ${what} is an error, and the next call works`, async (t) => {
      const { tool, call } = await connected(t, stdio());
      const error = await failure(tool("raw-result").handler({ written }, {}));
      assert.ok(error instanceof CallError, String(error));
      assert.equal(error.code, "EXECUTION_ERROR");
      assert.notEqual(error.details.delivery, "none");
      assert.equal((await call("echo", { text: "fine" })).data[0].text, "fine");
    });
  }

  for (const [what, written, data] of [
    ["content that is no array", '{"content":{"a":1}}', []],
    [
      "blocks that are none",
      '{"content":[null,1,"x"]}',
      [
        { type: "text", text: "null" },
        { type: "text", text: "1" },
        { type: "text", text: '"x"' },
      ],
    ],
    ["isError that is no boolean", '{"content":[],"isError":"yes"}', []],
    ["structured content that is null", '{"content":[],"structuredContent":null}', []],
    [
      "a key called __proto__",
      '{"content":[],"structuredContent":{"__proto__":{"polluted":true}}}',
      undefined,
    ],
  ]) {
    it(`a result with ${what} is read as far as possible`, async (t) => {
      const { tool } = await connected(t, stdio());
      const envelope = await tool("raw-result").handler({ written }, {});
      assert.equal(envelope.meta.source, "mcp");
      assert.ok(Array.isArray(envelope.meta.content));
      if (data !== undefined) assert.deepEqual(envelope.data, data);
      assert.equal({}.polluted, undefined);
    });
  }
});

describe("servers that do not stop", () => {
  it("calls go on while a server logs without end", async (t) => {
    const { call } = await connected(t, stdio(["talkative"]));
    assert.equal((await call("echo", { text: "fine" })).data[0].text, "fine");
    assert.equal((await call("echo", { text: "still" })).data[0].text, "still");
  });

  it("calls go on while a server changes its tools without end, and refreshes are throttled", async (t) => {
    const start = Date.now();
    const { call, ask } = await connected(t, stdio(["restless"]));
    for (let i = 0; i < 20; i++) {
      await new Promise((resolve) => setTimeout(resolve, 20));
      assert.equal((await call("echo", { text: "fine" })).data[0].text, "fine");
    }
    const lists = (await ask("received")).filter(({ method }) => method === "tools/list");
    // One at the beginning, one at the first change, and then no more than one a second.
    assert.ok(lists.length <= 2 + (Date.now() - start) / 1_000, String(lists.length));
  });
});
