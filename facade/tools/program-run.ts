// How programs are run for callers from outside.

import type { CodeCall, CodeLog, CodeRun } from "../code/types.js";
import { newId } from "../interop/host.js";
import type { OperationRegistry } from "../registry/registry.js";
import type { OperationContext } from "../types.js";
import type { SeenBy } from "./catalogue.js";

/** How a runner is asked to run a program for a caller who is not trusted. */
export const runFor: unique symbol = Symbol("runFor");

/** A function of a context: keeps the first value that it is given while a client of the stateless protocol answers, which makes the same
 * call again. Only where there is such a client. */
export const keepFirst: unique symbol = Symbol("keepFirst");

/** A program, or without `code` the id of a run that waits, and for whom. */
export interface ProgramRequest {
  readonly registry: OperationRegistry;
  readonly id: string;
  readonly code?: string | undefined;
  readonly input?: unknown;
  readonly context: OperationContext;
  readonly isOffered: SeenBy;
  /** What was decided about approvals, by their ids. */
  readonly decisions?: Readonly<Record<string, boolean>>;
  onLog?(log: CodeLog): void;
  onCall?(call: CodeCall): void;
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

type Asking = Omit<ProgramRequest, "id" | "decisions"> & { readonly resume?: string | undefined };

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
  const fresh = newId();
  const keep = (request.context as { [keepFirst]?: (value: string) => Promise<string> })[keepFirst];
  const id = resume ?? (keep === undefined ? fresh : await keep(fresh));
  let run = await runner[runFor]({ ...request, context, id, ...(id === fresh && { code }) });
  const asked = new Set<string>();
  while (elicit !== undefined && run.status === "waiting") {
    const approvals = run.approvals ?? [];
    // What a peer wants approved cannot be decided here.
    if (approvals.some((each) => asked.has(each.id))) break;
    const answers = approvals.map(async ({ id: approval, operationId, input }) => {
      asked.add(approval);
      const text = JSON.stringify(input) ?? "no input";
      const shown =
        text.length > MOST_SHOWN ? `${text.slice(0, MOST_SHOWN)}… (${text.length} characters)` : text;
      const message = `A program wants to call ${operationId} with ${shown}. Do you approve?`;
      const answer = await elicit({ message }, { key: `approval-${approval}` });
      return [approval, answer.action] as const;
    });
    const given = await Promise.all(answers).catch(() => undefined);
    if (given === undefined || given.some(([, action]) => action === "cancel")) break;
    const decisions = Object.fromEntries(given.map(([approval, action]) => [approval, action === "accept"]));
    run = await runner[runFor]({ ...request, context, id, decisions });
  }
  return run;
}

/** What a caller is told of a run. */
export function summaryOf({ id, status, data, error, logs, approvals }: CodeRun): object {
  return {
    ...{ id, status },
    ...(data !== undefined && { data }),
    ...(error !== undefined && { error }),
    ...(logs.length > 0 && { logs: logs.map(({ level, text }) => `${level}: ${text}`) }),
    ...(approvals !== undefined && { approvals }),
  };
}
