// Operations as tools of the AI SDK, in each version that is supported, with the mock model of that version.

import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { CallError, OperationRegistry, OperationType } from "@alkdev/operations";
import { catalogue, toAISDKTools } from "@alkdev/operations/tools";
import { Type } from "@sinclair/typebox";
import { mockModel, usage, VERSIONS } from "./support/ai-sdk.mjs";

const operation = (id, rest) => ({
  namespace: id.split(".")[0],
  name: id.split(".")[1],
  version: "1.0.0",
  type: OperationType.QUERY,
  description: `The operation ${id}`,
  inputSchema: Type.Object({}),
  outputSchema: Type.Unknown(),
  accessControl: { requiredScopes: [] },
  ...rest,
});

const PNG =
  "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";

function registryOf(...more) {
  const registry = new OperationRegistry();
  registry.registerAll([
    operation("math.divide", {
      inputSchema: Type.Object({ a: Type.Number(), b: Type.Number() }),
      outputSchema: Type.Number(),
      handler: ({ a, b }) => {
        if (b === 0) throw new CallError("DIVISION_BY_ZERO", "b must not be 0");
        return a / b;
      },
    }),
    operation("vault.open", {
      type: OperationType.MUTATION,
      accessControl: { requiredScopes: ["vault"] },
      handler: () => "open",
    }),
    ...more,
  ]);
  return registry;
}

