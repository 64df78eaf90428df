// Approvals in a Redis that several processes share. Each step is one script, which Redis runs as a whole. A script that fails is not
// repeated: an approval is then perhaps used up, and its call was not made.
//
// | key | what it is |
// |---|---|
// | `request:<id>` | a hash: `request`, and with time `decision` and `used` |
// | `all` | the requests, by the time until which they are kept |
// | `used` | those of them that are used, which make room for others |

import { aString, group, isString, must, required } from "../interop/options.js";
import { assertPermitted } from "../interop/permission.js";
import { TLS_FIELDS, type TLSOptions, tlsTexts } from "../interop/tls.js";
import { native, runtime } from "../runtime.js";
import { storeFailed } from "./approval-folder.js";
import type { ApprovalStore, StoredApproval } from "./approval-types.js";

/**
 * The Redis in which approvals are stored.
 *
 * @example
 * ```ts
 * const redis: ApprovalRedis = { url: "rediss://user:secret@redis.example:6380", prefix: "shop:approvals:" };
 * const shared = new OperationRegistry({ approvals: { store: { redis } } });
 * ```
 */
export interface ApprovalRedis {
  /** `redis://user:password@host:6379`, `rediss://` for TLS, or `redis+unix:///path`. */
  url: string;
  /** What the names of all keys begin with (default: `operations:approvals:`). */
  prefix?: string;
  /** For `rediss://`: certificates in PEM form. Without `ca` or `caFile` those of the system are trusted. */
  tls?: TLSOptions;
}

/** What a URL must look like is checked natively. */
export const aRedis = group<ApprovalRedis>({
  url: required(must("a URL such as redis://user:password@host:6379", isString, { secret: true })),
  prefix: aString,
  tls: group<TLSOptions>(TLS_FIELDS),
});

/** Keys: the request, `all`, `used`. Arguments: the id, the request, the time, until when it is kept, the most requests. */
const ADD = `
redis.call('ZREMRANGEBYSCORE', KEYS[2], '-inf', '(' .. ARGV[3])
redis.call('ZREMRANGEBYSCORE', KEYS[3], '-inf', '(' .. ARGV[3])
while redis.call('ZCARD', KEYS[2]) >= tonumber(ARGV[5]) do
  local old = redis.call('ZPOPMIN', KEYS[3])[1]
  if not old then return false end
  redis.call('ZREM', KEYS[2], old)
  redis.call('DEL', string.sub(KEYS[1], 1, -1 - #ARGV[1]) .. old)
end
if redis.call('HSETNX', KEYS[1], 'request', ARGV[2]) == 0 then return false end
redis.call('ZADD', KEYS[2], ARGV[4], ARGV[1])
redis.call('PEXPIREAT', KEYS[1], ARGV[4])
local last = redis.call('ZREVRANGE', KEYS[2], 0, 0, 'WITHSCORES')[2]
for _, key in ipairs({ KEYS[2], KEYS[3] }) do redis.call('PEXPIREAT', key, last) end
return 'yes'
`;

/** Keys: the request. Arguments: the decision. */
const DECIDE = `
if redis.call('EXISTS', KEYS[1]) == 0 or redis.call('HEXISTS', KEYS[1], 'used') == 1 then return false end
return redis.call('HSETNX', KEYS[1], 'decision', ARGV[1]) == 1 and 'yes'
`;

/** Keys: the request, `all`, `used`. Arguments: the id. */
const USE = `
if redis.call('EXISTS', KEYS[1]) == 0 or redis.call('HSETNX', KEYS[1], 'used', '1') == 0 then return false end
local keep = redis.call('ZSCORE', KEYS[2], ARGV[1])
if keep then redis.call('ZADD', KEYS[3], keep, ARGV[1]) end
return 'yes'
`;

const READ = `
local all = redis.call('HMGET', KEYS[1], 'request', 'decision', 'used')
return all[1] and cjson.encode(all)
`;

const IDS = "return table.concat(redis.call('ZRANGE', KEYS[1], 0, -1), ' ')";

export class RedisApprovals implements ApprovalStore {
  readonly #redis;
  readonly #most: number;

  constructor({ prefix = "operations:approvals:", tls, ...options }: ApprovalRedis, most: number) {
    const where = "approvals.store.redis.";
    assertPermitted("net", "approvals.store.redis");
    const settings = { ...options, prefix, tls: tlsTexts(tls, `${where}tls.`) };
    this.#redis = new native.RedisStore(runtime, where, JSON.stringify(settings));
    this.#most = most;
  }

  async add(id: string, request: string, keepUntil: number): Promise<boolean> {
    const [now, most] = [Date.now(), this.#most];
    return typeof (await this.#run(ADD, keysOf(id), [id, request, now, keepUntil, most])) === "string";
  }

  async decide(id: string, decision: string): Promise<boolean> {
    return typeof (await this.#run(DECIDE, [requestKey(id)], [decision])) === "string";
  }

  async use(id: string): Promise<boolean> {
    return typeof (await this.#run(USE, keysOf(id), [id])) === "string";
  }

  async read(id: string): Promise<StoredApproval | undefined> {
    const text = await this.#run(READ, [requestKey(id)], []);
    if (typeof text !== "string") return undefined;
    const [request, decision, used] = JSON.parse(text) as [string, string | false, string | false];
    return { request, decision: decision === false ? undefined : decision, isUsed: used !== false };
  }

  async ids(): Promise<string[]> {
    const text = (await this.#run(IDS, ["all"], [])) ?? "";
    return text === "" ? [] : text.split(" ");
  }

  async #run(
    script: string,
    keys: string[],
    values: readonly (string | number)[],
  ): Promise<string | null | undefined> {
    try {
      return await this.#redis.run(script, keys, values.map(String));
    } catch (error) {
      throw storeFailed("Redis", error);
    }
  }
}

function requestKey(id: string): string {
  return `request:${id}`;
}

function keysOf(id: string): string[] {
  return [requestKey(id), "all", "used"];
}
