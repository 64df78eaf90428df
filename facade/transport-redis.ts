export {
  createRedisEventTarget,
  type DroppedMessages,
  type RedisCloseOptions,
  type RedisEventTarget,
  type RedisEventTargetOptions,
} from "./redis/redis-event-target.js";
