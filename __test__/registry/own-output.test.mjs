// What `createRegistry` does with outputs unless it is told otherwise: nothing is invented for handlers of one's own.

import assert from "node:assert/strict";
import { createServer } from "node:http";
import { after, describe, it } from "node:test";
import {
  buildCallHandler,
  createRegistry,
  FromOpenAPI,
  OperationRegistry,
  PendingRequestMap,
} from "@alkdev/operations";
import { serve } from "@alkdev/operations/serve";
import { Type } from "@sinclair/typebox";

const Task = Type.Object({ id: Type.String(), title: Type.String(), done: Type.Boolean({ default: false }) });

const operation = (name, handler, extra = {}) => ({
  namespace: "tasks",
  name,
  version: "1.0.0",
  type: "query",
  description: name,
  inputSchema: Type.Object({}),
  outputSchema: Task,
  accessControl: { requiredScopes: [] },
  handler,
  ...extra,
});

const incomplete = operation("get", () => ({ id: "1" }));
const REFUSED = { code: "VALIDATION_ERROR", message: /output of operation tasks\.get[\s\S]*\/title/ };

describe("createRegistry without options", () => {
  it("createRegistry rejects a wrong output of a handler of one's own, instead of inventing a value", async () => {
    await assert.rejects(createRegistry([incomplete]).execute("tasks.get", {}), REFUSED);
  });

  it("createRegistry rejects wrong events of a stream, and wrong outputs over the call protocol", async () => {
    const events = operation(
      "events",
      async function* () {
        yield { id: "1" };
      },
      { type: "subscription" },
    );
    const registry = createRegistry([incomplete, events]);
    await assert.rejects(registry.subscribe("tasks.events", {}).next(), { code: "VALIDATION_ERROR" });
    const callMap = new PendingRequestMap();
    callMap["call.requested"].subscribe(buildCallHandler({ registry, callMap }));
    await assert.rejects(callMap.call("tasks.get", {}), REFUSED);
  });

  it("createRegistry fills in declared defaults, converts without loss, and removes what is not declared", async () => {
    const handler = () => ({ id: 1, title: "Milk", secret: "x" });
    const { data } = await createRegistry([operation("get", handler)]).execute("tasks.get", {});
    assert.deepEqual(data, { id: "1", title: "Milk", done: false });
  });

  it("createRegistry does what options.output or the operation's own output mode says", async () => {
    const normalised = { id: "1", title: "", done: false };
    const registry = createRegistry([incomplete], { output: "normalise" });
    assert.deepEqual((await registry.execute("tasks.get", {})).data, normalised);
    const own = { ...incomplete, _meta: { output: "normalise" } };
    assert.deepEqual((await createRegistry([own]).execute("tasks.get", {})).data, normalised);
  });

  it("createRegistry rejects wrong outputs of operations that are registered later, too", async () => {
    const registry = createRegistry([]);
    registry.register(incomplete);
    await assert.rejects(registry.untyped().execute("tasks.get", {}), REFUSED);
  });
});

describe("an imported operation in it", () => {
  const upstream = createServer((_, response) => {
    response.setHeader("content-type", "application/json");
    response.end('{"id":"1"}');
  });
  const schema = {
    type: "object",
    properties: { id: { type: "string" }, title: { type: "string" } },
    required: ["id", "title"],
  };
  const answer = { description: "", content: { "application/json": { schema } } };
  const document = {
    openapi: "3.1.0",
    info: { title: "t", version: "1" },
    paths: { "/": { get: { operationId: "get", responses: { 200: answer } } } },
  };
  const registry = async (config) => {
    if (!upstream.listening) await new Promise((resolve) => upstream.listen(0, "127.0.0.1", resolve));
    const baseUrl = `http://127.0.0.1:${upstream.address().port}`;
    return createRegistry(FromOpenAPI(document, { namespace: "far", baseUrl, ...config }));
  };
  after(() => upstream.close());

  it("an imported operation in createRegistry is normalised, with a note, natively and through a fetch of the user's", async () => {
    const genuine = globalThis.fetch;
    for (const config of [{}, { fetch: (...all) => genuine(...all) }]) {
      const { data, meta } = await (await registry(config)).execute("far.get", {});
      assert.deepEqual(data, { id: "1", title: "" });
      assert.equal(meta.notes[0].path, "/title");
    }
  });

  it("a server normalises imported operations of createRegistry without JavaScript, and handlers of one's own stay strict there", async () => {
    const served = await registry({});
    served.register(incomplete);
    const server = await serve(served, { port: 0, doors: { http: true } });
    try {
      const post = (path) =>
        fetch(`${server.url}/api/${path}`, {
          method: "POST",
          headers: { "content-type": "application/json" },
          body: "{}",
        });
      const far = await post("far/get");
      assert.equal(far.status, 200);
      assert.deepEqual(await far.json(), { id: "1", title: "" });
      const own = await post("tasks/get");
      assert.equal(own.status, 500);
    } finally {
      await server.close();
    }
  });
});

describe("new OperationRegistry()", () => {
  it("new OperationRegistry() normalises outputs, as it always did", async () => {
    const registry = new OperationRegistry();
    registry.register(incomplete);
    assert.deepEqual((await registry.execute("tasks.get", {})).data, { id: "1", title: "", done: false });
  });
});
