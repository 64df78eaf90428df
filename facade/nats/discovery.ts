// What workers say about themselves.

import { type DiscoveredOperation, readDescription } from "../call/described.js";
import type { ImportOptions } from "../call/imported.js";
import type { DiscoverOptions } from "../call/transport.js";
import {
  anObject,
  aPatience,
  checkedOptions,
  type Fields,
  isListOf,
  isRecord,
  isString,
} from "../interop/options.js";

/**
 * Options of `discover`.
 *
 * @example
 * ```ts
 * const options: NatsDiscoverOptions = { identity: { id: "ada", scopes: ["tasks:read"] }, timeout: 500 };
 * ```
 */
export interface NatsDiscoverOptions extends DiscoverOptions {
  /** How long to wait for answers of workers, in milliseconds (default 300). */
  timeout?: number;
}

/**
 * Options of `import`: which operations, under which names, and on whose behalf.
 *
 * @example
 * ```ts
 * const options: NatsImportOptions = { include: ["tasks.*"], keepInStep: registry };
 * ```
 */
export interface NatsImportOptions extends ImportOptions, NatsDiscoverOptions {}

/**
 * A worker, as `discover` found it.
 *
 * @example
 * ```ts
 * const { workers } = await nats.discover();
 * workers.map((worker: NatsWorkerInfo) => `${worker.name}: ${worker.running} of ${worker.concurrency}`);
 * ```
 */
export interface NatsWorkerInfo {
  id: string;
  name: string;
  concurrency: number;
  running: number;
  /** The ids of the operations that it serves and the caller may call. */
  operations: string[];
}

/**
 * An operation, as `discover` found it.
 *
 * @example
 * ```ts
 * const { operations } = await nats.discover();
 * operations.map((operation: NatsOperationInfo) => operation.operationId);
 * ```
 */
export interface NatsOperationInfo extends DiscoveredOperation {
  operationId: string;
  /** The ids of the workers that serve it. */
  workers: string[];
}

/**
 * The workers, and the operations that they serve.
 *
 * @example
 * ```ts
 * const found: NatsDiscovery = await nats.discover();
 * ```
 */
export interface NatsDiscovery {
  operations: NatsOperationInfo[];
  workers: NatsWorkerInfo[];
}

/** A peer requests the list of operations, and claims an identity. */
export interface Introduction {
  from: string;
  question: string;
  identity: unknown;
  metadata: unknown;
}

const FIELDS: Fields<NatsDiscoverOptions> = {
  timeout: aPatience,
  identity: anObject,
  metadata: anObject,
};

export function checkedDiscover(options: NatsDiscoverOptions, prefix: string): NatsDiscoverOptions {
  return checkedOptions<NatsDiscoverOptions>(options, FIELDS, { prefix });
}

/** The list that the native side has collected. What workers send is validated. */
export function readDiscovery(text: string): NatsDiscovery {
  const { operations, workers } = JSON.parse(text) as { operations: unknown[]; workers: NatsWorkerInfo[] };
  return {
    workers,
    operations: operations.flatMap((found) => {
      const operation = readDescription(found);
      if (operation === undefined || !isRecord(found)) return [];
      const { operationId, workers } = found;
      if (!isString(operationId) || !isListOf(workers, isString)) return [];
      return [{ ...operation, operationId, workers: workers as string[] }];
    }),
  };
}
