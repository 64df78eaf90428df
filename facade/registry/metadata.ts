// `metadata` of a call: data for handlers, of which the package reads a few members itself.

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
  return typeof approval === "string" ? { ...metadata, [APPROVAL_KEY]: approval } : metadata;
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
  const allowed = allowedMembers.get(metadata);
  if (allowed !== undefined) restrictMetadata(rest, allowed);
  copy.metadata = rest;
  return copy;
}
