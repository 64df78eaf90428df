// The hub's door, spoken to by a WebSocket client that is not ours.

import assert from "node:assert/strict";
import { connect } from "node:net";
import { describe, it } from "node:test";
import { isRetryable, PendingRequestMap } from "@alkdev/operations";
import { createHandler } from "@alkdev/operations/serve";
import { createWebSocketEventTarget } from "@alkdev/operations/transport-websocket";
import { Type } from "@sinclair/typebox";
import { WebSocket } from "ws";
import {
  ADA,
  bareSocket,
  deferred,
  eventually,
  failureOf,
  hubOf,
  operation,
  registryOf,
  spokeOf,
  subscription,
} from "./support.mjs";

const greet = operation({
  namespace: "demo",
  name: "greet",
  inputSchema: Type.Object({ name: Type.String() }),
  outputSchema: Type.String(),
  handler: ({ name }) => `Hello, ${name}`,
});
const whoami = operation({
  namespace: "demo",
  name: "whoami",
  handler: (_, { identity, parentRequestId, metadata }) => ({
    id: identity?.id ?? null,
    parentRequestId,
    metadata,
  }),
});
const secret = operation({
  namespace: "demo",
  name: "secret",
  accessControl: { requiredScopes: ["read"] },
  handler: () => "42",
});
const numbers = subscription({
  namespace: "demo",
  name: "numbers",
  handler: async function* ({ to }) {
    for (let n = 0; n < to; n++) yield n;
  },
});

/** The answer to a request that asks for a WebSocket and does not get one. */
function refusalOf(address, options = {}, protocols = []) {
  return new Promise((resolve, reject) => {
    const socket = new WebSocket(address, protocols, options);
    socket.on("error", () => {});
    socket.on("open", () => reject(new Error("it was let in")));
    socket.on("unexpected-response", (_, response) => {
      response.resume();
      resolve(response);
      socket.terminate();
    });
  });
}

