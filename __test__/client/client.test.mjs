// `@alkdev/operations/client` against `serve`: a call over HTTP gives what a direct call gives.

import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { fileURLToPath } from "node:url";
import { CallError, createRegistry, defineOperation } from "@alkdev/operations";
import { createClient } from "@alkdev/operations/client";
import { serve } from "@alkdev/operations/serve";
import { build } from "esbuild";
import { z } from "zod";

const common = {
  namespace: "demo",
  version: "1.0.0",
  description: "For a test",
  accessControl: { requiredScopes: [] },
};
const any = { inputSchema: z.any(), outputSchema: z.any() };
let aborted;
const operations = [
  defineOperation({
    ...common,
    name: "greet",
    type: "query",
    inputSchema: z.object({ name: z.string() }),
    outputSchema: z.object({ greeting: z.string() }),
    handler: ({ name }) => ({ greeting: `Hello ${name}` }),
  }),
  defineOperation({ ...common, name: "echo", type: "mutation", ...any, handler: (input) => input }),
  defineOperation({
    ...common,
    name: "sell",
    type: "mutation",
    ...any,
    errorSchemas: [{ code: "OUT_OF_STOCK", schema: z.any(), httpStatus: 409 }],
    handler: ({ details }) => {
      throw new CallError("OUT_OF_STOCK", "nothing left", details);
    },
  }),
  defineOperation({
    ...common,
    name: "wait",
    type: "query",
    ...any,
    handler: (_, { signal }) =>
      new Promise((resolve) => {
        signal.addEventListener("abort", resolve);
        signal.addEventListener("abort", () => aborted?.());
      }),
  }),
  defineOperation({
    ...common,
    name: "count",
    type: "subscription",
    inputSchema: z.object({ to: z.number(), fails: z.boolean().optional() }),
    outputSchema: z.number(),
    async *handler({ to, fails }) {
      for (let at = 1; at <= to; at++) yield at;
      if (fails) throw new CallError("OUT_OF_NUMBERS", "no more", { to });
    },
  }),
];

describe("a client over HTTP", () => {
  const registry = createRegistry(operations);
  let served;
  let client;
  before(async () => {
    const tokens = { secret: { id: "ada", scopes: [] } };
    served = await serve(registry, { port: 0, doors: { http: true }, tokens });
    client = createClient(served.url, { token: async () => "secret" });
  });
  after(() => served.close());
  const failure = (promise) => promise.then(assert.fail, (error) => error);

  it("a call gives the envelope of the operation", async () => {
    const { data, meta } = await client.demo.greet({ name: "Ada" });
    assert.deepEqual(data, { greeting: "Hello Ada" });
    assert.equal(meta.operationId, "demo.greet");
    assert.deepEqual((await client.$call("demo.greet", { name: "Bo" })).data, { greeting: "Hello Bo" });
  });

  it("binary data and objects that look like it arrive as they were", async () => {
    for (const value of [
      new Uint8Array([0, 255]),
      { $bytes: "AAE=" },
      { a: [new Uint8Array(3)] },
      null,
      "",
    ]) {
      assert.deepEqual((await client.demo.echo({ value })).data, { value });
    }
    const error = await failure(client.demo.echo({ value: [1n] }));
    assert.equal(error.code, "VALIDATION_ERROR");
    assert.match(error.message, /\/value\/0 is a bigint/);
  });

  it("an error has the code, message and details of the operation's own", async () => {
    for (const details of [{ left: 0 }, [1], "none"]) {
      const error = await failure(client.demo.sell({ details }));
      const direct = await failure(
        registry.execute("demo.sell", { details }, { identity: { id: "a", scopes: [] } }),
      );
      assert.ok(error instanceof CallError);
      assert.deepEqual([error.code, error.message], [direct.code, direct.message]);
      if (details.left === undefined) assert.deepEqual(error.details, details);
      else
        assert.deepEqual({ ...error.details, requestId: "" }, { left: 0, delivery: "done", requestId: "" });
    }
  });

  it("what was refused was not carried out", async () => {
    for (const [call, code] of [
      [() => client.demo.greet({}), "VALIDATION_ERROR"],
      [() => client.demo.nothing({}), "OPERATION_NOT_FOUND"],
      [() => createClient(served.url).demo.greet({ name: "" }), "ACCESS_DENIED"],
      [() => createClient(served.url, { token: "wrong" }).demo.greet({ name: "" }), "ACCESS_DENIED"],
    ]) {
      const error = await failure(call());
      assert.deepEqual([error.code, error.details.delivery], [code, "none"]);
    }
  });

  it("a timeout and an abort end the call here and there", async () => {
    const ended = new Promise((resolve) => {
      aborted = resolve;
    });
    const late = await failure(client.demo.wait({}, { timeout: 100 }));
    assert.deepEqual([late.code, late.details.delivery], ["TIMEOUT", "unknown"]);
    await ended;
    const early = await failure(client.demo.wait({}, { signal: AbortSignal.abort() }));
    assert.deepEqual([early.code, early.details.delivery], ["ABORTED", "none"]);
  });

  it("a server that is not there is an error that says so", async () => {
    const error = await failure(createClient("http://127.0.0.1:1").demo.greet({ name: "" }));
    assert.deepEqual([error.code, error.details.reason], ["EXECUTION_ERROR", "connection"]);
  });

  it("a stream yields envelopes, and ends with the error of its handler", async () => {
    const seen = [];
    const read = async (input) => {
      for await (const { data } of client.$subscribe("demo.count", input)) seen.push(data);
    };
    await read({ to: 3 });
    assert.deepEqual(seen, [1, 2, 3]);
    const error = await failure(read({ to: 2, fails: true }));
    assert.deepEqual([error.code, error.details.to], ["OUT_OF_NUMBERS", 2]);
    assert.deepEqual(seen, [1, 2, 3, 1, 2]);
  });
});

it("the client's bundle is under 20 KB and has no native code", async () => {
  const { outputFiles, metafile } = await build({
    stdin: {
      contents: 'export { createClient } from "@alkdev/operations/client";',
      resolveDir: fileURLToPath(new URL(".", import.meta.url)),
    },
    bundle: true,
    minify: true,
    format: "esm",
    platform: "browser",
    write: false,
    metafile: true,
  });
  assert.ok(outputFiles[0].contents.length < 20_000, `${outputFiles[0].contents.length} bytes`);
  const files = Object.keys(metafile.inputs).filter((file) => file !== "<stdin>");
  assert.ok(files.length > 0 && files.every((file) => file.includes("dist/browser/")), files.join(", "));
});
