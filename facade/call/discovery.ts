// `discover` where many workers may answer: their number is not known, so answers are collected for a while.

import type { DiscoveredOperation } from "./described.js";
import type { Discover } from "./imports.js";

/** An operation, and the ids of the workers that serve it. */
export interface ServedOperation extends DiscoveredOperation {
  operationId: string;
  workers: string[];
}

interface Workers<Options> {
  /** The id of this connection. */
  readonly id: string;
  discover(options: Options): Promise<{ operations: ServedOperation[] }>;
}

/** How long answers are awaited, in milliseconds. */
export const DISCOVER_FOR = 300;
/** The same where a worker that was there seems to be gone. */
const DISCOVER_AGAIN_FOR = 1_500;
/** How often an import that follows the workers looks for those that have disappeared. In milliseconds. */
export const REDISCOVER_EVERY = 10_000;

/** `discover` for a registry that follows the workers. An answer can be late or lost, which must not remove operations: where
 * one is missing, it asks again, and waits longer. */
export function discoverReliably<Options extends { timeout?: number }>(
  { id: me, discover }: Workers<Options>,
  request: Options,
): Discover {
  let before = new Set<string>();
  // What we serve ourselves is nothing to import.
  const isOthers = ({ workers }: ServedOperation) => !workers.includes(me);
  return async () => {
    const found = new Map<string, ServedOperation>();
    const ask = async (options: Options) => {
      const { operations } = await discover(options);
      for (const operation of operations.filter(isOthers)) found.set(operation.operationId, operation);
    };
    await ask(request);
    const isMissing = (id: string) => !found.has(id);
    if ([...before].some(isMissing)) await ask({ ...request, timeout: DISCOVER_AGAIN_FOR });
    before = new Set(found.keys());
    return { operations: [...found.values()] };
  };
}
