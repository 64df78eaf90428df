// What arrives from a peer that means harm, or is broken.
// `OPERATIONS_SEED` repeats a run.

import assert from "node:assert/strict";
import { describe, it } from "node:test";
import {
  buildCallHandler,
  CallError,
  CallEventMap,
  FromOpenAPI,
  isResponseEnvelope,
  OperationRegistry,
  PendingRequestMap,
  subscribe,
} from "@alkdev/operations";
import { Value } from "@sinclair/typebox/value";
import { chosenSeed, Random } from "../schema/support/random.mjs";
import { assertNoStalls, BOUND, longestStall } from "../support/event-loop.mjs";
import { runModule } from "../support/run-node.mjs";
import { randomDetail, TYPES } from "./random-events.mjs";
import { query, serving, settled, subscription } from "./support.mjs";

assertNoStalls();

const EVENTS = 60_000;

/** Whether an event fits `CallEventMap`, as TypeBox sees it. */
function fits(type, detail) {
  const isWrapped = Object(detail?.payload) === detail?.payload && detail.requestId === undefined;
  if (isWrapped && detail.type !== undefined && detail.type !== type) return false;
  const inner = isWrapped ? detail.payload : detail;
  if (type === "call.responded") {
    // Data that JSON left out is undefined.
    const { output } = Object(inner);
    const isEnvelope = isResponseEnvelope(
      Object(output) === output ? { data: undefined, ...output } : output,
    );
    return isEnvelope && Value.Check(CallEventMap["call.completed"], inner);
  }
  // An input that JSON left out is undefined.
  return Value.Check(CallEventMap[type], type === "call.requested" ? { input: undefined, ...inner } : inner);
}

describe("nothing that arrives can throw", () => {
  it(`${EVENTS} random events: what does not fit is dropped and counted, everything else has its outcome`, async () => {
    const seed = chosenSeed();
    console.log(`OPERATIONS_SEED=${seed}, ${EVENTS} events`);
    const random = new Random(seed);
    const target = new EventTarget();
    const map = new PendingRequestMap(target);
    const registry = new OperationRegistry();
    registry.registerAll([query("echo", (input) => input)]);
    const uncaught = [];
    const note = (error) => uncaught.push(error);
    process.on("uncaughtException", note);
    let misfits = 0;
    let outcomes = 0;
    let asked;
    const stop = map["call.requested"].subscribe(({ requestId }) => {
      asked = requestId;
    });
    const call = () =>
      map.call("t.nobody", {}).then(
        ({ data, meta }) => {
          assert.ok(isResponseEnvelope({ data, meta }));
          outcomes += 1;
        },
        (error) => {
          assert.ok(error instanceof CallError);
          assert.equal(typeof error.code, "string");
          outcomes += 1;
        },
      );
    const { stall } = await longestStall(async () => {
      let calls = 0;
      for (let i = 0; i < EVENTS; i++) {
        if (map.getPendingCount() === 0) {
          calls += 1;
          void call();
        }
        const type = random.pick(TYPES);
        const sent = randomDetail(random, type, asked);
        // Requests have a listener of their own here, so that the id above stays that of the waiting call.
        if (type === "call.requested") {
          const handled = buildCallHandler({ registry, callMap: new PendingRequestMap() })(sent);
          if (random.chance(0.01)) await handled;
          continue;
        }
        if (!fits(type, sent)) misfits += 1;
        target.dispatchEvent(new CustomEvent(type, { detail: sent }));
        if (i % 500 === 0) await settled();
      }
      map.abort(asked);
      await settled();
      assert.equal(outcomes, calls);
      assert.ok(calls > 1000, "most events never reached a call");
    });
    stop();
    process.off("uncaughtException", note);
    assert.deepEqual(uncaught, []);
    assert.equal(map.stats().dropped, misfits);
    assert.ok(misfits > 1000);
    assert.equal(map.getPendingCount(), 0);
    assert.ok(stall < BOUND, `the event loop stood still for ${stall} ms`);
  });

  it("requests that do not fit never reach the handler", async () => {
    const random = new Random(chosenSeed());
    const target = new EventTarget();
    const map = new PendingRequestMap(target);
    let seen = 0;
    let expected = 0;
    map["call.requested"].subscribe((event) => {
      assert.ok(Value.Check(CallEventMap["call.requested"], event));
      assert.equal("trusted" in event, false);
      seen += 1;
    });
    for (let i = 0; i < 5000; i++) {
      const sent = randomDetail(random, "call.requested", "r");
      if (fits("call.requested", sent)) expected += 1;
      target.dispatchEvent(new CustomEvent("call.requested", { detail: sent }));
    }
    assert.equal(seen, expected);
    assert.equal(map.stats().droppedBy["call.requested"], 5000 - expected);
  });

  it("an event whose getters throw is dropped", () => {
    const target = new EventTarget();
    const map = new PendingRequestMap(target);
    map["call.error"].subscribe(() => assert.fail("it was believed"));
    const trap = {
      get requestId() {
        throw new Error("trap");
      },
    };
    target.dispatchEvent(new CustomEvent("call.error", { detail: trap }));
    assert.deepEqual(map.stats().dropped, 1);
  });
});

