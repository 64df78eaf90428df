// The counterpart of `registry/spills.ts`: there are no files here.

import { unavailable } from "./unavailable.js";

/** Called for the option of a registry, where it is given. */
export const aSpill = /* @__PURE__ */ unavailable(
  "The option spill",
  "there are no files: use it where calls are served",
) as unknown as () => never;

/** Where large results go: nowhere. */
// biome-ignore lint/complexity/noStaticOnlyClass: it stands for a class that has more
export class Spills {
  static of(_options: unknown): undefined {}
}
