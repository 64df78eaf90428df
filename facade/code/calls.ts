// The calls and streams of a program: ordinary calls from outside, with the run as their parent.

import { maskedDetails, withoutStderr } from "../call/masked-details.js";
import type { CodeApproval, CodeCall, CodeRunOptions } from "../code-types.js";
import type { ResponseEnvelope } from "../envelope.js";
import { CallError, InfrastructureErrorCode, isInternal, mapError } from "../errors.js";
import { newId } from "../interop/host.js";
import { isRecord } from "../interop/options.js";
import { type CallOrigin, TOOL } from "../registry/call.js";
import type { Entry } from "../registry/entry.js";
import { logFailure } from "../registry/failure-log.js";
import { operationNotFound } from "../registry/nearest.js";
import { offerEnv } from "../registry/offered-env.js";
import { copyForOutside } from "../registry/origin.js";
import type { OperationRegistry } from "../registry/registry.js";
import type { SearchedRegistry, SeenBy } from "../tools/catalogue.js";
import { mayCall } from "../tools/selection.js";
import { isShown } from "../tools/shown.js";
import type { Identity, OperationContext } from "../types.js";

/** A program has no use for the files of large results. */
const PROGRAM: CallOrigin = { ...TOOL, acceptsFiles: false };
/** The largest input of one call: it is read on the host's event loop. */
const MAX_INPUT = 4 * 1024 * 1024;

/** The longest error that a program is shown with its details, in characters. */
const MAX_ERROR = 256 * 1024;

/** For whom a program calls, and what is offered to it. */
export interface Authority {
  readonly registry: OperationRegistry;
  readonly searched: SearchedRegistry;
  readonly identity: Identity | undefined;
  /** Whether the way in offers an operation at all. */
  readonly isOffered: SeenBy;
}

/** The operations that a program may call: what the identity may, and nothing internal. */
export function offeredTo({ registry, identity, isOffered }: Omit<Authority, "searched">): Entry[] {
  return Array.from(registry.entries()).filter(
    (entry) => isShown(entry) && isOffered(entry) && mayCall(entry, identity),
  );
}

export interface ShownError {
  readonly code: string;
  readonly message: string;
  readonly details?: unknown;
}

/** The answer to a request of the program: a value as JSON, or an error. */
export type Answer = { readonly json: string } | { readonly error: ShownError };

interface OpenStream {
  readonly json: string;
  iterator?: AsyncGenerator<ResponseEnvelope>;
  end?: EndReport;
}

type EndReport = (status: CodeCall["status"], code?: string) => void;

/** What all calls of a run have in common. */
export interface ParentRun extends Pick<CodeRunOptions, "approve" | "onCall"> {
  readonly id: string;
  readonly deadline: number;
  readonly signal: AbortSignal;
  /** The largest result. */
  readonly most: number;
}

export class ProgramCalls {
  readonly #authority: Authority;
  readonly #run: ParentRun;
  readonly #reports: CodeCall[];
  readonly #streams = new Map<number, OpenStream>();

  constructor(authority: Authority, run: ParentRun, reports: CodeCall[]) {
    this.#authority = authority;
    this.#run = run;
    this.#reports = reports;
  }