describe("what leaves the process is chosen", () => {
  it("an error that is no CallError leaves the process with its code and message only", async () => {
    const secret = Object.assign(new Error("FULL: no room"), {
      password: "hunter2",
      config: { auth: "Bearer x" },
    });
    const { callMap } = serving([
      query("leak", () => Promise.reject(secret), { errorSchemas: [{ code: "FULL" }] }),
      query("wrapped", () => Promise.reject(new CallError("MINE", "text", secret))),
      query("own", () => Promise.reject(new CallError("MINE", "text", { field: "name" }))),
    ]);
    const failure = (name) => callMap.call(`t.${name}`, {}).catch((error) => error);
    const leaked = await failure("leak");
    assert.deepEqual([leaked.code, leaked.message, leaked.details], ["FULL", "FULL: no room", undefined]);
    assert.equal((await failure("wrapped")).details, undefined);
    assert.deepEqual((await failure("own")).details, { field: "name" });
  });
});

describe("metadata off a wire is data", () => {
  const document = {
    openapi: "3.1.0",
    info: { title: "t", version: "1" },
    paths: { "/x": { get: { operationId: "x", responses: { 200: { description: "" } } } } },
  };
  const metadata = { headers: { Authorization: "Bearer stolen", "X-Mine": "1" }, note: "kept" };

  async function headersOf(extra) {
    const seen = [];
    const registry = new OperationRegistry();
    const fetch = async (_, { headers }) => {
      seen.push(new Headers(headers));
      return new Response("{}", { headers: { "content-type": "application/json" } });
    };
    registry.registerAll(
      FromOpenAPI(document, {
        namespace: "web",
        baseUrl: "http://127.0.0.1:1",
        auth: { type: "bearer", token: "ours" },
        fetch,
      }),
    );
    registry.registerAll([query("look", (_, context) => context.metadata)]);
    const callMap = new PendingRequestMap();
    callMap["call.requested"].subscribe(buildCallHandler({ registry, callMap, ...extra }));
    await callMap.call("web.x", {}, { metadata });
    await registry.execute("web.x", {}, { metadata: { headers: { "X-Mine": "direct" } } });
    const { data } = await callMap.call("t.look", {}, { metadata });
    return { remote: seen[0], direct: seen[1], data };
  }

  it("metadata off a wire changes no outgoing request, and reaches the handler", async () => {
    const { remote, direct, data } = await headersOf({});
    assert.equal(remote.get("authorization"), "Bearer ours");
    assert.equal(remote.get("x-mine"), null);
    assert.equal(direct.get("x-mine"), "direct");
    assert.deepEqual(data, metadata);
  });

  it("metadata off a wire changes an outgoing request only if the server allows it", async () => {
    const { remote } = await headersOf({ allowMetadata: ["headers"] });
    assert.equal(remote.get("x-mine"), "1");
  });
});

describe("a polluted Object.prototype", () => {
  for (const [name, polluted] of [
    ["trusted", true],
    ["identity", { id: "root", scopes: ["admin"] }],
  ]) {
    it(`a polluted Object.prototype.${name} grants neither calls nor subscriptions`, async () => {
      const registry = new OperationRegistry();
      const rules = { accessControl: { requiredScopes: ["admin"] } };
      registry.registerAll([
        query("secret", () => 1, rules),
        subscription(
          "secrets",
          async function* () {
            yield 1;
          },
          rules,
        ),
      ]);
      const callMap = new PendingRequestMap();
      callMap["call.requested"].subscribe(buildCallHandler({ registry, callMap }));
      const denied = { code: "ACCESS_DENIED" };
      Object.defineProperty(Object.prototype, name, { value: polluted, configurable: true, writable: true });
      try {
        await assert.rejects(registry.execute("t.secret", {}), denied);
        await assert.rejects(registry.execute("t.secret", {}, {}), denied);
        await assert.rejects(subscribe(registry, "t.secrets", {}, {}).next(), denied);
        await assert.rejects(callMap.call("t.secret", {}, {}), denied);
        await assert.rejects(callMap.subscribe("t.secrets", {}).next(), denied);
      } finally {
        delete Object.prototype[name];
      }
    });
  }
});

describe("a pending call with a deadline", () => {
  it("a pending call with a deadline keeps the process alive until it is settled", async () => {
    const { code, stdout } = await runModule(`
      import { PendingRequestMap } from "@alkdev/operations";
      const map = new PendingRequestMap();
      const deadline = Date.now() + 100;
      const call = await map.call("t.x", {}, { deadline }).catch(({ code }) => code);
      const stream = await map.subscribe("t.x", {}, { idleTimeout: 50 }).next().catch(({ code }) => code);
      console.log(call, stream, map.getPendingCount());
    `);
    assert.deepEqual({ code, stdout }, { code: 0, stdout: "TIMEOUT TIMEOUT 0\n" });
  });

  it("a settled call with a deadline does not keep the process alive", async () => {
    const { code, stdout } = await runModule(`
      import { localEnvelope, PendingRequestMap } from "@alkdev/operations";
      const map = new PendingRequestMap();
      map["call.requested"].subscribe(({ requestId }) => map.respond(requestId, localEnvelope(1, "t.x")));
      console.log((await map.call("t.x", {}, { deadline: Date.now() + 3_600_000 })).data);
    `);
    assert.deepEqual({ code, stdout }, { code: 0, stdout: "1\n" });
  });
});

it("complete() on a pending call fails it with: there was no response", async () => {
  const map = new PendingRequestMap();
  map["call.requested"].subscribe(({ requestId }) => map.complete(requestId));
  await assert.rejects(map.call("t.x", {}), { code: "ABORTED", message: /completed without response/ });
});
