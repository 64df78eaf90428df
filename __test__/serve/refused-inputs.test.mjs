// Inputs that would become something else on their way: refused, with the path.

import assert from "node:assert/strict";
import { after, describe, it } from "node:test";
import { MessageChannel } from "node:worker_threads";
import { gzipSync } from "node:zlib";
import {
  buildCallHandler,
  CallError,
  createPortEventTarget,
  FromOpenAPI,
  OperationRegistry,
  PendingRequestMap,
} from "@alkdev/operations";
import { Type } from "@sinclair/typebox";
import { answers, documentOf, sendJson, serve as upstream } from "../http/support.mjs";
import { bareSocket, hubOf } from "../hub/support.mjs";
import { operation, post, serving } from "./support.mjs";

const requests = [];
const api = await upstream((request, response) => {
  requests.push(`${request.method} ${request.url}`);
  sendJson(response, {});
});

const binary = { type: "string", format: "binary" };
const bodyOf = (mediaType, schema) => ({ requestBody: { content: { [mediaType]: { schema } } } });
const paths = {
  "/users/{id}": {
    delete: {
      operationId: "remove",
      parameters: [{ in: "path", name: "id", required: true, schema: { type: "string" } }],
      responses: answers(),
    },
  },
  ...Object.fromEntries(
    ["simple", "label", "matrix"].map((style) => [
      `/lists/${style}/{ids}`,
      {
        delete: {
          operationId: style,
          parameters: [
            {
              in: "path",
              name: "ids",
              required: true,
              style,
              schema: { type: "array", items: { type: "string" } },
            },
            { in: "query", name: "q", schema: { type: "string" } },
          ],
          responses: answers(),
        },
      },
    ]),
  ),
  "/marks/{mark}": {
    delete: {
      operationId: "unmark",
      parameters: [{ in: "path", name: "mark", required: true, style: "matrix", schema: { type: "string" } }],
      responses: answers(),
    },
  },
  "/files": {
    post: {
      operationId: "upload",
      ...bodyOf("multipart/form-data", {
        type: "object",
        properties: { file: binary, files: { type: "array", items: binary }, note: { type: "string" } },
      }),
      responses: answers(),
    },
  },
  "/raw": {
    put: { operationId: "raw", ...bodyOf("application/octet-stream", binary), responses: answers() },
  },
};
const imported = () => FromOpenAPI(documentOf(paths), { namespace: "up", baseUrl: api.url });
const direct = Object.fromEntries(imported().map(({ name, handler }) => [name, handler]));

/** A call of a handler that is refused because of the value at a path, before anything is sent. */
async function assertRefused(call, path) {
  await assert.rejects(call, (error) => {
    assert.ok(error instanceof CallError);
    assert.equal(error.code, "VALIDATION_ERROR");
    assert.equal(error.details.errors[0].path, path);
    return true;
  });
  assert.deepEqual(requests.splice(0), []);
}

async function assertProblem(response, path) {
  assert.equal(response.status, 400);
  const { code, errors } = await response.json();
  assert.equal(code, "VALIDATION_ERROR");
  assert.equal(errors[0].path, path);
  assert.deepEqual(requests.splice(0), []);
}

describe("an empty value in a path", () => {
  it("an empty value in a path does not lead to another path", async () => {
    await assertRefused(direct.remove({ id: "" }, {}), "/id");
    await direct.remove({ id: "7" }, {});
    assert.deepEqual(requests.splice(0), ["DELETE /users/7"]);
  });

  it("an empty value in a path is refused where nothing would be written, and in a list of nothing else", async () => {
    for (const style of ["simple", "label"]) {
      await assertRefused(direct[style]({ ids: ["", ""] }, {}), "/ids");
      await assertRefused(direct[style]({ ids: [""] }, {}), "/ids");
    }
    await direct.unmark({ mark: "" }, {});
    assert.match(requests.splice(0).join(), /^DELETE \S+\/;mark$/);
    await direct.simple({ ids: ["", "a"] }, {});
    assert.deepEqual(requests.splice(0), ["DELETE /lists/simple/,a"]);
  });

  it("an empty value in a path is refused at a door", async () => {
    const { url, post } = await serving(imported());
    await assertProblem(await post("up/remove", { id: "" }), "/id");
    assert.equal((await fetch(`${url}/api/users/`, { method: "DELETE" })).status, 404);
    assert.deepEqual(requests.splice(0), []);
  });
});