describe("a bare WebSocket", () => {
  it("a bare WebSocket calls operations with frames of JSON", async () => {
    const { address } = await hubOf([greet]);
    const socket = await bareSocket(address);
    const { type, id, payload } = await socket.call("demo.greet", { name: "Ada" });
    assert.equal(type, "call.responded");
    assert.equal(id, "");
    assert.equal(payload.output.data, "Hello, Ada");
    assert.equal(payload.output.meta.source, "local");
  });

  it("a bare WebSocket gets the error of a call, with its delivery", async () => {
    const { address } = await hubOf([greet]);
    const socket = await bareSocket(address);
    const unknown = await socket.call("demo.nothing", {});
    assert.equal(unknown.type, "call.error");
    assert.equal(unknown.payload.code, "OPERATION_NOT_FOUND");
    assert.equal(unknown.payload.details.delivery, "none");
    const invalid = await socket.call("demo.greet", {});
    assert.equal(invalid.payload.code, "VALIDATION_ERROR");
  });

  it("a bare WebSocket reads a stream to its end, or aborts it", async () => {
    const ended = deferred();
    const endless = subscription({
      namespace: "demo",
      name: "endless",
      handler: async function* (_, { signal }) {
        try {
          for (let n = 0; !signal.aborted; n++) yield n;
        } finally {
          ended.resolve();
        }
      },
    });
    const { address } = await hubOf([numbers, endless]);
    const socket = await bareSocket(address);
    socket.send("call.requested", { requestId: "a", operationId: "demo.numbers", input: { to: 300 } });
    await socket.until(({ type, payload }) => type === "call.completed" && payload.requestId === "a");
    const got = socket.frames.filter(({ type }) => type === "call.responded");
    assert.deepEqual(
      got.map(({ payload }) => payload.output.data),
      Array.from({ length: 300 }, (_, n) => n),
    );
    socket.send("call.requested", { requestId: "b", operationId: "demo.endless", input: {} });
    await socket.until(({ payload }) => payload.requestId === "b");
    socket.send("call.aborted", { requestId: "b" });
    await ended.promise;
  });

  it("a bare WebSocket passes on parent and metadata, and no trust", async () => {
    const { address } = await hubOf([whoami, secret]);
    const socket = await bareSocket(address);
    const { payload } = await socket.call(
      "demo.whoami",
      {},
      { parentRequestId: "p", metadata: { k: 1 }, trusted: true },
    );
    assert.deepEqual(payload.output.data, { id: null, parentRequestId: "p", metadata: { k: 1 } });
    const denied = await socket.call("demo.secret", {}, { trusted: true });
    assert.equal(denied.payload.code, "ACCESS_DENIED");
  });

  it("a bare WebSocket can send binary data, in either spelling of its mark", async () => {
    const size = operation({
      namespace: "demo",
      name: "size",
      handler: ({ part }) => (part instanceof Uint8Array ? part.length : -1),
    });
    const { address } = await hubOf([size]);
    const bare = await bareSocket(address);
    for (const [id, mark] of [
      "$bytes",
      "\\u0024bytes",
      "$b\\u0079tes",
      "\\u0024b\\u0079t\\u0065s",
    ].entries()) {
      const payload = `{"requestId":"${id}","operationId":"demo.size","input":{"part":{"${mark}":"AAEC"}}}`;
      bare.socket.send(`{"type":"call.requested","id":"","payload":${payload}}`);
      const answer = await bare.until(({ payload }) => payload?.requestId === String(id));
      assert.equal(answer.payload.output?.data, 3, `${mark}: ${JSON.stringify(answer)}`);
    }
  });

  it("a bare WebSocket's call ends at its deadline", async () => {
    const slow = operation({ namespace: "demo", name: "slow", handler: () => new Promise(() => {}) });
    const { address } = await hubOf([slow]);
    const socket = await bareSocket(address);
    const { payload } = await socket.call("demo.slow", {}, { deadline: Date.now() + 50 });
    assert.equal(payload.code, "TIMEOUT");
  });

  it("a bare WebSocket has the identity of the token that it connects with", async () => {
    const { address } = await hubOf([whoami, secret]);
    const header = await bareSocket(address, { headers: { authorization: "Bearer ada" } });
    assert.equal((await header.call("demo.whoami", {})).payload.output.data.id, "ada");
    // A page cannot send headers.
    const page = await bareSocket(address, { protocols: ["operations.v1", "operations.bearer.ada"] });
    assert.equal(page.socket.protocol, "operations.v1");
    assert.equal((await page.call("demo.secret", {})).payload.output.data, "42");
    const nobody = await bareSocket(address);
    assert.equal((await nobody.call("demo.whoami", {})).payload.output.data.id, null);
  });

  it("a bare WebSocket cannot speak for others without hub:impersonate", async () => {
    const { address } = await hubOf([whoami, secret]);
    const bob = await bareSocket(address, { headers: { authorization: "Bearer bob" } });
    const refused = await bob.call("demo.secret", {}, { identity: ADA });
    assert.equal(refused.payload.code, "ACCESS_DENIED");
    assert.deepEqual(refused.payload.details.missingScopes, ["hub:impersonate"]);
    assert.equal(refused.payload.details.delivery, "none");
    const own = await bob.call("demo.whoami", {}, { identity: { id: "bob", scopes: [] } });
    assert.equal(own.payload.output.data.id, "bob");
    const more = await bob.call("demo.secret", {}, { identity: { id: "bob", scopes: ["read"] } });
    assert.equal(more.payload.code, "ACCESS_DENIED");
    const nobody = await bareSocket(address);
    assert.equal((await nobody.call("demo.whoami", {}, { identity: ADA })).payload.code, "ACCESS_DENIED");
    const proxy = await bareSocket(address, { headers: { authorization: "Bearer proxy" } });
    assert.equal((await proxy.call("demo.secret", {}, { identity: ADA })).payload.output.data, "42");
  });

  it("a bare WebSocket is listed what it may call, and nothing else", async () => {
    const hidden = operation({ namespace: "demo", name: "hidden", visibility: "internal" });
    const { address } = await hubOf([greet, secret, hidden]);
    const list = async (options) => {
      const socket = await bareSocket(address, options);
      socket.send("hub.discover", {}, "7");
      const { payload } = await socket.until(({ type, id }) => type === "hub.operations" && id === "7");
      return payload.operations;
    };
    const [open, ...rest] = await list({});
    assert.deepEqual(rest, []);
    assert.equal(open.name, "greet");
    assert.deepEqual(open.inputSchema.required, ["name"]);
    assert.equal(open.outputSchema.type, "string");
    assert.equal("accessControl" in open || "access" in open, false);
    const forAda = await list({ headers: { authorization: "Bearer ada" } });
    assert.deepEqual(
      forAda.map(({ name }) => name),
      ["greet", "secret"],
    );
  });

  it("a bare WebSocket gets a response to a ping", async () => {
    const { address } = await hubOf();
    const socket = await bareSocket(address);
    socket.send("hub.ping", {}, "1");
    await socket.until(({ type, id }) => type === "hub.pong" && id === "1");
  });

  it("a bare WebSocket that disconnects aborts its calls", async () => {
    const begun = deferred();
    const ended = deferred();
    const work = operation({
      namespace: "demo",
      name: "work",
      handler: (_, { signal }) => {
        begun.resolve();
        signal.addEventListener("abort", () => ended.resolve());
        return new Promise(() => {});
      },
    });
    const { address } = await hubOf([work]);
    const socket = await bareSocket(address);
    socket.send("call.requested", { requestId: "r", operationId: "demo.work", input: {} });
    await begun.promise;
    socket.socket.terminate();
    await ended.promise;
  });
});

