// Serves one operation from a worker thread.

import { parentPort, workerData } from "node:worker_threads";
import { OperationRegistry } from "@alkdev/operations";
import { connectNats } from "@alkdev/operations/transport-nats";
import { query } from "../call/support.mjs";

const { name, servers } = workerData;
const registry = new OperationRegistry();
registry.register(query("where", () => name));
const connection = await connectNats({ servers, name });
await connection.serve(registry);
parentPort.postMessage("ready");
