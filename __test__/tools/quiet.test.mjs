// A stream that has nothing to say, and a model that waits for it.

import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { OperationRegistry } from "@alkdev/operations";
import { catalogue, toAISDKTools, toTools } from "@alkdev/operations/tools";
import { subscription } from "../registry/support/operations.mjs";
import { deferred } from "../serve/support.mjs";

/** A stream with one event, and then nothing. */
function quiet() {
  const ended = deferred();
  const waiting = deferred();
  const registry = new OperationRegistry();
  registry.register(
    subscription({
      namespace: "n",
      name: "quiet",
      handler: async function* (_, { signal }) {
        try {
          yield "one";
          waiting.resolve();
          await new Promise((resolve) => signal?.addEventListener("abort", resolve));
        } finally {
          ended.resolve();
        }
      },
    }),
  );
  return { registry, ended: ended.promise, waiting: waiting.promise };
}

describe("a model's call of a quiet stream ends after half a minute", () => {
  for (const [what, call] of [
    [
      "toTools",
      async (registry) =>
        (await toTools(registry, { target: "json-schema" }).call("n_quiet", {})).envelope.data,
    ],
    [
      "a catalogue",
      async (registry) => {
        const asOperations = new OperationRegistry();
        asOperations.registerAll(catalogue(registry).asOperations());
        return (await asOperations.execute("catalogue.call", { id: "n.quiet", input: {} })).data;
      },
    ],
    [
      "the AI SDK",
      async (registry) => {
        const tools = await toAISDKTools(registry, {});
        let last;
        for await (const { data } of tools.n_quiet.execute({}, { toolCallId: "1", messages: [] }))
          last = data;
        return last;
      },
    ],
  ]) {
    it(`a model's call of a quiet stream through ${what} ends after half a minute`, async ({ mock }) => {
      const { registry, ended, waiting } = quiet();
      mock.timers.enable({ apis: ["setTimeout", "Date"], now: Date.now() });
      const called = call(registry);
      await waiting;
      mock.timers.tick(30_000);
      assert.deepEqual(await called, ["one"]);
      await ended;
    });
  }
});