describe("createWebSocketEventTarget", () => {
  it("createWebSocketEventTarget makes a call map of a socket that is still connecting", async () => {
    const { address } = await hubOf([greet, numbers]);
    const socket = new WebSocket(address);
    const map = new PendingRequestMap(createWebSocketEventTarget(socket));
    assert.equal((await map.call("demo.greet", { name: "Ada" })).data, "Hello, Ada");
    const got = [];
    for await (const { data } of map.subscribe("demo.numbers", { to: 3 })) got.push(data);
    assert.deepEqual(got, [0, 1, 2]);
    socket.close();
  });

  it("createWebSocketEventTarget preserves binary data", async () => {
    const echo = operation({ namespace: "demo", name: "echo" });
    const { address } = await hubOf([echo]);
    const socket = new WebSocket(address);
    const map = new PendingRequestMap(createWebSocketEventTarget(socket));
    const { data } = await map.call("demo.echo", { bytes: new Uint8Array([1, 2, 3]) });
    assert.deepEqual(data, { bytes: new Uint8Array([1, 2, 3]) });
    socket.close();
  });

  it("a call on a socket that its own program has closed is not retryable", async () => {
    const { address } = await hubOf([operation({ namespace: "demo", name: "echo" })]);
    const spoke = await spokeOf(address);
    await spoke.close();
    for (const late of [spoke.callMap.call("demo.echo", {}), spoke.discover()]) {
      const error = await failureOf(late);
      assert.equal(error.details.reason, "closed", error.message);
      assert.equal(error.details.delivery, "none");
      assert.equal(isRetryable(error), false);
    }
  });

  it("pending calls end when the socket is closed", async () => {
    const begun = deferred();
    const hang = operation({
      namespace: "demo",
      name: "hang",
      handler: () => {
        begun.resolve();
        return new Promise(() => {});
      },
    });
    const { address } = await hubOf([hang]);
    const socket = new WebSocket(address);
    const map = new PendingRequestMap(createWebSocketEventTarget(socket));
    const failing = failureOf(map.call("demo.hang", {}));
    await begun.promise;
    socket.terminate();
    const error = await failing;
    assert.equal(error.code, "EXECUTION_ERROR");
    assert.equal(error.details.reason, "peer-lost");
    assert.equal(error.details.delivery, "unknown");
    const late = await failureOf(map.call("demo.hang", {}));
    assert.equal(late.details.delivery, "none");
  });

  it("createWebSocketEventTarget refuses what is no socket", () => {
    assert.throws(() => createWebSocketEventTarget({}), { code: "VALIDATION_ERROR" });
  });
});

describe("who is let in", () => {
  it("a hub refuses foreign hosts and pages of foreign origins", async () => {
    const { address } = await hubOf();
    assert.equal((await refusalOf(address, { headers: { host: "evil.example" } })).statusCode, 403);
    assert.equal((await refusalOf(address, { origin: "https://evil.example" })).statusCode, 403);
    const page = await bareSocket(address, { origin: "http://localhost:3000" });
    page.socket.close();
  });

  it("a hub refuses unknown tokens", async () => {
    const { address } = await hubOf();
    const refused = await refusalOf(address, { headers: { authorization: "Bearer wrong" } });
    assert.equal(refused.statusCode, 401);
    assert.equal(
      (await refusalOf(address, {}, ["operations.v1", "operations.bearer.wrong"])).statusCode,
      401,
    );
  });

  it("a hub refuses connections beyond maxConnections", async () => {
    const { address } = await hubOf([], { hub: { maxConnections: 1 } });
    const first = await bareSocket(address);
    assert.equal((await refusalOf(address)).statusCode, 503);
    first.socket.close();
    await first.closed;
    await eventually(() =>
      bareSocket(address).then(
        () => true,
        () => false,
      ),
    );
  });

  it("a plain HTTP request to a hub is answered with 426", async () => {
    const { url } = await hubOf();
    const response = await fetch(`${url}/hub`);
    assert.equal(response.status, 426);
    assert.equal(response.headers.get("upgrade"), "websocket");
    assert.match((await response.json()).detail, /connect with a WebSocket/);
  });

  it("createHandler refuses the hub door", () => {
    assert.throws(() => createHandler(registryOf(greet), { doors: { hub: true } }), /use serve\(\)/);
  });
});

