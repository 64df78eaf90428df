// A worker thread that serves a few operations over a port.

import { parentPort, workerData } from "node:worker_threads";
import {
  buildCallHandler,
  createPortEventTarget,
  OperationRegistry,
  PendingRequestMap,
} from "@alkdev/operations";
import { Type } from "@sinclair/typebox";

const { name, port } = workerData;
const weather = {
  namespace: "weather",
  version: "1.0.0",
  description: "The weather at a station",
  accessControl: { requiredScopes: ["weather"] },
};

const registry = new OperationRegistry();
registry.registerAll([
  {
    ...weather,
    name: "now",
    type: "query",
    inputSchema: Type.Object({ unit: Type.Union([Type.Literal("C"), Type.Literal("F")]) }),
    outputSchema: Type.Object({ station: Type.String(), temperature: Type.Number() }),
    handler: () => ({ station: name, temperature: name === "north" ? 4 : 21 }),
  },
  {
    ...weather,
    name: "watch",
    type: "subscription",
    inputSchema: Type.Object({}),
    outputSchema: Type.Object({ reading: Type.Integer() }),
    handler: async function* (_, { signal }) {
      for (let reading = 1; !signal.aborted; reading++) {
        yield { reading };
        await new Promise((resolve) => setTimeout(resolve, 5));
      }
    },
  },
  {
    ...weather,
    name: "never",
    type: "query",
    accessControl: { requiredScopes: [] },
    inputSchema: Type.Object({}),
    outputSchema: Type.Unknown(),
    handler: () => new Promise(() => {}),
  },
]);

const callMap = new PendingRequestMap(createPortEventTarget(port));
callMap["call.requested"].subscribe(buildCallHandler({ registry, callMap }));
parentPort.postMessage("ready");
