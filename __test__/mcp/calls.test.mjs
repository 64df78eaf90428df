// A call, from its sending to its end.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, it } from "node:test";
import { buildCallHandler, CallError, PendingRequestMap } from "@alkdev/operations";
import { withTimeEnough } from "../support/time-enough.mjs";
import { temporaryFolder, until } from "./support/processes.mjs";
import { connected, failure, stdio } from "./support/servers.mjs";

const cancellations = (messages) => messages.filter(({ method }) => method === "notifications/cancelled");
const callOf = (messages, tool) => messages.find(({ params }) => params?.name === tool);

describe("arguments", () => {
  it("arguments of a tool arrive as they were given", async (t) => {
    const { ask } = await connected(t, stdio());
    const input = {
      text: 'quotes " and \\ and \u2028 and 🎉',
      large: 9_007_199_254_740_991,
      small: 1e-7,
      nested: { list: [1, [2, [null, true]]], empty: {} },
      __proto__: { hidden: true },
    };
    assert.deepEqual(await ask("arguments", input), JSON.parse(JSON.stringify(input)));
    const own = JSON.parse('{"__proto__":{"a":1},"constructor":2}');
    const back = await ask("arguments", own);
    assert.deepEqual(Object.keys(back), ["__proto__", "constructor"]);
  });

  it("arguments of a tool may be missing", async (t) => {
    const { wrapper } = await connected(t, stdio());
    const tool = wrapper.tools.find(({ name }) => name === "arguments");
    const envelope = await tool.handler(undefined, {});
    assert.equal(envelope.data[0].text, "{}");
  });

  it("arguments that are no object, or no JSON, are refused before anything is sent", async (t) => {
    const { wrapper, ask } = await connected(t, stdio());
    const tool = wrapper.tools.find(({ name }) => name === "arguments");
    const circular = {};
    circular.self = circular;
    for (const input of [7, "text", [1], { big: 1n }, circular]) {
      const error = await failure(tool.handler(input, {}));
      assert.ok(error instanceof CallError, String(error));
      assert.equal(error.code, "VALIDATION_ERROR");
    }
    assert.equal(callOf(await ask("received"), "arguments"), undefined);
  });
});

describe("many calls at once", () => {
  it("many calls at once each get their own response", async (t) => {
    const { call } = await connected(t, stdio());
    const texts = Array.from({ length: 200 }, (_, i) => `call ${i}`);
    const answers = await Promise.all(texts.map((text) => call("echo", { text })));
    assert.deepEqual(
      answers.map(({ data }) => data[0].text),
      texts,
    );
  });

  it("calls arrive in the order in which they were made, with options and without", async (t) => {
    const { call, ask } = await connected(t, stdio());
    const texts = Array.from({ length: 30 }, (_, i) => `line\n"${i}" \u2028`);
    const options = (i) => (i % 5 === 3 ? { metadata: { timeout: 50_000 } } : {});
    await Promise.all(texts.map((text, i) => call("echo", { text }, options(i))));
    const received = (await ask("received")).filter(({ params }) => params?.name === "echo");
    assert.deepEqual(
      received.map(({ params }) => params.arguments.text),
      texts,
    );
  });

  it("a call that is aborted before the others are sent ends, and harms no other", async (t) => {
    const { call, ask } = await connected(t, stdio());
    const controller = new AbortController();
    const first = call("echo", { text: "first" });
    const aborted = failure(call("never", {}, { signal: controller.signal }));
    const last = call("echo", { text: "last" });
    controller.abort();
    assert.equal((await aborted).code, "ABORTED");
    assert.equal((await first).data[0].text, "first");
    assert.equal((await last).data[0].text, "last");
    await toldToStop(ask, "never");
  });

  it("a slow call does not delay a quick one", async (t) => {
    const { call } = await connected(t, stdio());
    const controller = new AbortController();
    const slow = failure(call("never", {}, { signal: controller.signal }));
    assert.equal((await call("echo", { text: "quick" })).data[0].text, "quick");
    controller.abort();
    assert.equal((await slow).code, "ABORTED");
  });
});

describe("a time limit", { concurrency: true }, () => {
  it("the server's time limit ends a call with TIMEOUT, and cancels it at the server", async (t) => {
    const { call, ask } = await connected(t, stdio([], { timeout: 300 }));
    const error = await failure(call("never"));
    assert.ok(error instanceof CallError);
    assert.equal(error.code, "TIMEOUT");
    assert.equal(error.details.delivery, "unknown");
    assert.equal(error.details.timeout, 300);
    assert.match(error.message, /300 ms/);
    assert.match(error.message, /never/);
    await toldToStop(ask, "never");
  });

  it("a call can have a time limit in its metadata", async (t) => {
    const { call, ask } = await connected(t, stdio());
    const error = await failure(call("never", {}, { metadata: { timeout: 200 } }));
    assert.equal(error.code, "TIMEOUT");
    assert.equal(error.details.timeout, 200);
    await toldToStop(ask, "never");
  });

  it("the time limit of a call may be longer than that of the server", async (t) => {
    const { call } = await connected(t, stdio([], { timeout: 100 }));
    const envelope = await call("wait", { steps: 3, pause: 100 }, { metadata: { timeout: 60_000 } });
    assert.equal(envelope.data[0].text, "done after 3");
  });

  it("a time limit that is no number is refused", async (t) => {
    const { call } = await connected(t, stdio());
    for (const timeout of [0, -1, Number.NaN, "soon"]) {
      const error = await failure(call("echo", { text: "a" }, { metadata: { timeout } }));
      assert.equal(error.code, "VALIDATION_ERROR", String(timeout));
      assert.match(error.message, /timeout/);
    }
  });

  it("progress restarts the time limit if that is configured", async (t) => {
    const { call } = await connected(t, stdio([], { resetTimeoutOnProgress: true }));
    await withTimeEnough(async (timeout) => {
      // Twice as long as the limit, whatever that is. A busy machine may be late with one of the messages.
      const waiting = call("wait", { steps: 12, pause: timeout / 6 }, { metadata: { timeout } });
      const { data, code } = await waiting.catch((error) => error);
      if (code === "TIMEOUT") return false;
      assert.equal(data[0].text, "done after 12");
      return true;
    }, 600);
  });

  it("progress does not restart the time limit by default", async (t) => {
    const { call } = await connected(t, stdio());
    const seen = [];
    const onProgress = (progress) => seen.push(progress);
    await withTimeEnough(async (timeout) => {
      const context = { onProgress, metadata: { timeout } };
      const error = await failure(call("wait", { steps: 1_000_000, pause: 20 }, context));
      assert.equal(error.code, "TIMEOUT");
      return seen.length > 0;
    });
  });

  it("a time limit is also the deadline of a call through the protocol", async (t) => {
    const { registry, ask } = await connected(t, stdio());
    const callMap = new PendingRequestMap();
    callMap["call.requested"].subscribe(buildCallHandler({ registry, callMap }));
    const error = await failure(callMap.call("test.never", {}, { deadline: Date.now() + 300 }));
    assert.equal(error.code, "TIMEOUT");
    await toldToStop(ask, "never");
    assert.equal(callMap.getPendingCount(), 0);
  });
});