  lookUp(type: "search" | "describe", json: string): Answer {
    const { searched, identity, isOffered } = this.#authority;
    const seenBy: SeenBy = (entry) => isOffered(entry) && mayCall(entry, identity);
    try {
      const { id, query, options } = read(json);
      if (type === "search") return this.#written(searched.search(query as string, options ?? {}, seenBy));
      const found = searched.describe(id, seenBy);
      if (found === undefined) throw this.#unknown(id);
      return this.#written(found);
    } catch (error) {
      return { error: this.#shown(error, undefined) };
    }
  }

  /** Makes a call. `approval` was needed when it was tried before. */
  async call(json: string, approval?: string): Promise<Answer | { approval: CodeApproval }> {
    const { registry } = this.#authority;
    let [id, end]: [string, EndReport | undefined] = ["", undefined];
    try {
      const request = read(json);
      id = request.id;
      end = this.#begin(id);
      const entry = this.#entry(id);
      const answer = this.#written(
        await registry.execute(entry.id, request.input, this.#context(approval), PROGRAM),
      );
      end("completed");
      return answer;
    } catch (error) {
      const needed = approvalIn(error, id, registry, json);
      if (needed !== undefined) end?.("waiting");
      if (needed !== undefined) return { approval: needed };
      const shown = this.#shown(error, id);
      end?.("failed", shown.code);
      return { error: shown };
    }
  }

  open(key: number, json: string): void {
    this.#streams.set(key, { json });
  }

  /** The next event of a stream, `null` at its end. */
  async next(json: string): Promise<Answer> {
    const key = (JSON.parse(json) as { stream?: number } | null)?.stream as number;
    const stream = this.#streams.get(key);
    if (stream === undefined) return { error: STREAM_ENDED };
    let id = "";
    try {
      if (stream.iterator === undefined) {
        const request = read(stream.json);
        id = request.id;
        stream.end = this.#begin(id);
        const { registry } = this.#authority;
        stream.iterator = registry.subscribe(this.#entry(id).id, request.input, this.#context(), PROGRAM);
      }
      const { done, value } = await stream.iterator.next();
      if (done === true) this.close(key);
      return this.#written(done === true ? null : value);
    } catch (error) {
      const shown = this.#shown(error, id);
      stream.end?.("failed", shown.code);
      this.close(key);
      return { error: shown };
    }
  }

  /** Closes a stream, or all. */
  close(key?: number): void {
    for (const each of key === undefined ? [...this.#streams.keys()] : [key]) {
      const stream = this.#streams.get(each);
      this.#streams.delete(each);
      stream?.end?.("completed");
      stream?.iterator?.return(undefined).catch(() => {});
    }
  }

  #begin(operationId: string): EndReport {
    const report: CodeCall = { operationId, status: "running" };
    const index = this.#reports.push(report) - 1;
    const notify = () => quietly(() => this.#run.onCall?.({ ...report }, index));
    notify();
    const began = Date.now();
    return (status, code) => {
      if (report.status !== "running") return;
      Object.assign(report, { status, duration: Date.now() - began, ...(code !== undefined && { code }) });
      notify();
    };
  }

  #entry(id: string): Entry {
    const entry = this.#authority.registry.entry(id);
    if (entry !== undefined && isShown(entry) && this.#authority.isOffered(entry)) return entry;
    throw this.#unknown(id);
  }

  #unknown(id: string): CallError {
    return operationNotFound(
      id,
      offeredTo(this.#authority).map((entry) => entry.id),
    );
  }

  #context(approval?: string): OperationContext {
    const { identity, registry } = this.#authority;
    const { id, deadline, signal, approve } = this.#run;
    const context = copyForOutside({
      requestId: newId(),
      parentRequestId: id,
      deadline,
      signal,
      ...(identity !== undefined && { identity }),
      ...(approval !== undefined && { approval }),
      ...(approve !== undefined && { approve }),
    });
    offerEnv(registry, context);
    return context;
  }

  /** An error as a door would show it. */
  #shown(error: unknown, id: string | undefined): ShownError {
    const entry = id === undefined ? undefined : this.#authority.registry.entry(id);
    const mapped = mapError(error, entry?.spec.errorSchemas);
    const { code } = mapped;
    if (isInternal(mapped) || code === InfrastructureErrorCode.UNKNOWN_ERROR) {
      logFailure("code", { operationId: id ?? "", requestId: this.#run.id }, error);
      return { code, message: "The operation failed" };
    }
    const { message, details } = withoutStderr(mapped.message, maskedDetails(mapped.details).details);
    try {
      const json = JSON.stringify({ code, message, details });
      if (json.length <= MAX_ERROR) return JSON.parse(json) as ShownError;
    } catch {}
    return { code, message: message.slice(0, MAX_ERROR) };
  }

  #written(value: unknown): Answer {
    let json: string;
    try {
      json = JSON.stringify(value);
    } catch {
      throw done("The result cannot be written as JSON");
    }
    if (json.length <= this.#run.most) return { json };
    throw done(`The result has ${json.length} characters, which is too much for the program`);
  }
}

const done = (message: string) =>
  new CallError(InfrastructureErrorCode.EXECUTION_ERROR, message, { delivery: "done", reason: "result" });

function read(json: string): { id: string; input: unknown; query: unknown; options?: object } {
  if (json.length <= MAX_INPUT) {
    const request = JSON.parse(json) as ReturnType<typeof read>;
    return { ...request, id: String(request.id) };
  }
  const message = `The input of a call has more than ${MAX_INPUT} characters`;
  throw new CallError(InfrastructureErrorCode.VALIDATION_ERROR, message, { delivery: "none" });
}

/** What a call needs before it can be made, if that is all that kept it. A call that failed because one of its own calls needs an approval
 * has begun already, and is not repeated. */
function approvalIn(
  error: unknown,
  id: string,
  registry: OperationRegistry,
  json: string,
): CodeApproval | undefined {
  if (!(error instanceof CallError) || error.code !== "APPROVAL_REQUIRED") return undefined;
  const approval = isRecord(error.details) ? error.details["approval"] : undefined;
  if (!isRecord(approval) || typeof approval["id"] !== "string") return undefined;
  const of = approval["operationId"];
  if (typeof of === "string" && of !== id && registry.entry(of) !== undefined) return undefined;
  const { input } = read(json);
  return {
    ...JSON.parse(JSON.stringify(approval)),
    id: approval["id"],
    operationId: id,
    input,
  } as CodeApproval;
}

export const STREAM_ENDED: ShownError = {
  code: InfrastructureErrorCode.ABORTED,
  message: "The stream has ended: streams do not outlive a wait for an approval",
  details: { reason: "aborted" },
};

/** A listener's own failure is no reason to end a run. */
export function quietly(report: () => void): void {
  try {
    report();
  } catch {}
}