describe("what follows no protocol", () => {
  const noise = [
    "",
    "{",
    "[]",
    "7",
    '{"type":1}',
    '{"type":"call.requested","payload":{}}',
    '{"type":"x","payload":{}}',
  ];

  it("malformed frames are dropped, and end the connection when there are many", async () => {
    const { address } = await hubOf([greet]);
    const socket = await bareSocket(address);
    for (const text of noise) socket.socket.send(text);
    socket.socket.send(Buffer.from([1, 2, 3]));
    assert.equal((await socket.call("demo.greet", { name: "Ada" })).payload.output.data, "Hello, Ada");
    for (let n = 0; n < 200; n++) socket.socket.send("{");
    assert.equal((await socket.closed).code, 1008);
  });

  it("a frame that is too large, or not text, ends the connection", async () => {
    const { address } = await hubOf([greet], { hub: { maxFrameBytes: 1000 } });
    const large = await bareSocket(address);
    large.socket.send("x".repeat(2000));
    assert.equal((await large.closed).code, 1009);
    const odd = await bareSocket(address);
    odd.socket.send(Buffer.from([0xff, 0xfe]), { binary: false });
    assert.equal((await odd.closed).code, 1007);
  });

  it("frames that break the WebSocket protocol end the connection", async () => {
    const { address, url } = await hubOf([greet]);
    const { hostname, port } = new URL(url);
    const closed = deferred();
    const socket = connect(Number(port), hostname, () => {
      socket.write(
        `GET /hub HTTP/1.1\r\nhost: ${hostname}:${port}\r\nupgrade: websocket\r\nconnection: upgrade\r\n` +
          "sec-websocket-version: 13\r\nsec-websocket-key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n",
      );
    });
    socket.on("data", (data) => {
      // A frame that is not masked, with reserved bits set.
      if (String(data).includes("101 ")) socket.write(Buffer.from([0xf1, 0x05, 1, 2, 3, 4, 5]));
    });
    socket.on("error", () => {});
    socket.on("close", () => closed.resolve());
    await closed.promise;
    const alive = await bareSocket(address);
    assert.equal((await alive.call("demo.greet", { name: "Ada" })).payload.output.data, "Hello, Ada");
  });

  it("a hub does not negotiate compression", async () => {
    const { address } = await hubOf([greet]);
    const socket = await bareSocket(address, { perMessageDeflate: true });
    assert.equal(socket.socket.extensions, "");
  });

  it("a hub refuses more calls than one connection may have", async () => {
    const hang = operation({ namespace: "demo", name: "hang", handler: () => new Promise(() => {}) });
    const { address } = await hubOf([hang], { hub: { maxCalls: 10 } });
    const socket = await bareSocket(address);
    for (let n = 0; n < 11; n++) {
      socket.send("call.requested", { requestId: `r${n}`, operationId: "demo.hang", input: {} });
    }
    const { payload } = await socket.until(({ type }) => type === "call.error");
    assert.equal(payload.requestId, "r10");
    assert.equal(payload.details.reason, "overloaded");
    assert.equal(payload.details.delivery, "none");
  });

  it("a connection cannot use one request id twice at a time", async () => {
    const begun = [];
    const hang = operation({
      namespace: "demo",
      name: "hang",
      handler: () => {
        begun.push(1);
        return new Promise(() => {});
      },
    });
    const { address } = await hubOf([hang, greet]);
    const socket = await bareSocket(address);
    for (let n = 0; n < 3; n++) {
      socket.send("call.requested", { requestId: "same", operationId: "demo.hang", input: {} });
    }
    await socket.call("demo.greet", { name: "Ada" });
    assert.equal(begun.length, 1);
  });
});
