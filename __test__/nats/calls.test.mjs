import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { buildEnv, CallError, isRetryable, mcpEnvelope, OperationRegistry, unwrap } from "@alkdev/operations";
import { connectNats } from "@alkdev/operations/transport-nats";
import { Type } from "@sinclair/typebox";
import { connect as connectRaw } from "nats";
import { startNats } from "../support/brokers.mjs";
import { withTimeEnough } from "../support/time-enough.mjs";
import { deferred, query, skip, until, useNats } from "./support.mjs";

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;

describe("calls over NATS", { skip, timeout: 60_000 }, () => {
  const nats = useNats();

  it("a call over NATS resolves with the envelope of the operation", async () => {
    await nats.worker([query("double", ({ n }) => ({ n: n * 2 })), query("nothing", () => undefined)]);
    const { callMap } = await nats.connect();
    const envelope = await callMap.call("t.double", { n: 21 });
    assert.deepEqual(unwrap(envelope), { n: 42 });
    assert.equal(envelope.meta.operationId, "t.double");
    const nothing = await callMap.call("t.nothing");
    assert.ok("data" in nothing);
    assert.equal(nothing.data, undefined);
    assert.equal(callMap.getPendingCount(), 0);
  });

  it("a call over NATS carries any JSON unchanged, and any operation id", async () => {
    const odd = ["a.b", "sp ace", "st*r", "gr>ater", "ünï.cödé", "new\nline", "=2E", "x".repeat(300)];
    await nats.worker(
      odd.map((name) => query(name, (input) => ({ name, input }), { namespace: "odd" })),
      { prefix: "odd.ids" },
    );
    const { callMap } = await nats.connect({ prefix: "odd.ids" });
    const input = JSON.parse(
      '{"__proto__":{"polluted":1},"n":[1.5,-0.1,1e21,9007199254740991,null,true],"s":"\\ud800 \\u2028 é 😀 {} \\" \\\\"}',
    );
    for (const name of odd) {
      const { data } = await callMap.call(`odd.${name}`, input);
      assert.equal(data.name, name);
      assert.deepEqual(data.input, input);
      assert.ok(Object.hasOwn(data.input, "__proto__"));
    }
  });

  it("a call over NATS passes its context to the handler: identity crosses, trust does not", async () => {
    let seen;
    await nats.worker(
      [
        query("look", (_, context) => {
          seen = context;
        }),
        query("secret", () => "told", { accessControl: { requiredScopes: ["admin"] } }),
      ],
      { prefix: "context", registryOptions: { trustDirectCalls: true } },
    );
    const { callMap } = await nats.connect({ prefix: "context" });
    const identity = { id: "ada", scopes: ["admin"], resources: { "doc:1": ["read"] } };
    const deadline = Date.now() + 60_000;
    await callMap.call("t.look", 0, {
      parentRequestId: "p",
      deadline,
      identity,
      metadata: { k: 1 },
      trusted: true,
    });
    const { signal, requestId, env, deadline: local, ...rest } = seen;
    assert.equal(typeof env.t.look, "function");
    // Without the symbol that marks it as a call from outside.
    const named = Object.fromEntries(Object.entries(rest));
    assert.deepEqual(named, { parentRequestId: "p", identity, metadata: { k: 1 } });
    assert.match(requestId, UUID);
    assert.ok(signal instanceof AbortSignal);
    // It travels as remaining time, so it may come out a little later, never a lot.
    assert.ok(Math.abs(local - deadline) < 30_000, `${local} ${deadline}`);
    await assert.rejects(callMap.call("t.secret", {}, { trusted: true }), { code: "ACCESS_DENIED" });
    assert.equal(unwrap(await callMap.call("t.secret", {}, { identity })), "told");
  });

  it("trust is not read from a NATS message", async () => {
    await nats.worker([query("secret", () => "told", { accessControl: { requiredScopes: ["admin"] } })], {
      prefix: "forged",
    });
    const raw = await connectRaw({ servers: nats.broker.url });
    const answers = raw.subscribe("forged.peer.evil.r1");
    const payload = {
      requestId: "r1",
      operationId: "t.secret",
      input: {},
      trusted: true,
      context: { trusted: true },
    };
    raw.publish(
      "forged.call.t=2Esecret",
      JSON.stringify({ type: "call.requested", id: "", payload, from: "evil", trusted: true }),
    );
    for await (const message of answers) {
      const event = message.json();
      assert.equal(event.type, "call.error");
      assert.equal(event.payload.code, "ACCESS_DENIED");
      break;
    }
    await raw.close();
  });

  it("a call over NATS fails with what the operation declared, or with the infrastructure's codes", async () => {
    const circular = {};
    circular.self = circular;
    await nats.worker(
      [
        query("full", () => Promise.reject(new Error("FULL: no room")), { errorSchemas: [{ code: "FULL" }] }),
        query("crash", () => {
          throw new TypeError("oops");
        }),
        query("odd", () => Promise.reject("a string")),
        query("mine", () => Promise.reject(new CallError("MINE", "m", { d: [1] }))),
        query("circular", () => Promise.reject(new CallError("LOOP", "m", circular))),
        query("unwritable", () => 1n),
        query("strict", () => 1, { inputSchema: Type.Object({ a: Type.Number() }) }),
        query("tool", () => mcpEnvelope([], { isError: true, content: [] })),
      ],
      { prefix: "errors" },
    );
    const { callMap } = await nats.connect({ prefix: "errors" });
    for (const [id, code, message] of [
      ["t.full", "FULL", /^FULL: no room$/],
      ["t.crash", "EXECUTION_ERROR", /^oops$/],
      ["t.odd", "UNKNOWN_ERROR", /^a string$/],
      ["t.mine", "MINE", /^m$/],
      ["t.circular", "LOOP", /^m$/],
      ["t.unwritable", "VALIDATION_ERROR", /is a bigint/],
      ["t.strict", "VALIDATION_ERROR", /Validation failed/],
    ]) {
      await assert.rejects(callMap.call(id, {}), (error) => {
        assert.ok(error instanceof CallError);
        assert.equal(error.code, code);
        assert.match(error.message, message);
        return true;
      });
    }
    await assert.rejects(callMap.call("t.mine", {}), { details: { d: [1], delivery: "done" } });
    assert.equal((await callMap.call("t.tool", {})).meta.isError, true);
    assert.equal(callMap.getPendingCount(), 0);
  });

  it("a call over NATS of an operation without a worker fails at once, not by a time-out", async () => {
    const { callMap } = await nats.connect({ prefix: "nobody" });
    await assert.rejects(callMap.call("t.none", {}), {
      code: "OPERATION_NOT_FOUND",
      message: /^Operation not found: t\.none/,
      details: { operationId: "t.none", reason: "no-worker", delivery: "none" },
    });
    for (const asked of [callMap.call("t.none", {}), callMap.subscribe("t.none", {}).next()]) {
      const error = await asked.catch((thrown) => thrown);
      assert.equal(error.code, "OPERATION_NOT_FOUND");
      assert.equal(isRetryable(error), true);
    }
  });

  it("a call over NATS that ends without a response says whether it was carried out", async () => {
    const refuse = () => {
      throw new CallError("MINE", "no", { why: 1 });
    };
    const worker = await nats.worker([query("slow", () => new Promise(() => {})), query("no", refuse)], {
      prefix: "delivery",
      concurrency: 1,
    });
    const { callMap } = await nats.connect({ prefix: "delivery" });
    const outcome = (call) => call.then(assert.fail, ({ code, details }) => [code, details.delivery]);
    assert.deepEqual(await outcome(callMap.call("t.no", {})), ["MINE", "done"]);
    const running = new AbortController();
    const first = outcome(callMap.call("t.slow", {}, { signal: running.signal }));
    while ((await worker.discover()).workers[0]?.running !== 1);
    // Its only place is taken: this one is never sent.
    const second = outcome(callMap.call("t.slow", {}, { deadline: Date.now() + 300 }));
    assert.deepEqual(await second, ["TIMEOUT", "none"]);
    running.abort();
    assert.deepEqual(await first, ["ABORTED", "unknown"]);
    const past = callMap.call("t.slow", {}, { deadline: Date.now() - 1 });
    assert.deepEqual(await outcome(past), ["TIMEOUT", "none"]);
    const aborted = callMap.call("t.slow", {}, { signal: AbortSignal.abort() });
    assert.deepEqual(await outcome(aborted), ["ABORTED", "none"]);
  });

  it("a call over NATS of an internal operation fails as if it did not exist", async () => {
    await nats.worker([query("sweep", () => 1, { visibility: "internal" }), query("open", () => 2)], {
      prefix: "internal",
    });
    const connection = await nats.connect({ prefix: "internal" });
    assert.equal(unwrap(await connection.callMap.call("t.open", {})), 2);
    await assert.rejects(connection.callMap.call("t.sweep", {}), { code: "OPERATION_NOT_FOUND" });
    const { operations } = await connection.discover();
    assert.deepEqual(
      operations.map(({ operationId }) => operationId),
      ["t.open"],
    );
  });

  it("a call over NATS that cannot be sent says why", async () => {
    await nats.worker([query("any", (input) => input)], { prefix: "unsendable" });
    const { callMap } = await nats.connect({ prefix: "unsendable" });
    let deep = 1;
    for (let i = 0; i < 2_000; i++) deep = [deep];
    for (const [input, options, message] of [
      [1n, {}, /JSON/],
      [deep, {}, /512 levels/],
      [1, { identity: { id: 7 } }, /identity/],
      [1, { metadata: [] }, /metadata/],
      [1, { deadline: "soon" }, /deadline must be a number/],
      [1, { parentRequestId: 7 }, /parentRequestId must be a string/],
    ]) {
      await assert.rejects(callMap.call("t.any", input, options), { code: "VALIDATION_ERROR", message });
    }
    await assert.rejects(callMap.call("x".repeat(5_000), 1), {
      code: "VALIDATION_ERROR",
      message: /too long/,
    });
    await assert.rejects(callMap.call(7, 1), { code: "VALIDATION_ERROR", message: /operationId/ });
    await assert.rejects(callMap.subscribe("t.any", 1, { idleTimeout: "1s" }).next(), {
      code: "VALIDATION_ERROR",
      message: /idleTimeout/,
    });
    assert.equal(callMap.getPendingCount(), 0);
  });

  it("a call over NATS has a size limit, which is named, in both directions", async () => {
    await nats.worker(
      [
        query("size", ({ text }) => text.length),
        query("large", ({ size }) => "x".repeat(size)),
        query("loud", ({ size }) => Promise.reject(new CallError("LOUD", "y".repeat(size), { z: "z" }))),
        query("nested", () => {
          let deep = 1;
          for (let i = 0; i < 2_000; i++) deep = [deep];
          return deep;
        }),
      ],
      { prefix: "sizes" },
    );
    const { callMap } = await nats.connect({ prefix: "sizes" });
    assert.equal(unwrap(await callMap.call("t.size", { text: "x".repeat(1_000_000) })), 1_000_000);
    assert.equal(unwrap(await callMap.call("t.large", { size: 1_000_000 })).length, 1_000_000);
    await assert.rejects(callMap.call("t.size", { text: "x".repeat(1_100_000) }), (error) => {
      assert.equal(error.code, "VALIDATION_ERROR");
      assert.equal(error.details.limit, 1_048_576);
      assert.ok(error.details.size > 1_100_000);
      assert.match(error.message, /max_payload/);
      return true;
    });
    await assert.rejects(callMap.call("t.large", { size: 1_100_000 }), {
      code: "EXECUTION_ERROR",
      message: /output of t\.large .* 1048576/,
    });
    await assert.rejects(callMap.call("t.loud", { size: 1_100_000 }), { code: "LOUD", message: /^y{4096}$/ });
    await assert.rejects(callMap.call("t.nested", {}), { code: "EXECUTION_ERROR", message: /512 levels/ });
  });

  it("a call over NATS ends by its deadline, on both sides", async () => {
    const aborted = deferred();
    let calls = 0;
    await nats.worker(
      [
        query("slow", (_, { signal }) => {
          calls += 1;
          signal.addEventListener("abort", () => aborted.resolve());
          return new Promise(() => {});
        }),
      ],
      { prefix: "deadline" },
    );
    const { callMap } = await nats.connect({ prefix: "deadline" });
    await withTimeEnough(async (time) => {
      const deadline = Date.now() + time;
      await assert.rejects(callMap.call("t.slow", {}, { deadline }), (error) => {
        assert.equal(error.code, "TIMEOUT");
        assert.match(error.message, /timed out/);
        const { delivery, ...others } = error.details;
        assert.deepEqual(others, { deadline });
        if (calls > 0) assert.equal(delivery, "unknown");
        return true;
      });
      return calls > 0;
    });
    await aborted.promise;
    const begun = calls;
    await assert.rejects(callMap.call("t.slow", {}, { deadline: Date.now() - 1 }), { code: "TIMEOUT" });
    assert.equal(calls, begun);
    assert.equal(callMap.getPendingCount(), 0);
  });

  it("a call over NATS ends by the caller's signal, and by abort()", async () => {
    const began = [];
    let aborts = 0;
    await nats.worker(
      [
        query("never", (_, { requestId, signal }) => {
          began.push(requestId);
          signal.addEventListener("abort", () => {
            aborts += 1;
          });
          return new Promise(() => {});
        }),
      ],
      { prefix: "abort" },
    );
    const { callMap } = await nats.connect({ prefix: "abort" });
    const controller = new AbortController();
    const first = callMap.call("t.never", {}, { signal: controller.signal });
    await until(() => began.length === 1);
    controller.abort();
    await assert.rejects(first, { code: "ABORTED", message: /was aborted/ });
    const second = callMap.call("t.never", {});
    await until(() => began.length === 2);
    callMap.abort(began[1]);
    await assert.rejects(second, { code: "ABORTED" });
    await until(() => aborts === 2);
    await assert.rejects(callMap.call("t.never", {}, { signal: AbortSignal.abort() }), { code: "ABORTED" });
    assert.equal(began.length, 2);
    // One that is aborted before anybody has confirmed it.
    const early = new AbortController();
    const third = callMap.call("t.never", {}, { signal: early.signal });
    early.abort();
    await assert.rejects(third, { code: "ABORTED" });
    await until(() => aborts === began.length);
    assert.equal(callMap.getPendingCount(), 0);
  });

  it("nested calls over NATS inherit identity and deadline, and are aborted with their parent", async () => {
    const registry = new OperationRegistry();
    const seen = [];
    // A handler learns of it by its signal or, if that is quicker, by the call that it waits for.
    const aborted = new Set();
    const connection = await nats.connect({ prefix: "nested" });
    const nested = (name, next) =>
      query(name, async (_, context) => {
        seen.push(context);
        context.signal.addEventListener("abort", () => aborted.add(name));
        if (next === undefined) return new Promise(() => {});
        try {
          return await buildEnv({ registry, context, callMap: connection.callMap }).t[next]({});
        } catch (error) {
          assert.equal(error.code, "ABORTED");
          aborted.add(name);
          throw error;
        }
      });
    registry.registerAll([nested("outer", "middle"), nested("middle", "inner"), nested("inner")]);
    await connection.serve(registry);
    const { callMap } = await nats.connect({ prefix: "nested" });
    const controller = new AbortController();
    const identity = { id: "u", scopes: ["s"] };
    const deadline = Date.now() + 60_000;
    const call = callMap.call("t.outer", {}, { identity, deadline, signal: controller.signal });
    await until(() => seen.length === 3);
    controller.abort();
    await assert.rejects(call, { code: "ABORTED" });
    await until(() => aborted.size === 3);
    await until(() => connection.callMap.getPendingCount() === 0);
    assert.equal(seen[2].parentRequestId, seen[1].requestId);
    assert.deepEqual(seen[2].identity, identity);
    assert.ok(Math.abs(seen[2].deadline - deadline) < 30_000);
    assert.equal("trusted" in seen[2], false);
  });
});

