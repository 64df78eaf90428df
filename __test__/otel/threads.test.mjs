// One trace through a worker thread and Redis, and back.

import assert from "node:assert/strict";
import { after, describe, it } from "node:test";
import { MessageChannel, Worker } from "node:worker_threads";
import {
  buildCallHandler,
  createPortEventTarget,
  OperationRegistry,
  PendingRequestMap,
} from "@alkdev/operations";
import { instrument } from "@alkdev/operations/otel";
import { closeTargets, openTarget } from "../redis/support.mjs";
import { operation } from "../registry/support/operations.mjs";
import { missingBroker, startRedis } from "../support/brokers.mjs";
import { CLIENT, idsOf, parentOf, provider, SERVER, spanOf, useSdk } from "./support.mjs";

useSdk();

describe("a call through a worker thread and Redis", { skip: missingBroker("redis-server") }, () => {
  it("a call through a worker thread and Redis is one trace", async (t) => {
    const redis = await startRedis();
    after(async () => {
      await closeTargets();
      await redis.stop();
    });
    // What the thread calls over Redis is served here.
    const registry = new OperationRegistry();
    registry.register(operation({ namespace: "t", name: "back", handler: () => "here" }));
    const stop = instrument(registry);
    const target = openTarget({ url: redis.url });
    const served = new PendingRequestMap(target);
    served["call.requested"].subscribe(buildCallHandler({ registry, callMap: served }));

    const { port1, port2 } = new MessageChannel();
    const worker = new Worker(new URL("./thread.mjs", import.meta.url), {
      workerData: { port: port2, url: redis.url },
      transferList: [port2],
    });
    t.after(() => worker.terminate());
    const message = () => new Promise((resolve) => worker.once("message", resolve));
    assert.equal(await message(), "ready");
    const callMap = new PendingRequestMap(createPortEventTarget(port1));
    await provider.getTracer("x").startActiveSpan("caller", async (span) => {
      assert.equal((await callMap.call("t.there", {})).data, "here");
      span.end();
    });
    const ended = message();
    worker.postMessage("spans");
    const theirs = await ended;
    port1.close();
    stop();

    const of = (name, kind) => theirs.find((span) => span.name === name && span.kind === kind);
    const [caller, sent, back] = [spanOf("caller"), spanOf("t/there", CLIENT), spanOf("t/back", SERVER)];
    const [received, sentBack] = [of("t/there", SERVER), of("t/back", CLIENT)];
    assert.equal(parentOf(sent), idsOf(caller).spanId);
    assert.equal(received.parent, idsOf(sent).spanId);
    assert.equal(sentBack.parent, received.spanId);
    assert.equal(parentOf(back), sentBack.spanId);
    const { traceId } = idsOf(caller);
    assert.deepEqual([received.traceId, sentBack.traceId, idsOf(back).traceId], [traceId, traceId, traceId]);
  });
});
