// The NATS transport's types: it fits where a call map is wanted.

import {
  buildEnv,
  type CloseOptions,
  type ConnectionEvent,
  type ConnectionStatus,
  type EnvOptions,
  OperationRegistry,
  type RemoteCallMap,
  type ResponseEnvelope,
} from "@alkdev/operations";
import type {
  HTTPDoorOptions,
  HttpDoorOptions,
  MCPDoorOptions,
  MCPResumeOptions,
  MCPTaskOptions,
  MCPTaskRedis,
  McpDoorOptions,
  McpResumeOptions,
  McpTaskOptions,
  McpTaskRedis,
  ServeCloseOptions,
} from "@alkdev/operations/serve";
import {
  connectNats,
  type NatsCallMap,
  type NatsCloseOptions,
  type NatsEvent,
  type NatsStatus,
  type NatsTransport,
} from "@alkdev/operations/transport-nats";
import type { RedisCloseOptions } from "@alkdev/operations/transport-redis";
import type { HubCloseOptions, HubEvent, HubStatus } from "@alkdev/operations/transport-websocket";
import { expectTypeOf } from "expect-type";

const connection = await connectNats({
  servers: ["nats://127.0.0.1:4222", "tls://example:4222"],
  name: "n",
  prefix: "p",
  queueGroup: "q",
  tls: { caFile: "ca.pem" },
  auth: { user: "u", password: "p" },
});
expectTypeOf(connection).toEqualTypeOf<NatsTransport>();
expectTypeOf(connection.callMap).toEqualTypeOf<RemoteCallMap>();
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

// Old names of types are those of today.
expectTypeOf<NatsCallMap>().toEqualTypeOf<RemoteCallMap>();
expectTypeOf<[NatsStatus, HubStatus]>().toEqualTypeOf<[ConnectionStatus, ConnectionStatus]>();
expectTypeOf<[NatsEvent, HubEvent]>().toEqualTypeOf<[ConnectionEvent, ConnectionEvent]>();
expectTypeOf<NatsCloseOptions | HubCloseOptions>().toEqualTypeOf<CloseOptions>();
expectTypeOf<RedisCloseOptions | ServeCloseOptions>().toEqualTypeOf<CloseOptions>();
expectTypeOf<HttpDoorOptions>().toEqualTypeOf<HTTPDoorOptions>();
expectTypeOf<[McpDoorOptions, McpResumeOptions]>().toEqualTypeOf<[MCPDoorOptions, MCPResumeOptions]>();
expectTypeOf<[McpTaskOptions, McpTaskRedis]>().toEqualTypeOf<[MCPTaskOptions, MCPTaskRedis]>();
