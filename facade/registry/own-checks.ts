// Operations whose schemas another library than TypeBox checks (Zod, Valibot, ArkType, ...): the handler gets what the
// library made of the input, and the caller what it made of the output. A library may have to wait for its answer; where
// it need not, nothing here waits either.

import type { ResponseEnvelope } from "../envelope.js";
import { errorsOf, type Validate, type Validated } from "../schema/standard.js";
import { validationError } from "../schema/validation.js";
import type { OperationContext, OperationHandler } from "../types.js";
import { admit, refuseEnded } from "./admit.js";
import type { Entry, OutputMode, OwnChecks, RegistryMode } from "./entry.js";
import {
  envelopeOf,
  failedCheck,
  hasDeclaredData,
  modeOf,
  noted,
  refusal,
  withData,
  wrapped,
} from "./output.js";
import { LEFT, MISMATCH, warnAboutOutput } from "./warnings.js";

type Soon<T> = T | Promise<T>;

/** Calls an operation whose caller may call it. */
export function callWithOwnChecks(
  entry: Entry,
  own: OwnChecks,
  handler: OperationHandler,
  input: unknown,
  context: OperationContext,
  mode: RegistryMode,
): Promise<ResponseEnvelope> {
  const run = async (value: unknown): Promise<ResponseEnvelope> => {
    refuseEnded(entry, context);
    return ownEnvelope(entry, own, await handler(value, context), mode);
  };
  const admitted = admitWithOwnChecks(entry, own, input);
  return admitted instanceof Promise ? admitted.then(run) : run(admitted);
}

/** What the handler gets; throws if the input is not let in. */
export function admitWithOwnChecks(entry: Entry, own: OwnChecks, input: unknown): Soon<unknown> {
  if (own.input === undefined) {
    admit(entry, input);
    return input;
  }
  if (!entry.prepared) entry.prepare();
  const accept = (checked: Validated): unknown => {
    if (checked.issues === undefined) return checked.value;
    throw validationError(errorsOf(checked.issues), `input of operation ${entry.id}`);
  };
  return after(own.input(input), accept);
}

/** What the caller gets. */
function ownEnvelope(
  entry: Entry,
  own: OwnChecks,
  result: unknown,
  registryMode: RegistryMode,
): Soon<ResponseEnvelope> {
  if (own.output === undefined) return envelopeOf(entry, result, registryMode);
  const envelope = wrapped(entry, result, registryMode);
  if (!hasDeclaredData(envelope)) return envelope;
  const fail = (error: unknown) => failedCheck(entry, envelope, error, registryMode);
  try {
    const made = shaped(entry, own.output, envelope, modeOf(entry, registryMode));
    return made instanceof Promise ? made.catch(fail) : made;
  } catch (error) {
    return fail(error);
  }
}

/** What the library makes of an output. One that it refuses is brought into the declared shape by the JSON Schema, as any
 * other output would be, and shown to the library once more; if it still refuses, that is reported. */
function shaped(
  entry: Entry,
  validate: Validate,
  envelope: ResponseEnvelope,
  mode: OutputMode,
): Soon<ResponseEnvelope> {
  const { data } = envelope;
  if (mode === "off") {
    return after(validate(data), ({ issues }) => {
      if (issues === undefined) return envelope;
      const errors = errorsOf(issues);
      warnAboutOutput(entry.id, errors, LEFT);
      return noted(envelope, errors);
    });
  }
  // What a library returns lacks the properties that are not declared, so it is of no use to those who want them kept.
  if (mode === "keep") return repaired(entry, validate, envelope, mode);
  return after(validate(data), (checked) =>
    checked.issues === undefined
      ? replaced(envelope, checked.value)
      : repaired(entry, validate, envelope, mode, checked),
  );
}

function repaired(
  entry: Entry,
  validate: Validate,
  envelope: ResponseEnvelope,
  mode: "normalise" | "keep" | "strict",
  before?: Validated,
): Soon<ResponseEnvelope> {
  const { data } = envelope;
  const keep = mode === "keep";
  const schema = keep ? entry.output : entry.returned;
  const { value, notes } = schema?.shape(data, mode) ?? { value: data, notes: [] };
  const checked = value === data && before !== undefined ? before : validate(value);
  return after(checked, (outcome) => {
    const issues = outcome.issues === undefined ? [] : errorsOf(outcome.issues);
    // The library's own word counts: what it accepts is not refused.
    if (mode === "strict" && issues.length > 0) throw refusal(entry, envelope, issues);
    const all = mode === "strict" ? [] : [...notes, ...issues];
    if (all.length > 0) warnAboutOutput(entry.id, all, MISMATCH);
    return noted(replaced(envelope, outcome.issues === undefined && !keep ? outcome.value : value), all);
  });
}

function replaced(envelope: ResponseEnvelope, data: unknown): ResponseEnvelope {
  return data === envelope.data ? envelope : withData(envelope, data);
}

function after<T, R>(value: Soon<T>, then: (value: T) => Soon<R>): Soon<R> {
  return value instanceof Promise ? value.then(then) : then(value);
}

/** What a subscription's handler yields, as envelopes; anything that is no stream as it is. */
export function ownStream(entry: Entry, own: OwnChecks, source: unknown, mode: RegistryMode): unknown {
  const make: unknown = (source as Partial<AsyncIterable<unknown>> | null | undefined)?.[
    Symbol.asyncIterator
  ];
  if (typeof make !== "function") return source;
  return {
    [Symbol.asyncIterator]() {
      const iterator = make.call(source) as AsyncIterator<unknown>;
      return {
        async next() {
          const step = await iterator.next();
          if (step.done === true) return step;
          return { done: false, value: await ownEnvelope(entry, own, step.value, mode) };
        },
        return: async () => iterator.return?.(),
      };
    },
  };
}
