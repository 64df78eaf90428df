// Operations that are not there, and the id that somebody probably meant.

import { textOf } from "../border/text.js";
import { CallError, InfrastructureErrorCode } from "../errors.js";

/** There is no such operation; of those that the caller may know about, one may be near. */
export function operationNotFound(operationId: unknown, ids: readonly string[]): CallError {
  const nearest = nearestId(operationId, ids);
  const message = `Operation not found: ${textOf(operationId)}`;
  return nearest === undefined
    ? new CallError(InfrastructureErrorCode.OPERATION_NOT_FOUND, message, { operationId })
    : new CallError(InfrastructureErrorCode.OPERATION_NOT_FOUND, `${message}. Did you mean ${nearest}?`, {
        operationId,
        nearest,
      });
}

/** Whether the error names an operation that is near. */
export function isNear({ details }: CallError): boolean {
  return (details as { nearest?: string }).nearest !== undefined;
}

/** Longer ids are not compared: they come from somewhere else than a keyboard. */
const MAX_LENGTH = 200;

/** The registered id that is nearest to one that is not there, if any is near. */
function nearestId(wanted: unknown, ids: readonly string[]): string | undefined {
  if (typeof wanted !== "string" || wanted === "" || wanted.length > MAX_LENGTH) return undefined;
  // A third of a short id, or more of a long one, is another word.
  let best = Math.min(3, Math.floor(wanted.length / 4)) + 1;
  let nearest: string | undefined;
  const plain = simplified(wanted);
  for (const id of ids) {
    const distance = plain === simplified(id) ? 0 : distanceBelow(best, wanted, id);
    if (distance < best) {
      best = distance;
      nearest = id;
    }
  }
  return nearest ?? withNamespace(wanted, ids);
}

/** `Demo/greet`, `demo_greet` and `demo.greet` are one word to people. */
function simplified(id: string): string {
  return id.toLowerCase().replaceAll(/[^a-z0-9]+/g, ".");
}

/** The only id of this name, where the namespace was forgotten. */
function withNamespace(name: string, ids: readonly string[]): string | undefined {
  const found = ids.filter((id) => id.endsWith(`.${name}`));
  return found.length === 1 ? found[0] : undefined;
}

/** How many characters have to be added, removed, replaced or swapped with their neighbour; `limit` if that many. */
function distanceBelow(limit: number, from: string, to: string): number {
  if (Math.abs(from.length - to.length) >= limit) return limit;
  let beforeLast: number[] = [];
  let last = Array.from({ length: to.length + 1 }, (_, column) => column);
  for (let i = 1; i <= from.length; i++) {
    const row = [i];
    for (let j = 1; j <= to.length; j++) {
      const at = (list: number[], column: number) => list[column] ?? limit;
      const replaced = at(last, j - 1) + (from[i - 1] === to[j - 1] ? 0 : 1);
      let cost = Math.min(at(last, j) + 1, at(row, j - 1) + 1, replaced);
      if (i > 1 && j > 1 && from[i - 1] === to[j - 2] && from[i - 2] === to[j - 1]) {
        cost = Math.min(cost, at(beforeLast, j - 2) + 1);
      }
      row.push(cost);
    }
    if (Math.min(...row) >= limit) return limit;
    beforeLast = last;
    last = row;
  }
  return Math.min(limit, last[to.length] ?? limit);
}
