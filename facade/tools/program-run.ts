// How programs are run for callers from outside.

import type { CodeCall, CodeLog, CodeRun } from "../code-types.js";
import { newId } from "../interop/host.js";
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

/** Characters of an input that a person is shown. */
const MOST_SHOWN = 4_000;

/**
 * Runs a program. Where the client can be asked, it is, about each call that needs an approval; the run waits in its store meanwhile. A client
 * of the stateless protocol makes the call again with its answer: the run is found by its id, and nothing is repeated.
 */
export async function runAsking(
  runner: ProgramRunner,
  { resume, code, ...request }: Asking,
): Promise<CodeRun> {
  const { elicit, approve, ...rest } = request.context;
  const context: OperationContext = elicit === undefined ? request.context : rest;
  const call = (request.context as { [repeatableCall]?: RepeatableCall })[repeatableCall];
  const id = resume ?? call?.key ?? newId();
  const isNew = resume === undefined && call?.isAgain !== true;
  let run = await runner[runFor]({ ...request, context, id, ...(isNew && { code }) });
  const { approvals } = request.registry;
  const asked = new Set<string>();
  while (elicit !== undefined && run.status === "waiting") {
    const answers = (run.approvals ?? []).map(async ({ id: approval }) => {
      const stored = await approvals.get(approval);
      // What a peer wants approved cannot be decided here, and nothing is decided but what the person sees.
      if (asked.has(approval) || stored === undefined || stored.identity?.id !== context.identity?.id)
        return false;
      asked.add(approval);
      const text = JSON.stringify(stored.input) ?? "no input";
      const shown =
        text.length > MOST_SHOWN ? `${text.slice(0, MOST_SHOWN)}… (${text.length} characters)` : text;
      const message = `A program wants to call ${stored.operationId} with ${shown}. Do you approve?`;
      const { action } = await elicit({ message }, { key: `approval-${approval}` });
      if (action === "cancel") return false;
      const by = context.identity === undefined ? {} : { by: context.identity };
      // It may be decided by now.
      await approvals.decide(approval, { approve: action === "accept", ...by }).catch(() => undefined);
      return true;
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
