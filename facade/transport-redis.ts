export { connectRedis } from "./redis/connection.js";
export type {
  RedisDiscoverOptions,
  RedisImportOptions,
  RedisOperationInfo,
  RedisOptions,
  RedisServeOptions,
  RedisStats,
  RedisTransport,
} from "./redis/connection-types.js";
export {
  createRedisEventTarget,
  type DroppedMessages,
  type RedisCloseOptions,
  type RedisEventTarget,
  type RedisEventTargetOptions,
} from "./redis/redis-event-target.js";
