export {
  createRedisEventTarget,
  type DroppedMessages,
  type RedisEventTarget,
  type RedisEventTargetOptions,
} from "./redis/redis-event-target.js";