for (const [version, { load, test, model: kind }] of Object.entries(VERSIONS)) {
  const modelOf = (...turns) => mockModel(version, turns);
  /** What the last tool's result was, as the model got it. */
  const lastResult = (prompt) => prompt.at(-1).content.at(-1).output;

  describe(`toAISDKTools with ${version}`, () => {
    it(`a model finds a tool, calls it and corrects itself, with ${version}`, async () => {
      const { generateText, stepCountIs, isStepCount } = await load();
      const front = new OperationRegistry();
      front.registerAll(catalogue(registryOf()).asOperations());
      const tools = toAISDKTools(front, { identity: { id: "m", scopes: [] } });
      assert.deepEqual(Object.keys(tools), ["catalogue_call", "catalogue_describe", "catalogue_search"]);
      let found;
      const { model, prompts } = await modelOf(
        { tool: "catalogue_search", input: { query: "divide numbers" } },
        (prompt) => {
          [found] = JSON.parse(lastResult(prompt).value);
          return { tool: "catalogue_describe", input: { id: found.id } };
        },
        (prompt) => {
          assert.match(JSON.stringify(lastResult(prompt).value), /a: number; b: number/);
          return { tool: "catalogue_call", input: { id: found.id, input: { a: "6", b: 0 } } };
        },
        (prompt) => {
          assert.equal(lastResult(prompt).type, "error-text");
          assert.match(lastResult(prompt).value, /VALIDATION_ERROR.*\/a/s);
          return { tool: "catalogue_call", input: { id: found.id, input: { a: 6, b: 0 } } };
        },
        (prompt) => {
          assert.match(lastResult(prompt).value, /DIVISION_BY_ZERO: b must not be 0/);
          return { tool: "catalogue_call", input: { id: found.id, input: { a: 6, b: 3 } } };
        },
        (prompt) => `It is ${lastResult(prompt).value}.`,
      );
      const stopWhen = (stepCountIs ?? isStepCount)(10);
      const { text, steps } = await generateText({ model, tools, prompt: "What is 6 by 3?", stopWhen });
      assert.equal(text, "It is 2.");
      assert.equal(prompts.length, 6);
      assert.equal(steps.length, 6);
      assert.deepEqual(steps[4].toolResults[0].output, { data: 2 });
    });

    it(`toAISDKTools shows images to the model, with ${version}`, async () => {
      const { generateText, stepCountIs, isStepCount } = await load();
      const registry = registryOf(
        operation("camera.shoot", {
          handler: () => ({
            data: new Uint8Array(Buffer.from(PNG, "base64")),
            meta: { source: "http", statusCode: 200, headers: {}, contentType: "image/png" },
          }),
        }),
      );
      const { model } = await modelOf({ tool: "camera_shoot", input: {} }, (prompt) =>
        JSON.stringify(lastResult(prompt)),
      );
      const tools = toAISDKTools(registry, { include: ["camera.*"] });
      const { text, steps } = await generateText({
        model,
        tools,
        prompt: "Look",
        stopWhen: (stepCountIs ?? isStepCount)(3),
      });
      const { type, value } = JSON.parse(text);
      assert.equal(type, "content");
      assert.ok(JSON.stringify(value).includes(PNG));
      assert.ok(JSON.stringify(value).includes("image/png"));
      assert.deepEqual(steps[0].toolResults[0].output, {
        content: [{ type: "image", data: PNG, mimeType: "image/png" }],
      });
    });

    it(`toAISDKTools returns the events of a stream as preliminary results, with ${version}`, async () => {
      const { streamText, stepCountIs, isStepCount } = await load();
      const { simulateReadableStream } = await load();
      const mocks = await test();
      const registry = registryOf(
        operation("clock.ticks", {
          type: OperationType.SUBSCRIPTION,
          inputSchema: Type.Object({ to: Type.Number() }),
          outputSchema: Type.Number(),
          handler: async function* ({ to }) {
            for (let i = 1; i <= to; i++) yield i;
          },
        }),
      );
      let turn = 0;
      const finish = (reason) => ({
        type: "finish",
        finishReason: version === "ai 5" ? reason : { unified: reason, raw: reason },
        usage: version === "ai 5" ? { inputTokens: 1, outputTokens: 1, totalTokens: 2 } : usage,
      });
      const model = new mocks[kind]({
        doStream: async () => ({
          stream: simulateReadableStream({
            chunks:
              turn++ === 0
                ? [
                    { type: "stream-start", warnings: [] },
                    { type: "tool-call", toolCallId: "c", toolName: "clock_ticks", input: '{"to":3}' },
                    finish("tool-calls"),
                  ]
                : [
                    { type: "stream-start", warnings: [] },
                    { type: "text-start", id: "1" },
                    { type: "text-delta", id: "1", delta: "done" },
                    { type: "text-end", id: "1" },
                    finish("stop"),
                  ],
          }),
        }),
      });
      const { fullStream } = streamText({
        model,
        tools: toAISDKTools(registry),
        prompt: "Count",
        stopWhen: (stepCountIs ?? isStepCount)(3),
      });
      const results = [];
      for await (const part of fullStream) {
        if (part.type === "tool-result") results.push([part.preliminary === true, part.output.data]);
        if (part.type === "error") throw part.error;
      }
      assert.deepEqual(results, [
        [true, [1]],
        [true, [1, 2]],
        [true, [1, 2, 3]],
        [false, [1, 2, 3]],
      ]);
    });

    it(`toAISDKTools lists what the identity may call, and calls with it, with ${version}`, async () => {
      const registry = registryOf();
      assert.deepEqual(Object.keys(toAISDKTools(registry, { identity: { id: "x", scopes: [] } })), [
        "math_divide",
      ]);
      const tools = toAISDKTools(registry, { identity: { id: "x", scopes: ["vault"] } });
      assert.deepEqual(await tools.vault_open.execute({}, { toolCallId: "1" }), { data: "open" });
      const open = toAISDKTools(registry, { context: { trusted: true } });
      await assert.rejects(open.vault_open.execute({}, { toolCallId: "1" }), { code: "ACCESS_DENIED" });
    });

    it(`toAISDKTools passes the signal on, with ${version}`, async () => {
      let seen;
      const registry = registryOf(
        operation("slow.wait", {
          handler: (_, { signal }) => {
            seen = signal;
            return new Promise((_, reject) => signal.addEventListener("abort", () => reject(signal.reason)));
          },
        }),
      );
      const controller = new AbortController();
      const { slow_wait: tool } = toAISDKTools(registry, { include: ["slow.*"] });
      const waiting = tool.execute({}, { toolCallId: "1", abortSignal: controller.signal });
      await new Promise((resolve) => setImmediate(resolve));
      controller.abort(new Error("enough"));
      await assert.rejects(waiting);
      assert.equal(seen.aborted, true);
    });

    it("toAISDKTools requests approval, and makes no call without it", async () => {
      const { generateText, stepCountIs, isStepCount } = await load();
      let calls = 0;
      const registry = registryOf(
        operation("files.remove", {
          type: OperationType.MUTATION,
          inputSchema: Type.Object({ path: Type.String() }),
          handler: () => {
            calls += 1;
            return "gone";
          },
        }),
      );
      const needsApproval = ({ type }, { path }) => type === OperationType.MUTATION && path !== "/tmp/x";
      const tools = toAISDKTools(registry, { needsApproval, include: ["files.*"] });
      const ask = async (messages, ...turns) => {
        const { model } = await modelOf(...turns);
        return generateText({ model, tools, messages, stopWhen: (stepCountIs ?? isStepCount)(3) });
      };
      const user = [{ role: "user", content: "Remove it" }];
      const free = await ask(user, { tool: "files_remove", input: { path: "/tmp/x" } }, "removed");
      assert.equal(free.text, "removed");
      assert.equal(calls, 1);

      const first = await ask(user, { tool: "files_remove", input: { path: "/etc" } }, "not allowed");
      assert.equal(calls, 1);
      if (version === "ai 5") {
        // It cannot ask, so the call fails.
        const { error } = first.steps[0].content.find(({ type }) => type === "tool-error");
        assert.match(error.message, /needs approval/);
        return;
      }
      const request = first.content.find(({ type }) => type === "tool-approval-request");
      for (const approved of [false, true]) {
        const response = { type: "tool-approval-response", approvalId: request.approvalId, approved };
        const messages = [...user, ...first.response.messages, { role: "tool", content: [response] }];
        await ask(messages, "well");
        assert.equal(calls, approved ? 2 : 1);
      }
      // Somebody who was not asked cannot make the call.
      await assert.rejects(tools.files_remove.execute({ path: "/etc" }, { toolCallId: "other" }), {
        code: "ACCESS_DENIED",
        message: /needs approval/,
      });
    });

    it("toAISDKTools shows the model nothing that was not meant to be read", async () => {
      const registry = registryOf(
        operation("leaky.fail", {
          handler: () => {
            throw new Error("refused: Authorization: Bearer hunter2hunter2\n    at run (/srv/app.js:1:2)");
          },
        }),
      );
      for (const [errors, message] of [
        ["mask", /^EXECUTION_ERROR: The operation failed$/],
        ["expose", /refused/],
      ]) {
        const { leaky_fail: tool } = toAISDKTools(registry, { include: ["leaky.*"], errors });
        const error = await tool.execute({}, { toolCallId: "1" }).catch((thrown) => thrown);
        assert.match(error.message, message);
        assert.doesNotMatch(error.message, /hunter2|app\.js/);
        assert.match(error.cause.message, /hunter2/);
      }
    });
  });
}
