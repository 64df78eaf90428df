// A worker thread that serves operations over the port that it is given.

import { parentPort, workerData } from "node:worker_threads";
import {
  buildCallHandler,
  createPortEventTarget,
  OperationRegistry,
  PendingRequestMap,
} from "@alkdev/operations";
import { query, subscription } from "./support.mjs";

let abortedCalls = 0;
let endedStreams = 0;
const registry = new OperationRegistry();
registry.registerAll(
  [
    query("double", ({ n }) => ({ n: n * 2 })),
    subscription("count", async function* ({ to }) {
      for (let i = 1; i <= to; i++) yield i;
    }),
    subscription("endless", async function* () {
      try {
        for (let i = 0; ; i++) yield i;
      } finally {
        endedStreams += 1;
      }
    }),
    query("endedStreams", () => endedStreams),
    query(
      "fail",
      () => {
        throw new Error("TEAPOT: short and stout");
      },
      { errorSchemas: [{ code: "TEAPOT" }] },
    ),
    query(
      "sleep",
      (_, { signal }) =>
        new Promise(() => {
          signal.addEventListener("abort", () => {
            abortedCalls += 1;
          });
        }),
    ),
    query("abortedCalls", () => abortedCalls),
    query("secret", (_, { identity }) => `for ${identity.id}`, {
      accessControl: { requiredScopes: ["admin"] },
    }),
  ].map((operation) => ({ ...operation, namespace: "spoke" })),
);

const callMap = new PendingRequestMap(createPortEventTarget(workerData.port ?? parentPort));
callMap["call.requested"].subscribe(buildCallHandler({ registry, callMap }));
parentPort.postMessage("ready");
