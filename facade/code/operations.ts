// A runner as operations of a registry: for doors, for other programs, and for the explorer, which has a page for them.

import { PushedEvents } from "../interop/pushed-events.js";
import { addTraits } from "../registry/handler-traits.js";
import type { OperationRegistry } from "../registry/registry.js";
import type { SearchedRegistry } from "../tools/catalogue.js";
import { checkProgram, PROGRAM, type Program } from "../tools/code-operations.js";
import { type ProgramRunner, runAsking, summaryOf } from "../tools/program-run.js";
import { mayCall } from "../tools/selection.js";
import { Type } from "../type-builder.js";
import {
  type AccessControl,
  type IOperationDefinition,
  type OperationContext,
  OperationType,
} from "../types.js";

/** `code.run`, `code.watch` and `code.signatures`. */
export function runnerOperations(
  runner: ProgramRunner,
  registry: OperationRegistry,
  searched: SearchedRegistry,
  accessControl: AccessControl,
): IOperationDefinition[] {
  const shared = { namespace: "code", version: "1.0.0", accessControl, outputSchema: Type.Unknown() };
  const base = (context: OperationContext) => ({ registry, context, isOffered: () => true });
  const run: IOperationDefinition = {
    ...shared,
    name: "run",
    type: OperationType.MUTATION,
    description: "Runs a program that calls operations, or continues one that waits for an approval.",
    inputSchema: PROGRAM,
    handler: async (given: Program, context: OperationContext) => {
      checkProgram(given);
      return summaryOf(await runAsking(runner, { ...given, ...base(context) }));
    },
  };
  const watch: IOperationDefinition = {
    ...shared,
    name: "watch",
    type: OperationType.SUBSCRIPTION,
    description: "Runs a program as code.run does, and reports each call, each line of its log, and its end.",
    inputSchema: PROGRAM,
    async *handler(given: Program, context: OperationContext) {
      checkProgram(given);
      const left = new AbortController();
      const leave = () => left.abort();
      context.signal?.addEventListener("abort", leave);
      const events = new PushedEvents<object>({ open: () => {}, close: leave });
      const request = { ...given, ...base({ ...context, signal: left.signal }) };
      const report = {
        onCall: (call: object, index: number) => events.push({ call: { index, ...call } }),
        onLog: (log: object) => events.push({ log }),
      };
      runAsking(runner, { ...request, ...report }).then(
        (ended) => {
          events.push({ run: { ...summaryOf(ended), usage: ended.usage } });
          events.end();
        },
        (error: unknown) => events.end({ error }),
      );
      yield* events;
    },
  };
  const signatures: IOperationDefinition = {
    ...shared,
    name: "signatures",
    type: OperationType.QUERY,
    description: "The TypeScript signatures of what the caller's programs can call.",
    inputSchema: Type.Object({
      budget: Type.Optional(
        Type.Integer({ minimum: 50, maximum: 100_000, description: "Tokens, 8,000 if left out" }),
      ),
    }),
    handler: ({ budget = 8_000 }: { budget?: number }, { identity }: OperationContext) =>
      searched.signatures({ budget }, (entry) => mayCall(entry, identity)),
  };
  const all = [run, watch, signatures];
  // A program that ran programs would have no limits.
  for (const { handler } of all) addTraits(handler, { isCatalogue: true });
  return all;
}
