// `metadata` of a call: data for handlers, of which the package reads a few members itself.

import { invalid } from "../errors.js";
import { nearestName } from "../interop/nearest-name.js";
import { optionOf } from "../interop/options.js";
import { type PrivateField, privateField } from "../interop/private-field.js";
import type { OperationContext } from "../types.js";

/** Metadata that came over a wire, and the members of it that may steer the package. */
const allowedMembers: PrivateField<object, ReadonlySet<string>> = privateField();

export function restrictMetadata(metadata: object, allowed: ReadonlySet<string>): void {
  allowedMembers.set(metadata, allowed);
}

/** A member of a call's metadata that steers how the package makes the call; `undefined` if the caller may not set it. */
export function steering({ metadata }: OperationContext, name: string): unknown {
  if (typeof metadata !== "object" || metadata === null) return undefined;
  return allowedMembers.get(metadata)?.has(name) === false ? undefined : optionOf(metadata, name);
}

/** The member of `metadata` that carries the id of an approval (`crates/operations-core/src/registry/handler.rs`). */
export const APPROVAL_KEY = "operations/approval";

/** The approval that a caller names. */
export function approvalIn({ approval, metadata }: OperationContext): unknown {
  if (approval !== undefined) return approval;
  return typeof metadata === "object" && metadata !== null ? optionOf(metadata, APPROVAL_KEY) : undefined;
}

/** The metadata for a peer: an approval that was not used here may be one of there. */
export function metadataWithApproval({ approval, metadata }: OperationContext): OperationContext["metadata"] {
  if (typeof approval !== "string") return metadata;
  return restrictedAs(metadata, { ...metadata, [APPROVAL_KEY]: approval });
}

/** A copy of metadata, which steers no more than it did. */
function restrictedAs<T extends object>(metadata: object | undefined, copy: T): T {
  const allowed = metadata && allowedMembers.get(metadata);
  if (allowed !== undefined) restrictMetadata(copy, allowed);
  return copy;
}

/** A copy of a context whose approval is used up: what the handler calls asks for itself. */
export function withoutApproval(context: OperationContext): OperationContext {
  const copy: OperationContext = Object.create(
    Object.getPrototypeOf(context),
    Object.getOwnPropertyDescriptors(context),
  );
  delete copy.approval;
  const { metadata } = context;
  if (typeof metadata !== "object" || metadata === null || !Object.hasOwn(metadata, APPROVAL_KEY))
    return copy;
  const { [APPROVAL_KEY]: _, ...rest } = metadata;
  copy.metadata = restrictedAs(metadata, rest);
  return copy;
}

/** What the package reads in it. */
const KEYS = ["headers", "lastEventId", "resetTimeoutOnProgress", "timeout"];
/** Keys that were found to be none of these, and no slip either. */
const others = new Set<string>(KEYS);
const MAX_OTHERS = 1_000;

/** Refuses keys that are one slip away from those that the package reads. What came over a wire is data, whatever it is called. */
export function refuseMisspelt(operationId: string, metadata: object): void {
  if (allowedMembers.get(metadata) !== undefined) return;
  for (const key of Object.keys(metadata)) {
    if (others.has(key)) continue;
    const nearest = /[^\w-]/.test(key) ? undefined : nearestName(key, KEYS);
    if (nearest !== undefined) {
      throw invalid(
        `The call of ${operationId} was refused: metadata.${key}: Unknown key. Did you mean ${nearest}?`,
        { operationId, key, nearest, delivery: "none" },
      );
    }
    if (others.size < MAX_OTHERS) others.add(key);
  }
}
