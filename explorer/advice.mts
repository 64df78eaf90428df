// What can be done about an error. No DOM: tested without a browser.

import { accessWords } from "./access.mjs";
import { isRecord } from "./schema-root.mjs";

/** An error, as the server sends it (`application/problem+json`), or as the page found it. */
export interface Failure {
  readonly code: string;
  readonly message: string;
  readonly status: number | undefined;
  readonly requestId?: string;
  readonly mayHaveRun?: boolean;
  readonly details?: unknown;
  readonly errors: readonly { readonly path: string; readonly message: string }[];
  /** Seconds to wait, where the server says so. */
  readonly retryAfter?: number;
}

export interface Advice {
  readonly text: string;
  /** What the page can do at once. */
  readonly action?: "token" | "reload" | "again";
}

/** An error out of what the server sent. */
export function failureOf(body: unknown, status: number, retryAfter?: number): Failure {
  const problem = isRecord(body) ? body : {};
  const text = (name: string) => (typeof problem[name] === "string" ? (problem[name] as string) : undefined);
  const errors = Array.isArray(problem.errors) ? problem.errors : [];
  return {
    code: text("code") ?? "UNKNOWN_ERROR",
    message: text("detail") ?? text("title") ?? `The server answered with status ${status}`,
    status: typeof problem.status === "number" ? problem.status : status,
    errors: errors.flatMap((error) =>
      isRecord(error) && typeof error.message === "string"
        ? [{ path: typeof error.path === "string" ? error.path : "", message: error.message }]
        : [],
    ),
    ...(text("requestId") !== undefined && { requestId: text("requestId") as string }),
    ...(typeof problem.mayHaveRun === "boolean" && { mayHaveRun: problem.mayHaveRun }),
    ...("details" in problem && { details: problem.details }),
    ...(retryAfter !== undefined && { retryAfter }),
  };
}

/** An error that the page found itself. */
export function unreachable(error: unknown): Failure {
  const why = error instanceof Error ? error.message : String(error);
  return { code: "UNREACHABLE", message: `The server did not answer: ${why}`, status: undefined, errors: [] };
}

/** What advice depends on, beside the error. */
export interface Advised {
  readonly hasToken: boolean;
  /** A query changes nothing, so it makes no difference whether it has run. */
  readonly isQuery?: boolean;
}

export function adviceOn(failure: Failure, { hasToken, isQuery = false }: Advised): Advice[] {
  const advice = [mainAdvice(failure, hasToken)];
  if (isQuery) return advice;
  if (failure.mayHaveRun === true) {
    advice.push({
      text: "It may have run, in part or in full. Look at its effects before you call it again.",
    });
  } else if (failure.mayHaveRun === false) {
    advice.push({ text: "It did not run. You can call it again without harm." });
  }
  return advice;
}

function mainAdvice(failure: Failure, hasToken: boolean): Advice {
  const { code, status, retryAfter } = failure;
  const reason = isRecord(failure.details) ? failure.details.reason : undefined;
  switch (code) {
    case "UNREACHABLE":
      return { text: "Check that the server is running and that you can reach it.", action: "again" };
    case "VALIDATION_ERROR":
      return {
        text:
          failure.errors.length > 0
            ? "The input does not fit the schema. Correct the marked fields and call again."
            : "The server could not use the input. Correct it as the message says.",
      };
    case "ACCESS_DENIED":
      if (status === 401 && hasToken)
        return { text: "The token is not valid. Set another one.", action: "token" };
      if (status === 401) return { text: "This needs to know who you are. Set a token.", action: "token" };
      return {
        text: `${missing(failure.details)} Set a token that may call it, or ask the operator of the server for one.`,
        action: "token",
      };
    case "OPERATION_NOT_FOUND":
      return { text: "It is not served any more, or not for you. Load the list again.", action: "reload" };
    case "TIMEOUT":
      return {
        text: "It took longer than the server allows. Try a smaller request, or ask the operator to raise the limit.",
        action: "again",
      };
    case "APPROVAL_REQUIRED":
      return {
        text: "Once it is approved (Approvals, above), call it again with the same input.",
        action: "again",
      };
    case "ABORTED":
      return { text: "The call was ended before its response.", action: "again" };
  }
  if (
    reason === "overloaded" ||
    reason === "rate-limited" ||
    reason === "circuit-open" ||
    status === 503 ||
    status === 429
  ) {
    const wait = retryAfter === undefined ? "a moment" : `${retryAfter} s`;
    return {
      text: `The server has too much to do, or holds calls back. Wait ${wait} and call again.`,
      action: "again",
    };
  }
  if (status === 502)
    return { text: "What the server called in turn has failed. The details have its answer." };
  if (code === "UNKNOWN_ERROR") {
    return { text: "The server keeps the cause in its log. Give its operator the request id." };
  }
  return { text: "The operation itself failed. Its message and details say why." };
}

/** What a denial says was missing. */
function missing(details: unknown): string {
  const needs = isRecord(details)
    ? accessWords({ ...details, requiredScopes: details.missingScopes, ...resource(details) })
    : "";
  return needs === "" ? "You may not call this." : `You may not call this: it ${needs}.`;
}

const resource = ({ resource }: Record<string, unknown>) => (isRecord(resource) ? resource : {});
