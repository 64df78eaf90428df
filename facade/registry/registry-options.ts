// The options of a registry.

import {
  aBoolean,
  aFunction,
  anObject,
  checkedOptions,
  type Fields,
  must,
  oneOf,
} from "../interop/options.js";
import type { SchemaAdapter } from "../schema/adapters.js";
import type { ApprovalOptions } from "./approval-types.js";
import { approvalOptions } from "./approvals.js";
import type { CustomAuth } from "./authorise.js";
import type { OutputMode } from "./entry.js";
import { type CallLimits, callLimits } from "./limits.js";
import { aSpill, type SpillOptions } from "./spills.js";

/**
 * How a registry treats schemas, access and outputs.
 *
 * @example
 * ```ts
 * const options: RegistryOptions = { output: "keep", customAuth: { isOwner: (identity) => identity?.id === "ada" } };
 * ```
 */
export interface RegistryOptions {
  /**
   * Converts schemas to TypeBox schemas at registration. Libraries that follow Standard Schema and have a JSON Schema
   * export (Zod 4, Valibot 1, ArkType) need no adapter.
   */
  schemaAdapter?: SchemaAdapter;
  /** Functions that `accessControl.customAuth` names. */
  customAuth?: Record<string, CustomAuth>;
  /** Direct calls of `execute` and `subscribe` skip access control. Calls through the call protocol never do. */
  trustDirectCalls?: boolean;
  /**
   * What happens to outputs that do not match their schema. `"normalise"`: they are brought into the declared shape.
   * `"keep"`: the same, but nothing is removed. `"off"`: they are only checked. `"strict"`: the call rejects. The default of
   * `new OperationRegistry()` is `"normalise"`; that of `createRegistry` is `"strict"` for handlers of your own, and
   * `"normalise"` for imported operations.
   */
  output?: OutputMode;
  /**
   * Large results go to files: `data` is then the beginning, and `meta.spill` names the file. Without it, and for
   * callers over NATS or Redis, results stay in memory.
   */
  spill?: SpillOptions;
  /** Limits for all calls of the registry together. Operations and importers may have limits of their own. */
  limits?: CallLimits;
  /** Which calls need a person, who decides, and where that is stored. */
  approvals?: ApprovalOptions;
}

const FIELDS: Fields<RegistryOptions> = {
  schemaAdapter: must("a SchemaAdapter", (value) => typeof value === "object" || typeof value === "function"),
  customAuth: (value, path) => {
    for (const [name, rule] of Object.entries(anObject(value, path) as object)) {
      if (rule !== undefined) aFunction(rule, `${path}.${name}`);
    }
    return value;
  },
  trustDirectCalls: aBoolean,
  output: oneOf("normalise", "normalize", "keep", "off", "strict"),
  spill: aSpill,
  limits: callLimits,
  approvals: approvalOptions,
};

/** Throws where an option is not what it has to be. */
export function registryOptions(options: RegistryOptions): RegistryOptions {
  return checkedOptions<RegistryOptions>(options, FIELDS, { prefix: "RegistryOptions." });
}