describe("a signal", () => {
  it("a signal that is aborted ends a call with ABORTED, and cancels it at the server", async (t) => {
    const { call, ask } = await connected(t, stdio());
    const controller = new AbortController();
    const pending = failure(call("never", {}, { signal: controller.signal }));
    await until(async () => callOf(await ask("received"), "never"), "the call has arrived");
    controller.abort();
    const error = await pending;
    assert.ok(error instanceof CallError);
    assert.equal(error.code, "ABORTED");
    assert.equal(error.details.delivery, "unknown");
    await toldToStop(ask, "never");
  });

  it("a call with an aborted signal sends nothing", async (t) => {
    const { call, tool, ask } = await connected(t, stdio());
    const path = join(temporaryFolder(t), "mark");
    const signal = AbortSignal.abort();
    assert.equal((await failure(call("write-file", { path }, { signal }))).code, "ABORTED");
    const error = await failure(tool("write-file").handler({ path }, { signal }));
    assert.equal(error.code, "ABORTED");
    assert.equal(error.details.delivery, "none");
    assert.equal(callOf(await ask("received"), "write-file"), undefined);
    assert.throws(() => readFileSync(path));
  });

  it("a call that is over has removed its listener from the signal", async (t) => {
    const { call } = await connected(t, stdio());
    const { signal } = new AbortController();
    let listening = 0;
    const { addEventListener, removeEventListener } = signal;
    signal.addEventListener = function (...args) {
      listening++;
      return addEventListener.apply(this, args);
    };
    signal.removeEventListener = function (...args) {
      listening--;
      return removeEventListener.apply(this, args);
    };
    for (let i = 0; i < 5; i++) await call("echo", { text: "a" }, { signal });
    assert.equal(listening, 0);
  });

  it("aborting after the end of a call changes nothing", async (t) => {
    const { call, ask } = await connected(t, stdio());
    const controller = new AbortController();
    await call("echo", { text: "a" }, { signal: controller.signal });
    controller.abort();
    assert.deepEqual(cancellations(await ask("received")), []);
  });
});

describe("progress", () => {
  it("progress reaches onProgress, in order, before the result", async (t) => {
    const { call } = await connected(t, stdio());
    const seen = [];
    await call("wait", { steps: 5 }, { onProgress: (progress) => seen.push(progress) });
    assert.deepEqual(
      seen.map(({ progress, total, message }) => ({ progress, total, message })),
      Array.from({ length: 5 }, (_, i) => ({ progress: i + 1, total: 5, message: `step ${i + 1}` })),
    );
  });

  it("progress of concurrent calls is not mixed up", async (t) => {
    const { call } = await connected(t, stdio());
    const counts = await Promise.all(
      [1, 2, 3, 4, 5].map(async (steps) => {
        let count = 0;
        await call("wait", { steps, pause: 5 }, { onProgress: () => count++ });
        return count;
      }),
    );
    assert.deepEqual(counts, [1, 2, 3, 4, 5]);
  });

  it("an onProgress that throws harms neither the call nor the process", async (t) => {
    const { call } = await connected(t, stdio());
    const onProgress = () => {
      throw new Error("no, thank you");
    };
    const envelope = await call("wait", { steps: 3 }, { onProgress });
    assert.equal(envelope.data[0].text, "done after 3");
  });
});

describe("what the server refuses", () => {
  it("a call that the server refuses is EXECUTION_ERROR with the server's code and message", async (t) => {
    const { wrapper } = await connected(t, stdio(["forgetful"]));
    const tool = wrapper.tools.find(({ name }) => name === "echo");
    const error = await failure(tool.handler({ text: "a" }, {}));
    assert.ok(error instanceof CallError);
    assert.equal(error.code, "EXECUTION_ERROR");
    assert.equal(error.details.rpcCode, -32602);
    assert.match(error.message, /Unknown tool: echo/);
  });
});

/** Waits until the server has been told that nobody waits for this tool's answer any more. */
async function toldToStop(ask, tool) {
  await until(async () => {
    const messages = await ask("received", {}, { metadata: { timeout: 60_000 } });
    const { id } = callOf(messages, tool);
    return cancellations(messages).some(({ params }) => params.requestId === id);
  }, `the server is told to stop ${tool}`);
}