describe("a plain string where the document says binary", () => {
  it("a plain string for format: binary is not sent as a text", async () => {
    await assertRefused(direct.upload({ body: { file: "hello" } }, {}), "/body/file");
    await assertRefused(
      direct.upload({ body: { files: [new Uint8Array(1), "hello"] } }, {}),
      "/body/files/1",
    );
    await assertRefused(direct.raw({ body: "hello" }, {}), "/body");
    await direct.upload({ body: { file: new Uint8Array([1]), note: "hello" } }, {});
    await direct.upload({ body: { file: { data: "hello", filename: "a.txt" } } }, {});
    await direct.raw({ body: new Uint8Array([1]) }, {});
    assert.equal(requests.splice(0).length, 3);
  });

  it("a plain string for format: binary is refused at a door, answered natively or by JavaScript", async () => {
    const served = await serving(imported());
    for (const _ of ["natively", "by JavaScript"]) {
      await assertProblem(await served.post("up/upload", { body: { file: "hello" } }), "/body/file");
      await assertProblem(await served.post("up/raw", { body: "hello" }), "/body");
      const sent = await served.post("up/upload", { body: { file: { $bytes: "AQI=" }, note: "hello" } });
      assert.equal(sent.status, 200);
      assert.equal(requests.splice(0).length, 1);
      served.registry.use((_call, next) => next());
    }
  });
});

describe("binary data that is not base64", () => {
  const seen = [];
  const store = operation({
    name: "store",
    type: "mutation",
    handler: (input) => {
      seen.push(input);
      return {};
    },
  });
  const malformed = ["not base64", "AQI=AQI=", "A", "A===", 7, null, [], {}];

  it("binary data that is not base64 is refused with its path", async () => {
    const { post } = await serving([store]);
    for (const $bytes of malformed) {
      await assertProblem(await post("test/store", { files: [{ $bytes }] }), "/files/0");
    }
    assert.deepEqual(seen.splice(0), []);
    for (const $bytes of ["AQI=", "AQI"]) await post("test/store", { files: [{ $bytes }] });
    const { length } = seen.filter(({ files: [file] }) => Buffer.from([1, 2]).equals(file));
    assert.equal(length, 2);
    seen.splice(0);
  });

  it("binary data that is not base64 stays as it is when JavaScript reads it, by the same rule", async () => {
    const { port1, port2 } = new MessageChannel();
    const target = createPortEventTarget(port1);
    const callMap = new PendingRequestMap(target);
    const registry = new OperationRegistry();
    registry.register(store);
    callMap["call.requested"].subscribe(buildCallHandler({ registry, callMap }));
    after(() => {
      target.close();
      port1.close();
      port2.close();
    });
    for (const [index, $bytes] of [...malformed, "AQI=", "AQI", "-_-_"].entries()) {
      const detail = { requestId: `${index}`, operationId: "test.store", input: { file: { $bytes } } };
      const answered = new Promise((resolve) => {
        port2.once("message", resolve);
      });
      port2.postMessage(JSON.stringify({ type: "call.requested", detail }));
      await answered;
    }
    const kinds = seen.splice(0).map(({ file }) => file instanceof Uint8Array);
    assert.deepEqual(kinds, [...malformed.map(() => false), true, true, true]);
  });

  it("binary data that is not base64 is refused over the hub", async () => {
    const { address } = await hubOf([store]);
    const { call } = await bareSocket(address, { headers: { authorization: "Bearer ada" } });
    for (const $bytes of malformed) {
      const { type, payload } = await call("test.store", { file: { $bytes } });
      assert.equal(type, "call.error");
      assert.equal(payload.code, "VALIDATION_ERROR");
      assert.equal(payload.details.errors[0].path, "/file");
    }
    assert.deepEqual(seen.splice(0), []);
  });
});

describe("a body in an encoding that is unknown here", () => {
  it("a body in an unknown content-encoding is refused at every door", async () => {
    const echo = operation({ name: "echo", inputSchema: Type.Unknown() });
    const { url } = await serving([echo], { doors: { http: true, mcp: { name: "t", version: "1" } } });
    for (const path of ["/api/test/echo", "/mcp"]) {
      for (const [coding, body] of [
        ["gzip", gzipSync('{"a":1}')],
        ["unheard-of", '{"a":1}'],
        ["identity, br", '{"a":1}'],
      ]) {
        const headers = { "content-type": "application/json", "content-encoding": coding };
        const response = await fetch(`${url}${path}`, { method: "POST", headers, body });
        assert.equal(response.status, 415, `${path} ${coding}`);
        assert.equal(response.headers.get("accept-encoding"), "identity");
        const { code } = await response.json();
        assert.equal(code, "VALIDATION_ERROR");
      }
    }
    const plain = await post(
      `${url}/api/test/echo`,
      { a: 1 },
      { headers: { "content-encoding": "identity" } },
    );
    assert.deepEqual(await plain.json(), { a: 1 });
  });

  it("an upstream response in an unknown content-encoding is an error, not an answer", async () => {
    const odd = await upstream((_request, response) => {
      response.writeHead(200, { "content-type": "application/json", "content-encoding": "unheard-of" });
      response.end('{"a":1}');
    });
    const [get] = FromOpenAPI(documentOf({ "/": { get: { operationId: "get", responses: answers() } } }), {
      namespace: "odd",
      baseUrl: odd.url,
    });
    await assert.rejects(get.handler({}, {}), (error) => {
      assert.equal(error.code, "EXECUTION_ERROR");
      assert.match(error.message, /unheard-of/);
      return true;
    });
  });
});
