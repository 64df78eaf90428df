// Code mode as three operations: `search`, `describe` and `run`, in place of one tool for each operation.

import { invalid } from "../errors.js";
import { addTraits } from "../registry/handler-traits.js";
import { OperationRegistry } from "../registry/registry.js";
import { Type } from "../type-builder.js";
import {
  type CallerIdentity,
  type IOperationDefinition,
  type OperationContext,
  OperationType,
} from "../types.js";
import { SearchedRegistry, type SeenBy } from "./catalogue.js";
import { operationsOf } from "./catalogue-operations.js";
import { type Include, mayCall, wantedBy } from "./selection.js";
import { isShown } from "./shown.js";

/** How a runner is asked to run a program for a caller who is not trusted. */
export const runFor: unique symbol = Symbol("runFor");

/** A program, or the id of a run that waits, and for whom. */
export interface ProgramRequest {
  readonly registry: OperationRegistry;
  readonly code?: string | undefined;
  readonly resume?: string | undefined;
  readonly input?: unknown;
  readonly context: OperationContext;
  readonly isOffered: SeenBy;
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
  [runFor](request: ProgramRequest): Promise<object>;
}

/** Tokens for signatures in the description of `run`. */
const DEFAULT_BUDGET = 2_000;
/** What a signature can be said in. */
const LEAST_BUDGET = 50;
/** Characters for the names of namespaces. */
const MAX_NAMES = 2_000;

const HOW = `Runs a JavaScript or TypeScript program, the body of an async function: its return value, which must be JSON, is the result. In it, await operations["<namespace>.<name>"](input), or <namespace>.<name>(input) for short, calls an operation, gives its data, and throws an error with code, message and details; a subscription is read with for await. Also: search(query), describe(id), input, console. No network, files or timers. If it answers "waiting", a person must approve: call it later with resume.`;

export interface CodeTools {
  readonly runner: ProgramRunner;
  readonly namespace: string;
  /** For whom descriptions are written, and calls are made that come without an identity. */
  readonly identity?: CallerIdentity | undefined;
  readonly isOffered: SeenBy;
  readonly budget?: number | undefined;
  /** The longest description. */
  readonly limit?: number;
}

/** `search`, `describe` and `run` over a registry as it is now. */
export function codeOperations(
  registry: OperationRegistry,
  {
    runner,
    namespace,
    identity,
    isOffered,
    budget = DEFAULT_BUDGET,
    limit = Number.POSITIVE_INFINITY,
  }: CodeTools,
): IOperationDefinition[] {
  const searched = new SearchedRegistry(registry);
  const isSeen: SeenBy = (entry) => isOffered(entry) && mayCall(entry, identity);
  const [search, describe] = operationsOf(searched, registry, identity, namespace, isOffered);
  const run: IOperationDefinition = {
    namespace,
    name: "run",
    version: "1.0.0",
    type: OperationType.MUTATION,
    accessControl: { requiredScopes: [] },
    description: description(registry, searched, isSeen, budget, limit),
    inputSchema: Type.Object({
      code: Type.Optional(Type.String({ description: "The program" })),
      input: Type.Optional(Type.Unknown({ description: "JSON that the program reads as input" })),
      resume: Type.Optional(Type.String({ description: "Instead of code: the id of a run that waits" })),
    }),
    outputSchema: Type.Unknown(),
    handler: (
      { code, resume, input }: { code?: string; resume?: string; input?: unknown },
      given: OperationContext,
    ) => {
      if ((code === undefined) === (resume === undefined)) throw invalid("run: give either code or resume");
      const context = { ...given, identity: given.identity ?? identity } as OperationContext;
      return runner[runFor]({ registry, code, resume, input, context, isOffered });
    },
  };
  addTraits(run.handler, { isCatalogue: true });
  return [search, describe, run];
}

/** Every namespace first, then the signatures for which there is room. */
function description(
  registry: OperationRegistry,
  searched: SearchedRegistry,
  isSeen: SeenBy,
  budget: number,
  limit: number,
): string {
  const counts = new Map<string, number>();
  for (const entry of registry.entries()) {
    if (!isShown(entry) || !isSeen(entry)) continue;
    counts.set(entry.spec.namespace, (counts.get(entry.spec.namespace) ?? 0) + 1);
  }
  const room = Math.min(MAX_NAMES, limit - HOW.length - 100);
  let names = "";
  let left = counts.size;
  for (const [name, count] of [...counts].sort(([one], [other]) => (one < other ? -1 : 1))) {
    const more = `${names === "" ? "" : ", "}${name} (${count})`;
    if (names.length + more.length > room) break;
    names += more;
    left -= 1;
  }
  const head = `${HOW}\nNamespaces with their operations: ${names || "see search"}${left > 0 ? `, and ${left} more` : ""}.`;
  const tokens = Math.min(budget, Math.floor((limit - head.length) / 4));
  if (counts.size === 0 || tokens < LEAST_BUDGET) return head;
  const whole = `${head}\n\n${searched.signatures({ budget: tokens }, isSeen)}`;
  return whole.length <= limit ? whole : head;
}

/** A registry with the three alone, for tools. */
export function codeRegistry(
  registry: OperationRegistry,
  { include, ...more }: Omit<CodeTools, "isOffered" | "namespace"> & { include?: Include | undefined },
): OperationRegistry {
  const wanted = wantedBy(include);
  const isOffered: SeenBy = ({ id, spec }) => wanted(id, spec);
  const three = new OperationRegistry();
  three.registerAll(codeOperations(registry, { ...more, namespace: "code", isOffered }));
  return three;
}
