// How programs are run for callers from outside.

import type { CodeCall, CodeLog, CodeRun } from "../code-types.js";
import { newId } from "../interop/host.js";
import { approvalClient, approvalClientIn, askClient } from "../registry/approval-client.js";
import type { OperationRegistry } from "../registry/registry.js";
import type { OperationContext } from "../types.js";
import type { SeenBy } from "./catalogue.js";

/** How a runner is asked to run a program for a caller who is not trusted. */
export const runFor: unique symbol = Symbol("runFor");

/** In the context of a call that a client of the stateless protocol makes again with its answers: what stays the same. */
export const repeatableCall: unique symbol = Symbol("repeatableCall");

export interface RepeatableCall {
  readonly key: string;
  readonly isAgain: boolean;
}

/** A program, or without `code` the id of a run that waits, and for whom. */
export interface ProgramRequest {
  readonly registry: OperationRegistry;
  readonly id: string;
  readonly code?: string | undefined;
  readonly input?: unknown;
  readonly context: OperationContext;
  readonly isOffered: SeenBy;
  onLog?(log: CodeLog): void;
  onCall?(call: CodeCall, index: number): void;
}

/**
 * What runs programs: `createCodeRunner` of `@alkdev/operations/code` makes one.
 *
 * @example
 * ```ts
 * const runner: ProgramRunner = createCodeRunner(registry);
 * const { tools } = toTools(registry, { target: "anthropic", identity, mode: "code", runner });
 * ```
 */
export interface ProgramRunner {
  /** @internal */
  [runFor](request: ProgramRequest): Promise<CodeRun>;
}

type Asking = Omit<ProgramRequest, "id"> & { readonly resume?: string | undefined };

/**
 * Runs a program. Where the client can be asked, it is, about each call that needs an approval; the run waits in its store meanwhile. A client
 * of the stateless protocol makes the call again with its answer: the run is found by its id, and nothing is repeated.
 */
export async function runAsking(
  runner: ProgramRunner,
  { resume, code, ...request }: Asking,
): Promise<CodeRun> {
  const {
    [approvalClient]: _,
    elicit,
    approve,
    ...rest
  } = request.context as OperationContext & {
    [approvalClient]?: unknown;
  };
  const client = approvalClientIn(request.context);
  const context: OperationContext = client === undefined ? request.context : rest;
  const call = (request.context as { [repeatableCall]?: RepeatableCall })[repeatableCall];
  const id = resume ?? call?.key ?? newId();
  const isNew = resume === undefined && call?.isAgain !== true;
  let run = await runner[runFor]({ ...request, context, id, ...(isNew && { code }) });
  const { approvals } = request.registry;
  const asked = new Set<string>();
  while (client !== undefined && run.status === "waiting") {
    const answers = (run.approvals ?? []).map(async ({ id: approval }) => {
      const stored = await approvals.get(approval);
      // What a peer wants approved cannot be decided here.
      if (asked.has(approval) || stored === undefined || stored.identity?.id !== context.identity?.id)
        return false;
      asked.add(approval);
      return (await askClient(approvals, client, stored, context)).status !== "pending";
    });
    const isDecided = await Promise.all(answers).catch(() => [false]);
    if (isDecided.includes(false)) break;
    run = await runner[runFor]({ ...request, context, id });
  }
  return run;
}

/** What a caller learns about a run. */
export function summaryOf({ id, status, data, error, logs, approvals }: CodeRun): object {
  return {
    ...{ id, status },
    ...(data !== undefined && { data }),
    ...(error !== undefined && { error }),
    ...(logs.length > 0 && { logs: logs.map(({ level, text }) => `${level}: ${text}`) }),
    ...(approvals !== undefined && { approvals }),
  };
}
