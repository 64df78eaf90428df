// Loads the package in a worker thread, shows that it works there, and is then perhaps busy.

import { parentPort, workerData } from "node:worker_threads";
import { CallError, localEnvelope, unwrap } from "@alkdev/operations";
import { hooks } from "./internals.mjs";

const { id, work } = workerData;
if (work !== undefined) {
  // More work than the test waits for, on native threads and here.
  for (let i = 0; i < 20; i++) hooks.work(work + i * 10).catch(() => {});
  for (let i = 0; i < 20; i++) hooks.logFromThread("busy");
}
const error = await hooks.panicLater("in a worker").catch((caught) => caught);
parentPort.postMessage({
  id,
  data: unwrap(localEnvelope({ id }, "worker.test")),
  code: error.code,
  sameClass: error instanceof CallError,
});
