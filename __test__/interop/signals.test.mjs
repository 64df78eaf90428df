// One signal for many calls: Node warns about the eleventh listener on a signal, so ours share one.

import assert from "node:assert/strict";
import { getEventListeners } from "node:events";
import { describe, it } from "node:test";
import { query, serving } from "../call/support.mjs";
import * as http from "../http/support.mjs";
import { single } from "../http/support.mjs";
import { connected, stdio } from "../mcp/support/servers.mjs";
import { skip, useNats } from "../nats/support.mjs";

const COUNT = 100;

/** Makes many calls with one signal, and aborts it when all are under way. */
async function shared(test, call, isUnderWay) {
  const warnings = [];
  const remember = (warning) => warnings.push(`${warning.name}: ${warning.message}`);
  process.on("warning", remember);
  test.after(() => process.off("warning", remember));
  const { signal, abort } = withAbort();
  const pending = Promise.allSettled(Array.from({ length: COUNT }, () => call(signal)));
  await isUnderWay();
  assert.equal(getEventListeners(signal, "abort").length, 1);
  abort();
  const outcomes = await pending;
  assert.deepEqual([...new Set(outcomes.map(({ reason }) => reason?.code))], ["ABORTED"]);
  assert.equal(getEventListeners(signal, "abort").length, 0);
  // Warnings are emitted on a later turn of the event loop.
  await new Promise((resolve) => setImmediate(resolve));
  assert.deepEqual(warnings, []);
}

function withAbort() {
  const controller = new AbortController();
  return { signal: controller.signal, abort: () => controller.abort() };
}

const never = () => new Promise(() => {});

describe("a signal that is none", () => {
  for (const [what, config] of [
    ["the native client", {}],
    ["a fetch of the user's", { fetch: globalThis.fetch }],
  ]) {
    it(`a signal that is no AbortSignal is refused by name, and leaves nothing behind: ${what}`, async () => {
      const { url } = await http.serve((_, response) => http.sendJson(response, 1));
      const call = single("get", {}, { baseUrl: url, ...config });
      for (const [signal, given] of [
        [{}, "an object"],
        ["x", '"x"'],
      ]) {
        await assert.rejects(call({}, { signal }), {
          name: "CallError",
          code: "VALIDATION_ERROR",
          message: `signal must be an AbortSignal, not ${given}`,
          details: { field: "signal" },
        });
      }
      // As `fetch` takes it.
      assert.equal((await call({}, { signal: null })).data, 1);
    });
  }
});

describe(`${COUNT} calls with one signal`, () => {
  it(`${COUNT} calls of an MCP server with one signal leave no listeners and no warning`, async (t) => {
    const { call, ask } = await connected(t, stdio());
    const received = async () => (await ask("received")).filter(({ params }) => params?.name === "never");
    await shared(
      t,
      (signal) => call("never", {}, { signal }),
      async () => {
        while ((await received()).length < COUNT);
      },
    );
  });

  it(`${COUNT} calls over HTTP with one signal leave no listeners and no warning`, async (t) => {
    let open = 0;
    const { url } = await http.serve(() => {
      open += 1;
    });
    const call = single("get", {}, { baseUrl: url });
    await shared(
      t,
      (signal) => call({}, { signal }),
      () => http.until(() => open === COUNT),
    );
  });

  it(`${COUNT} calls of a map in the process with one signal leave no listeners and no warning`, async (t) => {
    const { callMap } = serving([query("never", never)]);
    await shared(
      t,
      (signal) => callMap.call("t.never", {}, { signal }),
      async () => {},
    );
  });

  describe("over NATS", { skip }, () => {
    const nats = useNats();
    it(`${COUNT} calls over NATS with one signal leave no listeners and no warning`, async (t) => {
      let running = 0;
      await nats.worker([
        query("never", () => {
          running += 1;
          return never();
        }),
      ]);
      const { callMap } = await nats.connect();
      await shared(
        t,
        (signal) => callMap.call("t.never", {}, { signal }),
        () => http.until(() => running === COUNT),
      );
    });
  });
});