describe("connecting", { skip, timeout: 60_000 }, () => {
  const nats = useNats();
  const secret = "hunter2-s3cret";

  it("connectNats says what is wrong with the options", async () => {
    for (const [options, message] of [
      [{ name: "n" }, /servers/],
      [{ servers: [], name: "n" }, /servers/],
      [{ servers: "nats://x" }, /name/],
      [{ servers: "http://x", name: "n" }, /servers\[0\]/],
      [{ servers: "nats://x", name: "n", prefix: "a b" }, /prefix/],
      [{ servers: "nats://x", name: "n", queueGroup: "a.>" }, /queueGroup/],
      // The old name.
      [{ servers: "nats://x", name: "n", queue: "a.>" }, /queueGroup/],
      [{ servers: "nats://x", name: "n", timeout: 5 }, /timeout is not an option: there are servers/],
      [{ servers: "nats://x", name: "n", auth: { password: secret } }, /auth\.user/],
      [{ servers: "nats://x", name: "n", auth: { credentials: secret } }, /credentials/],
      [{ servers: `nats://u:${secret}@`, name: "n" }, /servers\[0\]/],
      [{ servers: "nats://x", name: "n", auth: secret }, /auth/],
    ]) {
      await assert.rejects(connectNats(options), (error) => {
        assert.ok(error instanceof CallError);
        assert.equal(error.code, "VALIDATION_ERROR");
        assert.match(error.message, message);
        assert.doesNotMatch(JSON.stringify(error) + error.stack, /hunter2/);
        return true;
      });
    }
  });

  it("connectNats says when there is no server", async () => {
    const broker = await startNats();
    await broker.stop();
    await assert.rejects(
      connectNats({ servers: `nats://u:${secret}@127.0.0.1:${broker.port}`, name: "n" }),
      (error) => {
        assert.equal(error.code, "EXECUTION_ERROR");
        assert.match(error.message, new RegExp(`Cannot connect to NATS at 127\\.0\\.0\\.1:${broker.port}`));
        assert.doesNotMatch(JSON.stringify(error) + error.stack, /hunter2/);
        return true;
      },
    );
  });

  it("connectNats authenticates with user and password, in the options and in the address", async () => {
    const broker = await startNats({ user: "al k", password: secret });
    try {
      const host = `127.0.0.1:${broker.port}`;
      for (const options of [
        { servers: host, auth: { user: "al k", password: secret } },
        { servers: `nats://al%20k:${secret}@${host}` },
      ]) {
        const connection = await connectNats({ name: "n", ...options });
        await assert.rejects(connection.callMap.call("a.b", 1), { code: "OPERATION_NOT_FOUND" });
        await connection.close();
      }
      for (const auth of [undefined, { user: "al k", password: `${secret}x` }, { token: secret }]) {
        await assert.rejects(connectNats({ servers: host, name: "n", auth }), (error) => {
          assert.equal(error.code, "ACCESS_DENIED");
          assert.doesNotMatch(JSON.stringify(error) + error.stack, /hunter2/);
          return true;
        });
      }
    } finally {
      await broker.stop();
    }
  });

  it("connectNats authenticates with a token, in the options and in the address", async () => {
    const broker = await startNats({ args: ["--auth", secret] });
    try {
      const host = `127.0.0.1:${broker.port}`;
      for (const options of [
        { servers: host, auth: { token: secret } },
        { servers: `nats://${secret}@${host}` },
      ]) {
        const connection = await connectNats({ name: "n", ...options });
        await connection.close();
      }
      await assert.rejects(connectNats({ servers: host, name: "n" }), { code: "ACCESS_DENIED" });
    } finally {
      await broker.stop();
    }
  });

  it("closing a NATS connection ends pending calls, once, and nothing works afterwards", async () => {
    await nats.worker([query("never", () => new Promise(() => {}))], { prefix: "closing" });
    const connection = await nats.connect({ prefix: "closing" });
    const call = connection.callMap.call("t.never", {});
    const stream = connection.callMap.subscribe("t.never", {}).next();
    const both = Promise.all([
      assert.rejects(call, {
        code: "EXECUTION_ERROR",
        details: { operationId: "t.never", reason: "closed", delivery: "unknown" },
      }),
      assert.rejects(stream, { code: "EXECUTION_ERROR" }),
    ]);
    await Promise.all([connection.close(), connection.close()]);
    await both;
    assert.equal(connection.callMap.getPendingCount(), 0);
    await assert.rejects(connection.callMap.call("t.never", {}), { message: /is closed/ });
    await assert.rejects(connection.callMap.subscribe("t.never", {}).next(), { message: /is closed/ });
    await assert.rejects(connection.discover(), { message: /is closed/ });
    await assert.rejects(connection.serve(new OperationRegistry()), { message: /is closed/ });
  });
});
