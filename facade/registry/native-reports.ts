// Reports of calls that the native side has done without JavaScript, in batches
// (`crates/operations-core/src/registry/reports.rs`, `watched.rs`).

import { CallError } from "../errors.js";
import type { TraceContext } from "../interop/trace.js";
import { unmetRule } from "./audit.js";
import type { Via } from "./call.js";
import type { AccessReport, CallReport } from "./observer-types.js";

/** What can be reported, as bits. */
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

interface ReportedError {
  readonly code: string;
  readonly message: string;
  readonly details?: unknown;
}

/** What is the same in every report. */
type Known = "isServed" | "isNative";

interface ReportedDecision extends Omit<AccessReport, Known | "isGranted" | "rule" | "reason"> {
  readonly rule?: string;
  readonly error?: ReportedError;
}

interface ReportedCall extends Omit<CallReport, Known | "outcome" | "code" | "error"> {
  readonly isToolError?: true;
  readonly error?: ReportedError;
}

type Report =
  | [kind: 0, decision: ReportedDecision]
  | [kind: 1, call: ReportedCall, spans?: Omit<NativeSpans, "startedAt">];

interface ReportListener {
  decided(report: AccessReport): void;
  endedNatively(report: CallReport, spans: NativeSpans | undefined): void;
}

export function deliverReports(
  batch: string,
  listener: ReportListener,
): { dropped: number; hasMore: boolean } {
  const [dropped, more, ...all] = JSON.parse(batch) as [number, number, ...Report[]];
  for (const report of all) {
    if (report[0] === 0) {
      listener.decided(decisionOf(report[1]));
    } else {
      const [, call, spans] = report;
      listener.endedNatively(reportOf(call), spans && { ...spans, startedAt: call.startedAt });
    }
  }
  return { dropped, hasMore: more === 1 };
}

function decisionOf({ rule, error, ...rest }: ReportedDecision): AccessReport {
  const given = { ...rest, isServed: true, isNative: true };
  if (error === undefined) return { ...given, isGranted: true, rule: rule as string };
  return { ...given, isGranted: false, rule: unmetRule(errorOf(error)), reason: error.message };
}

function reportOf({ isToolError, error, ...rest }: ReportedCall): CallReport {
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

function errorOf({ code, message, details }: ReportedError): CallError {
  return new CallError(code, message, details);
}
