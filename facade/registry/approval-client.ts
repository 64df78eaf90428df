// Asking the client of a call for an approval, where a person may be behind it.

import type { OperationContext } from "../types.js";
import type { Approval } from "./approval-types.js";
import type { ApprovalRequests, Approvals } from "./approvals.js";
import { identityIn } from "./authorise.js";

/** In the context of a served call: how its client is asked. Copies of the context have it too, so that nested calls can ask. */
export const approvalClient: unique symbol = Symbol("@alkdev/operations: the client that can be asked");

export interface ApprovalClient {
  /** The ids of requests that it has answered: a client of a stateless protocol makes its call again with its answers. */
  readonly answered: readonly string[];
  /** Resolves to its answer, or to `undefined`: it has none, or `decided` has resolved. Meanwhile, the call holds no permit. */
  ask(approval: Approval, decided: Promise<void>): Promise<boolean | undefined>;
}

/** In the context of a call that a person has approved before it was made: for that call alone, and once. */
export const approvedCall: unique symbol = Symbol("@alkdev/operations: an approved call");

export interface ApprovedCall {
  readonly operationId: string;
  /** Canonical. */
  readonly input: string;
  isUsed: boolean;
}

interface Marked {
  readonly [approvalClient]?: ApprovalClient;
  readonly [approvedCall]?: ApprovedCall;
}

export function approvalClientIn(context: OperationContext): ApprovalClient | undefined {
  return (context as Marked)[approvalClient];
}

/** Whether this call, and no other, was approved before it was made. */
export function takeApproved(context: OperationContext, operationId: string, input: string): boolean {
  const call = (context as Marked)[approvedCall];
  if (call === undefined || call.isUsed || call.operationId !== operationId || call.input !== input)
    return false;
  call.isUsed = true;
  return true;
}

/** What remains of the time of a call for its answer, when a client that has not answered is waited for no longer, in ms. */
const TIME_TO_ANSWER = 1_000;

/** Has the client of a call decide about a request, if it may. Resolves to how the request then stands. */
export async function askClient(
  all: Approvals,
  client: ApprovalClient,
  approval: Approval,
  context: OperationContext,
): Promise<Approval> {
  const approvals = all as ApprovalRequests;
  const { id } = approval;
  const identity = identityIn(context);
  if (!(await approvals.mayAnswer(identity, approval))) return approval;
  const { deadline = Number.POSITIVE_INFINITY, signal } = context;
  const { decided, stop } = approvals.whenDecided(id, signal, deadline - TIME_TO_ANSWER);
  try {
    const approve = await client.ask(approval, decided);
    const by = identity === undefined ? {} : { by: identity };
    // It may be decided by now.
    if (approve !== undefined) await approvals.decide(id, { approve, ...by }).catch(() => undefined);
  } finally {
    stop();
  }
  return (await approvals.get(id)) ?? approval;
}

/** Characters of an input that a person can be expected to read before an answer. */
const MAX_SHOWN = 8_000;

/** The call in full; `undefined` if it is too long: nothing is decided but what the person sees. */
export function callInWords({ operationId, input }: Approval): string | undefined {
  const text = input === undefined ? "no input" : JSON.stringify(input);
  // Characters that are not seen, or that reorder others, could hide what is in it.
  const shown = text.replace(/[\p{Cf}\p{Zl}\p{Zp}]/gu, (found) =>
    Array.from(
      { length: found.length },
      (_, i) => `\\u${found.charCodeAt(i).toString(16).padStart(4, "0")}`,
    ).join(""),
  );
  return shown.length > MAX_SHOWN ? undefined : `${operationId} with ${shown}`;
}
