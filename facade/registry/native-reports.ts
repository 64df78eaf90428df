// What the native side tells of calls that it has done without JavaScript, in batches
// (`crates/operations-core/src/registry/reports.rs`, `watched.rs`).

import type { TraceContext } from "../border/trace.js";
import { CallError } from "../errors.js";
import { unmetRule } from "./audit.js";
import type { Via } from "./protocol-context.js";
import type { AccessReport, CallReport } from "./watch-types.js";

/** What can be told, as the native side counts it. */
export const WANTS = { calls: 1, denials: 2, grants: 4, spans: 8, traces: 16, sampling: 32 } as const;

/** What spans are made of, beside the report. Their ids are chosen already: what the call sent on has named its parent. */
export interface NativeSpans {
  readonly traceId: string;
  /** The span of the call that came in. */
  readonly incoming: string;
  /** The span of the call that was sent on. */
  readonly outgoing: string;
  /** With which the call came. */
  readonly trace?: TraceContext;
  readonly via?: Via;
  /** When the call began, in Unix milliseconds with their fraction. */
  readonly startedAt: number;
  /** When the work began and ended, in milliseconds from there. Absent where it never began. */
  readonly worked?: readonly [began: number, ended: number];
  /** The URL of the request that was sent on, if it was one of HTTP. */
  readonly target?: string;
  /** Of an answer that came over HTTP. */
  readonly statusCode?: number;
  /** Whether there is an answer with something in it. */
  readonly hasData?: boolean;
}

interface ToldError {
  readonly code: string;
  readonly message: string;
  readonly details?: unknown;
}

/** What is the same of everything that is told here, or follows from what is told. */
type Known = "isServed" | "isNative";

interface ToldDecision extends Omit<AccessReport, Known | "isGranted" | "rule" | "reason"> {
  readonly rule?: string;
  readonly error?: ToldError;
}

interface ToldCall extends Omit<CallReport, Known | "outcome" | "code" | "error"> {
  readonly isToolError?: true;
  readonly error?: ToldError;
}

type Told =
  | [kind: 0, decision: ToldDecision]
  | [kind: 1, call: ToldCall, spans?: Omit<NativeSpans, "startedAt">];

/** Those who are told. */
interface Listening {
  decided(report: AccessReport): void;
  endedNatively(report: CallReport, spans: NativeSpans | undefined): void;
}

/** Hands the reports of a batch out. */
export function tellReports(batch: string, listening: Listening): { dropped: number; hasMore: boolean } {
  const [dropped, more, ...all] = JSON.parse(batch) as [number, number, ...Told[]];
  for (const told of all) {
    if (told[0] === 0) {
      listening.decided(decisionOf(told[1]));
    } else {
      const [, call, spans] = told;
      listening.endedNatively(reportOf(call), spans && { ...spans, startedAt: call.startedAt });
    }
  }
  return { dropped, hasMore: more === 1 };
}

function decisionOf({ rule, error, ...rest }: ToldDecision): AccessReport {
  const given = { ...rest, isServed: true, isNative: true };
  if (error === undefined) return { ...given, isGranted: true, rule: rule as string };
  return { ...given, isGranted: false, rule: unmetRule(errorOf(error)), reason: error.message };
}

function reportOf({ isToolError, error, ...rest }: ToldCall): CallReport {
  return {
    ...rest,
    startedAt: Math.floor(rest.startedAt),
    outcome: isToolError === true || error !== undefined ? "error" : "ok",
    ...(isToolError === true && { code: "TOOL_ERROR" }),
    ...(error !== undefined && { code: error.code, error: errorOf(error) }),
    isServed: true,
    isNative: true,
  };
}

function errorOf({ code, message, details }: ToldError): CallError {
  return new CallError(code, message, details);
}
