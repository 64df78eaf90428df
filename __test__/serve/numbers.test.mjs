// Numbers that JavaScript cannot hold: refused wherever an input arrives as text, never changed.

import assert from "node:assert/strict";
import { after, describe, it } from "node:test";
import { FromOpenAPI, OperationRegistry } from "@alkdev/operations";
import { createHandler } from "@alkdev/operations/serve";
import { Type } from "@sinclair/typebox";
import { answers, documentOf, sendJson, serve as upstream } from "../http/support.mjs";
import { bareSocket, hubOf } from "../hub/support.mjs";
import { operation, serving } from "./support.mjs";

const CHANGED = [
  "9007199254740993",
  "-9007199254740993",
  "9007199254740993.0",
  "123456789123456789",
  "1e400",
  "-1e400",
  "1e-400",
];
const HELD = [
  "9007199254740992",
  "-9007199254740991",
  "0.1",
  "1.5e3",
  "100000000000000000000",
  "3.14159265358979323846",
];

const json = { "content-type": "application/json" };
const seen = [];
const remove = operation({
  name: "remove",
  type: "mutation",
  handler: (input) => {
    seen.push(input);
    return input;
  },
});
const find = operation({
  name: "find",
  inputSchema: Type.Object({ id: Type.Number() }),
  handler: ({ id }) => {
    seen.push(id);
    return id;
  },
});

/** A problem that refuses the value at a path, and nothing that ran. */
async function assertRefused(response, path, number) {
  assert.equal(response.status, 400, number);
  const problem = await response.json();
  assert.equal(problem.code, "VALIDATION_ERROR", number);
  assert.equal(problem.errors[0].path, path, number);
  assert.ok(problem.errors[0].message.includes(number), problem.errors[0].message);
  assert.equal(problem.mayHaveRun, false, number);
  assert.deepEqual(seen.splice(0), [], number);
}

describe("a number that JavaScript cannot hold is refused with its path", () => {
  it("a number that JavaScript cannot hold is refused with its path in the body of a request", async () => {
    const { url } = await serving([remove]);
    for (const number of CHANGED) {
      const body = `{"users":[{"id":${number}}]}`;
      const response = await fetch(`${url}/api/test/remove`, { method: "POST", headers: json, body });
      await assertRefused(response, "/users/0/id", number);
    }
    for (const number of HELD) {
      const body = `{"id":${number},"text":"9007199254740993"}`;
      const response = await fetch(`${url}/api/test/remove`, { method: "POST", headers: json, body });
      assert.equal(response.status, 200, number);
      assert.deepEqual(seen.splice(0), [{ id: Number(number), text: "9007199254740993" }]);
    }
  });

  it("a number that JavaScript cannot hold is refused with its path in a query", async () => {
    const { url } = await serving([find]);
    for (const number of CHANGED) {
      await assertRefused(await fetch(`${url}/api/test/find?id=${number}`), "/id", number);
    }
    for (const number of HELD) {
      const response = await fetch(`${url}/api/test/find?id=${number}`);
      assert.equal(await response.json(), Number(number));
    }
    seen.splice(0);
  });

  it("a number that JavaScript cannot hold is refused before it reaches the server of an imported operation", async () => {
    const api = await upstream((request, response) => {
      seen.push(request.url);
      sendJson(response, {});
    });
    const parameters = [{ in: "path", name: "id", required: true, schema: { type: "integer" } }];
    const paths = { "/users/{id}": { delete: { operationId: "remove", parameters, responses: answers() } } };
    const { url } = await serving(FromOpenAPI(documentOf(paths), { namespace: "up", baseUrl: api.url }));
    for (const number of CHANGED) {
      const response = await fetch(`${url}/api/users/${number}`, { method: "DELETE" });
      await assertRefused(response, "/id", number);
    }
  });

  it("a number that JavaScript cannot hold is refused with its path through createHandler", async () => {
    const registry = new OperationRegistry();
    registry.register(remove);
    const handler = createHandler(registry, { doors: { http: true } });
    after(() => handler.close({ drain: 0 }));
    const request = new Request("http://localhost/api/test/remove", {
      method: "POST",
      headers: json,
      body: '{"id":9007199254740993}',
    });
    await assertRefused(await handler.fetch(request), "/id", "9007199254740993");
  });

  it("a number that JavaScript cannot hold is refused in the arguments of a tool, so that a model can correct itself", async () => {
    const { url } = await serving([remove], { doors: { mcp: { name: "t", version: "1" } } });
    for (const number of CHANGED) {
      const call = `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"test_remove","arguments":{"id":${number}}}}`;
      const response = await fetch(`${url}/mcp`, {
        method: "POST",
        headers: { ...json, accept: "application/json, text/event-stream" },
        body: call,
      });
      const text = await response.text();
      const { result } = JSON.parse(text.startsWith("{") ? text : /^data: (\{.*)$/m.exec(text)[1]);
      assert.equal(result.isError, true, text);
      assert.ok(result.content[0].text.includes("/id"), text);
      assert.ok(result.content[0].text.includes(number), text);
      assert.deepEqual(seen.splice(0), []);
    }
  });

  it("a number that JavaScript cannot hold is refused with its path in a call over the hub", async () => {
    const { address } = await hubOf([remove]);
    const { socket, until } = await bareSocket(`${address}?token=ada`, {
      headers: { authorization: "Bearer ada" },
    });
    for (const [index, number] of CHANGED.entries()) {
      const requestId = `call-${index}`;
      socket.send(
        `{"type":"call.requested","id":"","payload":{"requestId":"${requestId}","operationId":"test.remove","input":{"id":${number}}}}`,
      );
      const { type, payload } = await until(({ payload }) => payload?.requestId === requestId);
      assert.equal(type, "call.error", number);
      assert.equal(payload.code, "VALIDATION_ERROR");
      assert.equal(payload.details.errors[0].path, "/id");
      assert.deepEqual(seen.splice(0), []);
    }
  });
});
