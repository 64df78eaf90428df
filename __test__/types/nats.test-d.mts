// The NATS transport's types: it fits where a call map is wanted.

import { buildEnv, type EnvOptions, OperationRegistry, type ResponseEnvelope } from "@alkdev/operations";
import { connectNats, type NatsCallMap, type NatsTransport } from "@alkdev/operations/transport-nats";
import { expectTypeOf } from "expect-type";

const connection = await connectNats({
  servers: ["nats://127.0.0.1:4222", "tls://example:4222"],
  name: "n",
  prefix: "p",
  queue: "q",
  tls: { caFile: "ca.pem" },
  auth: { user: "u", password: "p" },
});
expectTypeOf(connection).toEqualTypeOf<NatsTransport>();
expectTypeOf(connection.callMap).toEqualTypeOf<NatsCallMap>();
expectTypeOf(connection.callMap).toExtend<NonNullable<EnvOptions["callMap"]>>();

const registry = new OperationRegistry();
buildEnv({ registry, context: {}, callMap: connection.callMap });
await connection.serve(registry, { concurrency: 4 });

const answer = connection.callMap.call("a.b", {}, { deadline: 1, signal: new AbortController().signal });
expectTypeOf(answer).toEqualTypeOf<Promise<ResponseEnvelope>>();
for await (const event of connection.callMap.subscribe("a.b", {}, { idleTimeout: 5 })) {
  expectTypeOf(event).toEqualTypeOf<ResponseEnvelope>();
}
expectTypeOf((await connection.discover({ timeout: 5 })).workers[0]?.operations).toEqualTypeOf<
  string[] | undefined
>();
expectTypeOf(connection.stats().malformed).toEqualTypeOf<number>();
await connection.close({ drain: 5 });

// @ts-expect-error a server is needed
await connectNats({ name: "n" });
// @ts-expect-error there is no such option
await connectNats({ servers: "x", name: "n", timeout: 5 });
