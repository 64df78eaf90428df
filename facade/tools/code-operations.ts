// Code mode as three operations: `search`, `describe` and `run`, in place of one tool for each operation.

import { invalid } from "../errors.js";
import { addTraits } from "../registry/handler-traits.js";
import { OperationRegistry } from "../registry/registry.js";
import { Type } from "../type-builder.js";
import {
  type CallerIdentity,
  type Identity,
  type IOperationDefinition,
  type OperationContext,
  OperationType,
} from "../types.js";
import { SearchedRegistry, type SeenBy } from "./catalogue.js";
import { operationsOf } from "./catalogue-operations.js";
import { type ProgramRunner, runAsking, summaryOf } from "./program-run.js";
import { type Include, includeFilter, mayCall } from "./selection.js";
import { isShown } from "./shown.js";

/** Tokens for signatures in the description of `run`. */
const DEFAULT_BUDGET = 2_000;
/** What a signature can be said in. */
const LEAST_BUDGET = 50;
/** Characters for the names of namespaces. */
const MAX_NAMES = 2_000;

const HOW = `Runs a JavaScript or TypeScript program, the body of an async function: its return value, which must be JSON, is the result. In it, await operations["<namespace>.<name>"](input), or <namespace>.<name>(input) for short, calls an operation, gives its data, and throws an error with code, message and details; a subscription is read with for await. Also: search(query), describe(id), input, console. No network, files or timers. If it answers "waiting", a person must approve: call it later with resume.`;

/** What a run is asked for: a program, or a run that waits. */
export interface Program {
  readonly code?: string;
  readonly input?: unknown;
  readonly resume?: string;
}

export const PROGRAM = Type.Object({
  code: Type.Optional(Type.String({ description: "The program" })),
  input: Type.Optional(Type.Unknown({ description: "JSON that the program reads as input" })),
  resume: Type.Optional(Type.String({ description: "Instead of code: the id of a run that waits" })),
});

export function checkProgram({ code, resume }: Program): void {
  if ((code === undefined) === (resume === undefined)) throw invalid("run: give either code or resume");
}

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
    inputSchema: PROGRAM,
    outputSchema: Type.Unknown(),
    handler: async (given: Program, context: OperationContext) => {
      checkProgram(given);
      const caller = context.identity ?? (identity as Identity | undefined);
      const forCaller = { ...context, ...(caller !== undefined && { identity: caller }) };
      return summaryOf(await runAsking(runner, { ...given, registry, isOffered, context: forCaller }));
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
  const wanted = includeFilter(include);
  const isOffered: SeenBy = ({ id, spec }) => wanted(id, spec);
  const three = new OperationRegistry();
  three.registerAll(codeOperations(registry, { ...more, namespace: "code", isOffered }));
  return three;
}
