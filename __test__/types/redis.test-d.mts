// The Redis transport's types: it is an event target like any other.

import { type CallTransport, PendingRequestMap } from "@alkdev/operations";
import {
  connectRedis,
  createRedisEventTarget,
  type RedisEventTarget,
  type RedisEventTargetOptions,
} from "@alkdev/operations/transport-redis";
import { expectTypeOf } from "expect-type";

const target = createRedisEventTarget({
  url: "rediss://user:password@localhost:6379",
  prefix: "p:",
  maxMessageBytes: 1024,
  publishTimeout: 100,
  requireReceiver: false,
  tls: { ca: "-----BEGIN CERTIFICATE-----" },
});
expectTypeOf(target).toEqualTypeOf<RedisEventTarget>();
expectTypeOf(target).toExtend<EventTarget>();
expectTypeOf(target.dropped).toEqualTypeOf<{ malformed: number; tooLarge: number }>();
expectTypeOf(target.close()).toEqualTypeOf<Promise<void>>();
expectTypeOf<RedisEventTargetOptions["url"]>().toEqualTypeOf<string>();
new PendingRequestMap(target);

// @ts-expect-error a URL is needed
createRedisEventTarget({});
// @ts-expect-error there is no such option
createRedisEventTarget({ url: "redis://h", password: "p" });

const redis = await connectRedis({ url: "redis://h", name: "a" });
expectTypeOf(redis).toExtend<CallTransport>();
// @ts-expect-error a name is needed
await connectRedis({ url: "redis://h" });
