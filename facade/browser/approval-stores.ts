// The counterpart of `registry/approval-folder.ts` and `registry/approval-redis.ts`: there are no files and no Redis here.

import { anObject } from "../interop/options.js";
import { unavailable } from "./unavailable.js";

export const FolderApprovals = /* @__PURE__ */ unavailable(
  "The option approvals.store.folder",
  "there are no files: use a store of your own",
) as unknown as new (
  folder: string,
  most: number,
) => never;

export const RedisApprovals = /* @__PURE__ */ unavailable(
  "The option approvals.store.redis",
) as unknown as new (
  options: object,
  most: number,
) => never;

export const aRedis = anObject;
