import { CallError, InfrastructureErrorCode } from "../errors.js";
import { withoutLazySchemas } from "../schema/lazy.js";
import type { OperationSpec } from "../types.js";

/** A spec as JSON, for the native side. What JSON cannot say is left out, or said as text; schemas that are not
 * made yet are left out. */
export function specText(id: string, spec: OperationSpec): string {
  const made = withoutLazySchemas(spec, undefined);
  try {
    return JSON.stringify(made, plain);
  } catch {
    // Something in `_meta` refuses: a cycle, a getter that throws. Nobody on the native side needs it.
    const { _meta: _, ...rest } = made;
    return fieldByField(id, rest);
  }
}

/** The same, one field after the other, so that the one that refuses can be named. */
function fieldByField(id: string, spec: object): string {
  const fields: string[] = [];
  for (const [field, value] of Object.entries(spec)) {
    try {
      const text: string | undefined = JSON.stringify(value, plain);
      if (text !== undefined) fields.push(`${JSON.stringify(field)}:${text}`);
    } catch (error) {
      const reason = error instanceof Error ? error.message : "reading it threw";
      throw new CallError(
        InfrastructureErrorCode.VALIDATION_ERROR,
        `Cannot register operation ${id}: ${field}: it cannot be written as JSON: ${reason}`,
        { operationId: id, field, reason },
      );
    }
  }
  return `{${fields.join(",")}}`;
}

function plain(_: string, value: unknown): unknown {
  return typeof value === "bigint" ? value.toString() : value;
}
