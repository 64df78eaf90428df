// Imported HTTP operations are served without waking JavaScript, and nobody who calls them can tell.

import assert from "node:assert/strict";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, it } from "node:test";
import { FromOpenAPI, OperationRegistry, unwrap } from "@alkdev/operations";
import { connect as connectRaw } from "nats";
import { sendJson, serve } from "../http/support.mjs";
import { native } from "../support/internals.mjs";
import { DOCUMENT } from "./http-document.mjs";
import { deferred, query, skip, until, useNats, watch } from "./support.mjs";

const open = [];

/** What the API answers. */
function answer(request, response) {
  const url = new URL(request.url, "http://api");
  const [, first, second] = url.pathname.split("/");
  if (first === "items" && request.method === "POST") {
    sendJson(response, { got: request.content.toString() }, 201);
  } else if (first === "items" && second === "missing") {
    sendJson(response, { why: "gone", n: -0 }, 404);
  } else if (first === "items") {
    const headers = request.headers["x-mine"] === undefined ? {} : { mine: request.headers["x-mine"] };
    sendJson(response, { id: second, count: "7", tags: url.searchParams.getAll("tags"), ...headers });
  } else if (first === "anything") {
    const [type, body] = ANYTHING[url.searchParams.get("n") ?? next++ % ANYTHING.length];
    response.writeHead(200, { "content-type": type, "x-a": ["1", "2"] });
    response.end(body);
  } else if (first === "events") {
    response.writeHead(200, { "content-type": "text/event-stream" });
    for (let i = 1; i <= Number(url.searchParams.get("count") ?? 3); i++) {
      response.write(i === 2 ? `event: two\nid: b\nretry: 7\ndata: "2\\ud800"\n\n` : `data: ${i}\n\n`);
    }
    response.end();
  } else {
    open.push(response);
    response.on("close", () => open.splice(open.indexOf(response), 1));
  }
}

/** Bodies that JavaScript and Rust could see differently. */
let next = 0;
const ANYTHING = [
  [
    "application/json",
    '{"a":-0,"c":9007199254740993,"d":1.50,"__proto__":{"x":1},"a2":{"2":1,"1":2,"b":3,"b":4}}',
  ],
  ["application/json", '{"too":{"big":[0,1e400]},"small":-1e400}'],
  ["application/json", '{"a":{"$bytes":"AAEC"},"b":[{"$bytes":["x"]}]}'],
  ["application/json", '{"a":{"\\u0024bytes":"AAEC"},"b":[{"$b\\u0079tes":["x"]}]}'],
  ["application/json", '{"half":"\\ud800","\\u0041":"\\/","deep":[[[[{}]]]]}'],
  ["application/problem+json; charset=utf-8", '[1,"x",null]'],
  ["text/plain; charset=iso-8859-1", Buffer.from('na\xefve "text"\n', "latin1")],
  ["application/octet-stream", Buffer.from([0, 255, 1])],
  ["application/json", ""],
  ["application/json", "0"],
];

/** The same operations behind functions of the user's, which only JavaScript can call. */
function wrapped(operations) {
  return operations.map((operation) => {
    const { handler } = operation;
    const isStream = operation.type === "subscription";
    return {
      ...operation,
      handler: isStream
        ? async function* (input, context) {
            yield* handler(input, context);
          }
        : (input, context) => handler(input, context),
    };
  });
}

async function outcomeOf(promise) {
  try {
    const { data, meta } = await promise;
    const headers = { ...meta.headers };
    delete headers.date;
    return { data, meta: { ...meta, headers } };
  } catch ({ code, message, details }) {
    const headers = { ...details?.headers };
    delete headers.date;
    return { code, message, details: { ...details, headers } };
  }
}

async function collect(stream) {
  const events = [];
  for await (const event of stream) events.push(await outcomeOf(event));
  return events;
}

