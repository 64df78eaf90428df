// The counterpart of `registry/approval-folder.ts`: there are no files here.

import { unavailable } from "./unavailable.js";

export const FolderApprovals = /* @__PURE__ */ unavailable(
  "The option approvals.store.folder",
  "there are no files: use a store of your own",
) as unknown as new (
  folder: string,
  most: number,
) => never;
