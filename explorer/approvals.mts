// Requests for approvals, as the HTTP door has them, and their words. No DOM: tested without a browser.

import type { Listed } from "./search.mjs";
import { visible } from "./text.mjs";

/** A call that needs a person, and what was decided about it. */
export interface Approval {
  readonly id: string;
  readonly operationId: string;
  readonly input?: unknown;
  readonly identity?: { readonly id: string };
  readonly status: "pending" | "approved" | "denied" | "used" | "expired";
  readonly expires: number;
  readonly by?: { readonly id: string };
  readonly reason?: string;
  readonly decidedAt?: number;
  readonly mayDecide: boolean;
}

/** The approval that a call was answered with, in the place of a result. */
export function requestedIn(status: number, body: unknown): string | undefined {
  const id = status === 202 ? Object(Object(body).approval).id : undefined;
  return typeof id === "string" ? id : undefined;
}

/** The approvals that calls of this page wait for: the same call, made again, names its approval. */
export class NamedApprovals {
  readonly #ids = new Map<string, string>();

  static #key({ namespace, name }: Listed, body: string | undefined): string {
    return JSON.stringify([namespace, name, body ?? ""]);
  }

  of(operation: Listed, body: string | undefined): string | undefined {
    return this.#ids.get(NamedApprovals.#key(operation, body));
  }

  set(operation: Listed, body: string | undefined, id: string | undefined): void {
    const key = NamedApprovals.#key(operation, body);
    if (id === undefined) this.#ids.delete(key);
    else this.#ids.set(key, id);
  }
}

/** How many of them the caller can decide. */
export function waitingFor(approvals: readonly Approval[]): number {
  return approvals.filter(({ status, mayDecide }) => status === "pending" && mayDecide).length;
}

/** Exactly what the call would be made with: all of it, and nothing that cannot be seen. */
export function inputText(input: unknown): string {
  const text = input === undefined ? "(no input)" : JSON.stringify(input, null, 2);
  return text.split("\n").map(visible).join("\n");
}

/** Who wants it, or who decided what, and why. */
export function storyOf({ identity, status, by, reason, expires, decidedAt }: Approval, now: number): string {
  const who = visible(identity?.id ?? "an anonymous caller");
  const minutes = Math.max(1, Math.ceil((expires - now) / 60_000));
  if (status === "pending") return `${who} wants to call it. The request expires in ${minutes} min.`;
  if (status === "expired" && decidedAt === undefined)
    return `${who} wanted to call it. It was not decided in time.`;
  const decided = `${status === "denied" ? "Denied" : "Approved"} by ${by === undefined ? "the host" : visible(by.id)}`;
  const why = reason === undefined ? "" : `: ${visible(reason)}`;
  const end = {
    approved: " It was not called yet.",
    used: " It was called.",
    expired: " It was not called in time.",
  };
  return `${who} wanted to call it. ${decided}${why}.${end[status as "used"] ?? ""}`;
}