describe("an imported operation over NATS", { skip, timeout: 120_000 }, () => {
  const nats = useNats();

  it("an imported operation over NATS is answered while the JavaScript thread of its worker is busy", async () => {
    const folder = mkdtempSync(join(tmpdir(), "operations-"));
    try {
      const api = await serve(answer);
      const release = join(folder, "release");
      const worker = await nats.process("./busy-worker-process.mjs", { baseUrl: api.url, release });
      const { callMap } = await nats.connect();
      const order = [];
      worker.tell("block");
      await worker.until((line) => line.blocked);
      const released = worker
        .until((line) => line.released)
        .then((line) => {
          order.push("released");
          return line;
        });
      const local = callMap.call("t.local", {}).then(unwrap);
      void local.then(() => order.push("JavaScript"));
      assert.deepEqual(unwrap(await callMap.call("http.item", { id: "a" })), { id: "a", count: 7 });
      order.push("HTTP");
      assert.equal((await collect(callMap.subscribe("http.events", {}))).length, 3);
      order.push("stream");
      assert.equal(api.received.length, 2);
      writeFileSync(release, "");
      assert.ok((await released).after >= 2_000);
      assert.equal(await local, "from JavaScript");
      assert.deepEqual(order, ["HTTP", "stream", "released", "JavaScript"]);
      await worker.kill();
    } finally {
      rmSync(folder, { recursive: true });
    }
  });

  it("an imported operation over NATS has the same outcome as through JavaScript", async () => {
    const api = await serve(answer);
    const operations = FromOpenAPI(DOCUMENT, { namespace: "n", baseUrl: api.url });
    const behind = wrapped(FromOpenAPI(DOCUMENT, { namespace: "j", baseUrl: api.url }));
    const { registry } = await nats.worker([...operations, ...behind]);
    const seen = watch(registry);
    const { callMap } = await nats.connect();
    const inputs = [
      ["item", { id: "a/b ?", tags: ["x", "y z"] }],
      ["item", { id: "missing" }],
      ["item", { id: 7 }],
      ["item", undefined],
      ["create", { body: { z: -0, a: [1.5, "\ud800"], 2: 1, 1: 2 } }],
      ["create", { body: null }],
      ["create", {}],
      ...ANYTHING.map((_, n) => ["anything", { n }]),
    ];
    for (const [name, input] of inputs) {
      // The document knows no parameter `n`: the answers come in turn.
      const turn = next;
      const natively = await outcomeOf(callMap.call(`n.${name}`, input));
      next = turn;
      const through = await outcomeOf(callMap.call(`j.${name}`, input));
      next = turn + 1;
      const sameNames = JSON.parse(JSON.stringify(through).replaceAll("j.", "n."));
      assert.deepEqual(JSON.parse(JSON.stringify(natively)), sameNames, name);
      assert.deepEqual(Object.keys(natively.meta ?? {}), Object.keys(through.meta ?? {}));
      if (natively.data?.a === 0) assert.ok(Object.is(natively.data.a, through.data.a));
    }
    for (const count of [3, 300]) {
      const natively = await collect(callMap.subscribe("n.events", { count }));
      assert.equal(natively.length, count);
      assert.deepEqual(natively, await collect(callMap.subscribe("j.events", { count })));
    }
    // Only those of the user's functions have woken the registry here.
    assert.deepEqual([...new Set(seen.map((id) => id[0]))], ["j"]);
  });

  it("an imported operation over NATS preserves integers beyond 2^53 as JavaScript does", async () => {
    const big = "9007199254740993";
    const api = await serve((request, response) => {
      const isStream = request.url === "/events";
      const body = `{"id":${big},"plain":${big}}`;
      response.writeHead(200, { "content-type": isStream ? "text/event-stream" : "application/json" });
      response.end(isStream ? `data: {"id":1}\n\ndata: ${body}\n\n` : body);
    });
    const int64 = { type: "integer", format: "int64" };
    const schema = { type: "object", properties: { id: int64, plain: { type: "integer" } } };
    const of = (type) => ({ 200: { description: "", content: { [type]: { schema } } } });
    const content = { "application/json": { schema } };
    const document = {
      ...DOCUMENT,
      paths: {
        "/": { post: { operationId: "it", requestBody: { content }, responses: of("application/json") } },
        "/events": { get: { operationId: "events", responses: of("text/event-stream") } },
      },
    };
    const operations = [];
    for (const kind of [undefined, "string", "bigint"]) {
      const config = { baseUrl: api.url, int64: kind };
      operations.push(...FromOpenAPI(document, { namespace: `n-${kind}`, ...config }));
      operations.push(...wrapped(FromOpenAPI(document, { namespace: `j-${kind}`, ...config })));
    }
    const { registry } = await nats.worker(operations);
    const seen = watch(registry);
    const { callMap } = await nats.connect();
    const outcomes = async (prefix, kind, body) => [
      await outcomeOf(callMap.call(`${prefix}-${kind}.it`, { body })),
      await collect(callMap.subscribe(`${prefix}-${kind}.events`, {})),
    ];
    for (const [kind, id, body] of [
      [undefined, 2 ** 53, { id: 1 }],
      ["string", big, { id: big }],
    ]) {
      const natively = await outcomes("n", kind, body);
      assert.deepEqual(natively, await outcomes("j", kind, body));
      const [{ data, meta }, [, event]] = natively;
      assert.deepEqual([data.id, event.data.id], [id, id]);
      assert.equal(meta.notes.length, kind === undefined ? 2 : 1);
      assert.deepEqual(event.meta.notes, meta.notes);
    }
    const sent = api.received.filter(({ url }) => url === "/").map(({ content }) => content.toString());
    assert.deepEqual(sent, ['{"id":1}', '{"id":1}', `{"id":${big}}`, `{"id":${big}}`]);
    assert.deepEqual([...new Set(seen.map((id) => id[0]))], ["j"]);
    // No wire has a word for a bigint. Both say so, and only JavaScript can have made one.
    const refusal = async (prefix) => {
      const { code, message } = await outcomeOf(callMap.call(`${prefix}-bigint.it`, { body: {} }));
      return { code, message };
    };
    const refused = await refusal("n");
    assert.deepEqual(refused, await refusal("j"));
    assert.match(refused.message, /\/id/);
  });

  it("a native call over NATS that arrives after its deadline is refused like one in JavaScript, and does not run", async () => {
    const api = await serve(answer);
    const config = { baseUrl: api.url };
    await nats.worker(
      [
        ...FromOpenAPI(DOCUMENT, { namespace: "n", ...config }),
        ...wrapped(FromOpenAPI(DOCUMENT, { namespace: "j", ...config })),
      ],
      { prefix: "late" },
    );
    const stranger = await connectRaw({ servers: nats.broker.url });
    try {
      for (const namespace of ["n", "j"]) {
        for (const remaining of [0, -5]) {
          const requestId = `${namespace}${remaining}`;
          const answers = stranger.subscribe(`late.peer.stranger.${requestId}`, { max: 1 });
          const payload = { requestId, operationId: `${namespace}.anything`, input: {} };
          const event = { type: "call.requested", id: "", payload, from: "stranger", remaining };
          stranger.publish(`late.call.${namespace}=2Eanything`, JSON.stringify(event));
          for await (const message of answers) {
            const { type, payload: told } = message.json();
            assert.deepEqual([type, told.code], ["call.error", "TIMEOUT"], requestId);
            assert.match(told.message, /timed out before it began/);
          }
        }
      }
      assert.equal(api.received.length, 0);
    } finally {
      await stranger.close();
    }
  });

  it("an imported operation over NATS is served by JavaScript wherever JavaScript has a say", async () => {
    const api = await serve(answer);
    const imported = (namespace, config) => FromOpenAPI(DOCUMENT, { namespace, baseUrl: api.url, ...config });
    const { registry } = await nats.worker(
      [
        ...imported("plain"),
        ...imported("auth").map((each) => ({
          ...each,
          accessControl: { requiredScopes: [], customAuth: "ask" },
        })),
        ...imported("fetch", { fetch: (...all) => globalThis.fetch(...all) }),
      ],
      { registryOptions: { customAuth: { ask: () => true } } },
    );
    const seen = watch(registry);
    const { callMap } = await nats.connect();
    const call = async (id, options) => {
      seen.length = 0;
      const data = unwrap(await callMap.call(id, { id: "a" }, options));
      return [seen.length > 0, data];
    };
    const item = { id: "a", count: 7 };
    assert.deepEqual(await call("plain.item"), [false, item]);
    assert.deepEqual(await call("auth.item"), [true, item]);
    assert.deepEqual(await call("fetch.item"), [true, item]);
    assert.deepEqual(await call("plain.item", { metadata: { other: 1 } }), [false, item]);
    const steered = await call("plain.item", { metadata: { headers: { "x-mine": "yes" } } });
    assert.deepEqual(steered, [true, item]);
    // What came over the wire is data, and steers nothing.
    assert.equal(api.received.at(-1).headers["x-mine"], undefined);

    // A `fetch` of somebody else's is used from when it is there.
    const original = globalThis.fetch;
    let calls = 0;
    globalThis.fetch = (...all) => {
      calls += 1;
      return original(...all);
    };
    try {
      assert.deepEqual(await call("plain.item"), [true, item]);
    } finally {
      globalThis.fetch = original;
    }
    assert.equal(calls, 1);
    assert.deepEqual(await call("plain.item"), [false, item]);
  });

  it("an imported operation over NATS follows what is registered later", async () => {
    const api = await serve(answer);
    const [item, ...others] = FromOpenAPI(DOCUMENT, { namespace: "later", baseUrl: api.url });
    const { registry, serve: serveAgain } = await nats.worker(others);
    const seen = watch(registry);
    const { callMap } = await nats.connect();
    registry.register(item);
    await serveAgain(registry);
    const call = (options) => outcomeOf(callMap.call("later.item", { id: "a" }, options));
    assert.deepEqual((await call()).data, { id: "a", count: 7 });

    registry.register({ ...item, accessControl: { requiredScopes: ["s"] } });
    const denied = await call();
    assert.equal(denied.code, "ACCESS_DENIED");
    assert.match(denied.message, /later\.item: identity required/);
    assert.equal((await call({ identity: { id: "u", scopes: ["s"] } })).data.id, "a");
    assert.deepEqual(seen, []);

    registry.registerSpec({ ...item, _meta: { output: "off" } });
    assert.deepEqual((await call()).data, { id: "a", count: "7", tags: [] });
    assert.deepEqual(seen, []);

    registry.registerHandler("later.item", () => "mine");
    assert.equal((await call()).data, "mine");
    assert.deepEqual(seen, ["later.item"]);

    registry.registerHandler("later.item", item.handler);
    assert.equal((await call()).data.id, "a");
    registry.unregister("later.item");
    assert.deepEqual(await call(), {
      code: "OPERATION_NOT_FOUND",
      message: "Operation not found: later.item",
      details: { operationId: "later.item", delivery: "none", headers: {} },
    });
    // What is not there is explained by JavaScript.
    assert.deepEqual(seen, ["later.item", "later.item"]);
  });

  it("an imported operation over NATS ends when no caller waits any more", async () => {
    const api = await serve(answer);
    const operations = FromOpenAPI(DOCUMENT, { namespace: "end", baseUrl: api.url });
    const worker = await nats.worker(operations, { concurrency: 1 });
    const { callMap } = await nats.connect();
    const controller = new AbortController();
    const aborted = outcomeOf(callMap.call("end.slow", {}, { signal: controller.signal }));
    await until(() => open.length === 1);
    controller.abort();
    assert.equal((await aborted).code, "ABORTED");
    await until(() => open.length === 0);
    // Its place is free again: there is only this one.
    const late = await outcomeOf(callMap.call("end.slow", {}, { deadline: Date.now() + 200 }));
    assert.equal(late.code, "TIMEOUT");
    await until(() => open.length === 0);

    const stream = callMap.subscribe("end.events", { count: 100_000 });
    await stream.next();
    await stream.return();
    assert.equal(unwrap(await callMap.call("end.item", { id: "a" })).id, "a");

    // Closing waits for what is under way.
    const last = outcomeOf(callMap.call("end.slow", {}));
    await until(() => open.length === 1);
    const closed = worker.close({ drain: 30_000 });
    sendJson(open[0], "done");
    assert.equal((await last).data, "done");
    await closed;
  });

  it("an imported operation over NATS warns about outputs that do not fit, under the same category", async () => {
    const { configure, reset } = await import("@logtape/logtape");
    const lines = [];
    const arrived = deferred();
    await configure({
      sinks: {
        keep: (line) => {
          lines.push(line);
          arrived.resolve();
        },
      },
      loggers: [
        { category: ["operations", "registry"], lowestLevel: "warning", sinks: ["keep"] },
        { category: ["logtape", "meta"], lowestLevel: "fatal", sinks: [] },
      ],
      reset: true,
    });
    try {
      const api = await serve((_, response) => sendJson(response, { id: {}, count: 1 }));
      await nats.worker(FromOpenAPI(DOCUMENT, { namespace: "warn", baseUrl: api.url }));
      const { callMap } = await nats.connect();
      assert.deepEqual(unwrap(await callMap.call("warn.item", { id: "a" })), { id: "", count: 1 });
      await arrived.promise;
      assert.match(
        lines[0].message.join(""),
        /^The output of operation warn\.item does not match its outputSchema:\n {2}- \/id: /,
      );
      assert.deepEqual(lines[0].category, ["operations", "registry"]);
    } finally {
      await reset();
    }
  });

  it("an imported operation has no native registry before it is served", async () => {
    const { prototype } = native.NativeRegistry;
    const { setHost, setHttp } = prototype;
    const told = [];
    prototype.setHost = function (...all) {
      told.push("host");
      return setHost.apply(this, all);
    };
    prototype.setHttp = function (...all) {
      told.push("http");
      return setHttp.apply(this, all);
    };
    try {
      const registry = new OperationRegistry();
      registry.register(query("echo", (input) => input));
      registry.registerAll(FromOpenAPI(DOCUMENT, { namespace: "twin", baseUrl: "http://127.0.0.1:1" }));
      await registry.execute("t.echo", 1);
      assert.deepEqual(told, []);
      const connection = await nats.connect();
      await connection.serve(registry);
      assert.deepEqual(told, ["host", "http", "http", "http", "http", "http"]);
    } finally {
      Object.assign(prototype, { setHost, setHttp });
    }
  });
});
