// Written for the TypeScript package: the scanner, and ports between threads.

import { MessageChannel, type MessagePort, parentPort, Worker } from "node:worker_threads";
import {
  createPortEventTarget,
  type OperationManifest,
  OperationRegistry,
  type OperationSpec,
  PendingRequestMap,
  type ScannerFS,
  scanOperations,
} from "@alkdev/operations";

declare const fs: ScannerFS;
const registry = new OperationRegistry();
const specs: OperationSpec[] = await scanOperations("operations", fs);
for (const spec of specs) registry.registerSpec(spec);
registry.registerAll(await scanOperations("operations", fs));

const byId = Object.fromEntries(specs.map((spec) => [`${spec.namespace}.${spec.name}`, spec]));
const manifest: OperationManifest = { operations: byId, baseUrl: "https://example.com" };
export const first: OperationSpec | undefined = manifest.operations["demo.greet"];
export const bare: OperationManifest = { operations: {} };

// Node's own ports.
const { port1 } = new MessageChannel();
new PendingRequestMap(createPortEventTarget(port1));
const worker = new Worker("./spoke.mjs");
const target = createPortEventTarget(worker);
new PendingRequestMap(target);
if (parentPort !== null) createPortEventTarget(parentPort);
export const make = (port: MessagePort) => createPortEventTarget(port);
target.close();
// @ts-expect-error nothing can be sent to an event target
createPortEventTarget(new EventTarget());
