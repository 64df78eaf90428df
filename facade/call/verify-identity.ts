// The identity in a message is a claim. An application that can verify it (a token, a signature) decides whether it holds.

import { accessDenied } from "../access.js";
import { CallError, InfrastructureErrorCode } from "../errors.js";
import { isRecord } from "../interop/options.js";
import { messageOf } from "../interop/text.js";
import { logger } from "../logging.js";
import { identityIn } from "../registry/authorise.js";
import type { Identity } from "../types.js";
import type { CallRequestedEvent } from "./events.js";
import { isIdentity } from "./incoming.js";

/**
 * The request that claims an identity.
 *
 * @example
 * ```ts
 * const tokenOf = ({ metadata }: IdentityMessage) => String(metadata?.token);
 * ```
 */
export interface IdentityMessage extends Readonly<Omit<CallRequestedEvent, "identity">> {
  /** Over NATS: the connection that claims to have sent the request (`inbox` and a unique name). */
  readonly from?: string;
}

/**
 * The result of `verifyIdentity`: `true` accepts the claim, `false` refuses the call, an identity replaces the claim,
 * and `undefined` means that the caller has no identity.
 *
 * @example
 * ```ts
 * const answer: VerifiedIdentity = { id: "ada", scopes: ["tasks:read"] };
 * ```
 */
export type VerifiedIdentity = Identity | boolean | undefined | null;

/**
 * Checks the identity that a request claims. If it throws, the call is refused.
 *
 * @example
 * ```ts
 * const sessions = new Map<unknown, Identity>();
 * const verifyIdentity: VerifyIdentity = async (_, { metadata }) => sessions.get(metadata?.token) ?? false;
 * ```
 */
export type VerifyIdentity = (
  identity: Identity | undefined,
  message: IdentityMessage,
) => VerifiedIdentity | Promise<VerifiedIdentity>;

const log = logger("call");

/** The caller, as the application decides. Throws `ACCESS_DENIED` if it refuses, or returns something invalid. */
export async function verifiedIdentity(
  verify: VerifyIdentity,
  request: CallRequestedEvent,
): Promise<Identity | undefined> {
  const { identity: _, ...message } = request;
  const claimed = identityIn(request);
  const { operationId, requestId } = request;
  let answer: unknown;
  try {
    answer = await verify(claimed, message);
  } catch (error) {
    // Chosen by the application, for the caller. What else it threw may hold secrets.
    if (error instanceof CallError && error.code === InfrastructureErrorCode.ACCESS_DENIED) throw error;
    log.warn(`verifyIdentity failed for a call of ${operationId}: ${messageOf(error)}`, {
      operationId,
      requestId,
    });
    throw refused(operationId);
  }
  if (answer === true) return claimed;
  if (answer === undefined || answer === null) return undefined;
  if (isIdentity(answer)) return answer;
  if (answer !== false) {
    log.error("verifyIdentity must answer with true, false, an identity or undefined: the call was refused", {
      operationId,
      requestId,
    });
  }
  throw refused(operationId);
}

/** The operation id that `verifyIdentity` gets when a peer lists what it may call. */
const DISCOVER = "hub.discover";

/** The identity of a peer that lists operations: as claimed, or as the application decides. Throws if it is refused. */
export async function verifiedAsker(
  verify: VerifyIdentity | undefined,
  requestId: string,
  claim: { readonly identity?: unknown; readonly metadata?: unknown },
): Promise<Identity | undefined> {
  const identity = isIdentity(claim.identity) ? claim.identity : undefined;
  if (verify === undefined) return identity;
  return verifiedIdentity(verify, {
    requestId,
    operationId: DISCOVER,
    input: undefined,
    ...(identity !== undefined && { identity }),
    ...(isRecord(claim.metadata) && { metadata: claim.metadata }),
  });
}

function refused(operationId: string): CallError {
  return accessDenied(operationId, {
    reason: "the identity of the caller could not be verified",
    details: { reason: "identity-refused" },
  });
}
