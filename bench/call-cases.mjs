// Who takes part in the benchmark of the call protocol.

import { buildCallHandler, OperationRegistry, PendingRequestMap } from "@alkdev/operations";
import moleculer from "moleculer";
import { context, sizedOperation } from "./execute-cases.mjs";
import { ReferencePendingRequestMap, serveReference } from "./reference-call.mjs";
import { ReferencePipeline } from "./reference-pipeline.mjs";

export const ID = "bench.small";
export const REFERENCE = "plain JavaScript over an EventTarget";
const options = { identity: context.identity };

export function moleculerBroker(settings) {
  return new moleculer.ServiceBroker({ logger: false, requestTimeout: 0, ...settings });
}

/** The same operation for Moleculer. It checks neither access nor outputs. */
export const moleculerService = {
  name: "bench",
  actions: {
    small: {
      params: { id: { type: "number", integer: true }, name: "string", active: "boolean" },
      handler: async ({ params }) => params,
    },
  },
};

function registered(registry) {
  registry.register(sizedOperation("small"));
  return registry;
}

/** Calls in one process: name and `call(input)`. */
export async function localContestants() {
  // The same registry behind both, so that only the protocol differs.
  const registry = registered(new OperationRegistry());
  const plain = new ReferencePendingRequestMap();
  serveReference(plain, registry);
  const whole = new ReferencePendingRequestMap();
  serveReference(whole, registered(new ReferencePipeline()));
  const overTarget = serve(new PendingRequestMap(new EventTarget()), registry);
  const ours = serve(new PendingRequestMap(), registry);
  const broker = moleculerBroker({});
  broker.createService(moleculerService);
  await broker.start();
  return {
    contestants: {
      [REFERENCE]: (input) => plain.call(ID, input, options),
      "the same with TypeBox's Value.Check and Value.Cast": (input) => whole.call(ID, input, options),
      "ours, in the process": (input) => ours.call(ID, input, options),
      "ours, over an EventTarget": (input) => overTarget.call(ID, input, options),
      "execute() alone": (input) => registry.execute(ID, input, context),
      "Moleculer, in the process": (input) => broker.call(ID, input, { meta: options }),
    },
    stop: () => broker.stop(),
  };
}

function serve(callMap, registry) {
  callMap["call.requested"].subscribe(buildCallHandler({ registry, callMap }));
  return callMap;
}

/** Callers over NATS. */
export async function natsCallers(url) {
  const { connectNats } = await import("@alkdev/operations/transport-nats");
  const connection = await connectNats({ servers: url, name: "bench-caller" });
  const broker = moleculerBroker({ nodeID: "bench-caller", transporter: url });
  await broker.start();
  return {
    callers: {
      moleculer: (input) => broker.call(ID, input, { meta: options }),
      ours: (input) => connection.callMap.call(ID, input, options),
    },
    isReady: () => broker.waitForServices("bench"),
    async stop() {
      await connection.close();
      await broker.stop();
    },
  };
}

/** Callers over Redis: the same maps on our event target and on that of GraphQL Yoga. */
export async function redisCallers(url) {
  const { createRedisEventTarget } = await import("@alkdev/operations/transport-redis");
  const { createRedisEventTarget: createYogaTarget } = await import("@graphql-yoga/redis-event-target");
  const { Redis } = await import("ioredis");
  const registry = registered(new OperationRegistry());
  const clients = [];
  const connect = () => {
    clients.push(new Redis(url));
    return clients.at(-1);
  };
  const yoga = () => createYogaTarget({ publishClient: connect(), subscribeClient: connect() });
  const targets = ["server", "caller"].map(() => createRedisEventTarget({ url, prefix: "ours:" }));
  serve(new PendingRequestMap(targets[0]), registry);
  serve(new PendingRequestMap(yoga()), registry);
  const callers = Object.fromEntries(
    Object.entries({ yoga: new PendingRequestMap(yoga()), ours: new PendingRequestMap(targets[1]) }).map(
      ([name, map]) => [name, (input, more) => map.call(ID, input, { ...options, ...more })],
    ),
  );
  return {
    callers,
    async stop() {
      for (const target of targets) await target.close();
      for (const client of clients) client.disconnect();
    },
  };
}
