// A hub and two spokes in worker threads, over message ports.

import { MessageChannel, Worker } from "node:worker_threads";
import { createPortEventTarget, PendingRequestMap, unwrap } from "@alkdev/operations";
import { say, show } from "./show.mjs";

/** Starts a spoke; the hub gets a map to call it with. */
async function connect(name) {
  const { port1, port2 } = new MessageChannel();
  const worker = new Worker(new URL("./spoke.mjs", import.meta.url), {
    workerData: { name, port: port2 },
    transferList: [port2],
  });
  await new Promise((resolve) => worker.once("message", resolve));
  return { callMap: new PendingRequestMap(createPortEventTarget(port1)), port: port1, worker };
}

export default async function callProtocol() {
  const spokes = await Promise.all(["north", "south"].map(connect));

  say("One hub, two threads, the same operation on each:");
  for (const { callMap } of spokes) {
    const envelope = await callMap.call(
      "weather.now",
      { unit: "C" },
      { identity: { id: "hub", scopes: ["weather"] } },
    );
    show(`weather.now (${unwrap(envelope).station})`, unwrap(envelope));
  }

  const [{ callMap }] = spokes;
  say("Streams cross too, and end when the consumer leaves:");
  for await (const envelope of callMap.subscribe(
    "weather.watch",
    {},
    { identity: { id: "hub", scopes: ["weather"] } },
  )) {
    show("weather.watch", unwrap(envelope));
    if (unwrap(envelope).reading === 3) break;
  }

  say("Failures are what they would be in the process:");
  for (const call of [
    callMap.call("weather.now", { unit: "C" }),
    callMap.call("weather.forecast", {}),
    callMap.call("weather.never", {}, { deadline: Date.now() + 50 }),
  ]) {
    await call.catch(({ code, message }) => show(code, message));
  }
  show("pending calls", callMap.getPendingCount());

  await Promise.all(spokes.map(({ worker }) => worker.terminate()));
  for (const { port } of spokes) port.close();
}
