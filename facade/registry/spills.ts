// Where large results go: the options of `spill`, and the native store behind them.

import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { aDuration, aSize, group, required } from "../interop/options.js";
import { aFolderToWrite } from "../interop/permission.js";
import type { SpillStore } from "../native-binding.js";
import { native, runtime } from "../runtime.js";
import { removeLeftovers, spillOwner } from "./spill-owners.js";

/**
 * Large results in files, for a registry, an OpenAPI import or an MCP client.
 *
 * @example
 * ```ts
 * const spill: SpillOptions = { over: 1_000_000, keep: 600_000 };
 * const spilling = new OperationRegistry({ spill });
 * ```
 */
export interface SpillOptions {
  /**
   * A result with more bytes than this goes to a file. The body of an HTTP response is written while it is received,
   * and `maxResponseBytes` does not apply to it.
   */
  over: number;
  /** The folder for the files (default: a folder of the package, which is removed when the process ends). */
  dir?: string;
  /** Milliseconds after which a file is removed. One hour by default. */
  keep?: number;
  /** Bytes that all files of this configuration may have together; a call beyond that fails. 4 GiB by default. */
  quota?: number;
}

/** Checks `spill` of a configuration. */
export const aSpill = group<SpillOptions>({
  over: required(aSize),
  dir: aFolderToWrite,
  keep: aDuration,
  quota: aSize,
});

/** How long a file stays, in milliseconds, and how much all of them may have, in bytes. */
const KEEP = 3_600_000;
const QUOTA = 4 * 1024 ** 3;

/** The files of one configuration. */
export class Spills {
  readonly over: number;
  readonly #options: SpillOptions;
  #native: SpillStore | undefined;

  constructor(options: SpillOptions) {
    this.#options = options;
    this.over = options.over;
    if (options.dir !== undefined) removeLeftovers(options.dir, options.keep ?? KEEP);
  }

  static of(options: SpillOptions | undefined): Spills | undefined {
    return options && new Spills(options);
  }

  get native(): SpillStore {
    const { over, dir, keep = KEEP, quota = QUOTA } = this.#options;
    this.#native ??= new native.SpillStore(
      runtime,
      JSON.stringify({ over, dir: dir ?? ownFolder(), owner: spillOwner, keep, quota }),
    );
    return this.#native;
  }
}

const PREFIX = "operations-spill-";
let made: string | undefined;

/** The folder for files of configurations without `dir`. It is removed when the process ends. */
function ownFolder(): string {
  if (made === undefined) {
    removeLeftovers(tmpdir(), KEEP, PREFIX);
    const folder = mkdtempSync(join(tmpdir(), `${PREFIX}${spillOwner}-`));
    process.once("exit", () => rmSync(folder, { recursive: true, force: true }));
    made = folder;
  }
  return made;
}
