// Messages between a handler and the client of its call, while the call runs (`crates/operations-serve/src/client_channel.rs`).

import type { ClientChannel } from "../call/remote.js";
import { CallError, failed, InfrastructureErrorCode, invalid } from "../errors.js";
import { onNextTurn } from "../interop/host.js";
import { messageOf } from "../interop/text.js";
import { logger } from "../logging.js";
import type { RegistryServer } from "../native-binding.js";
import { type ApprovalClient, approvalClient, callInWords } from "../registry/approval-client.js";
import type { Approval } from "../registry/approval-types.js";
import { FromSchema } from "../schema/from-schema.js";
import { collectErrors, validationError } from "../schema/validation.js";
import { type RepeatableCall, repeatableCall } from "../tools/program-run.js";
import type { CallerLine } from "../types.js";

/** What the client can take, as the native side says it. */
export interface Offers {
  progress?: true;
  log?: string;
  elicit?: true;
  sample?: true;
  roots?: true;
  call?: RepeatableCall;
  approve?: ApprovalOffers;
}

/** How the client can be asked for an approval. */
interface ApprovalOffers {
  /** By a form; otherwise by a page only. */
  forms: boolean;
  /** The address of the explorer, if the client opens addresses. */
  explorer: string | null;
  answered: string[];
}

/** An answer, as the native side hands it over; without a key, it is about all that wait. */
export interface ClientAnswer {
  key?: string;
  result?: unknown;
  error?: { message: string };
}

interface ClientRequest {
  readonly key: string;
  readonly method: string;
  readonly params: unknown;
}

interface Waiting {
  resolve(result: unknown): void;
  reject(error: CallError): void;
}

const log = logger("serve");

/** How the keys of requests for approvals begin (`crates/operations-serve/src/door/mcp/interactive_call.rs`). */
const APPROVAL_KEY = "approval-";

const LEVELS = ["debug", "info", "notice", "warning", "error", "critical", "alert", "emergency"];

/** The channel of one call. */
export class ServedClientChannel implements ClientChannel {
  readonly context: CallerLine = {};
  readonly #native: RegistryServer;
  readonly #id: string;
  readonly #waiting = new Map<string, Waiting>();
  /** How many requests of a kind there were. */
  readonly #counts = new Map<string, number>();
  /** Requests of this turn of the event loop: they are sent together. */
  #unsent: ClientRequest[] = [];
  #isClosed = false;

  constructor(native: RegistryServer, id: string, offers: Offers) {
    this.#native = native;
    this.#id = id;
    const { context } = this;
    if (offers.progress) {
      // As handlers are used to it from MCP clients (one object), or with its members one by one.
      context.onProgress = (progress: unknown, total?: number, message?: string) => {
        const report = typeof progress === "object" ? progress : { progress, total, message };
        native.tellProgress(id, JSON.stringify(report));
      };
    }
    if (offers.log !== undefined) context.log = (level, data) => this.#log(level, data);
    if (offers.elicit) {
      context.elicit = async (request, options) => {
        const form = withSchema(request);
        const answer = await this.#request<Elicited>("elicitation/create", "elicit", form, options?.key);
        checkContent(request, answer);
        return answer;
      };
    }
    if (offers.sample) {
      context.sample = (request, options) =>
        this.#request("sampling/createMessage", "sample", request, options?.key);
    }
    if (offers.call) Object.assign(context, { [repeatableCall]: offers.call });
    if (offers.approve) {
      const { answered } = offers.approve;
      const ask = this.#approve.bind(this, offers.approve);
      Object.assign(context, { [approvalClient]: { answered, ask } satisfies ApprovalClient });
    }
    if (offers.roots) context.listRoots = (options) => this.#request("roots/list", "roots", {}, options?.key);
  }

  #log(level: string, data: unknown): void {
    if (!LEVELS.includes(level)) {
      throw invalid(`context.log: ${JSON.stringify(level)} is not a level. Use one of ${LEVELS.join(", ")}`);
    }
    this.#native.tellLog(this.#id, JSON.stringify({ level, data: data === undefined ? null : data }));
  }

  /** Asks the client whether a call is approved. */
  async #approve(
    { forms, explorer }: ApprovalOffers,
    approval: Approval,
    decided: Promise<void>,
  ): Promise<boolean | undefined> {
    const form = forms ? formFor(approval) : undefined;
    const request = form ?? (explorer === null ? undefined : pageFor(approval, explorer));
    if (request === undefined) return undefined;
    const key = `${APPROVAL_KEY}${approval.id}`;
    this.#native.releasePermit(this.#id);
    try {
      const answer = this.#request<Elicited>("elicitation/create", "elicit", request, key);
      const given = await Promise.race([answer, decided]);
      if (given === undefined || given.action === "cancel") return undefined;
      if (given.action === "decline") return false;
      if (request === form) return true;
      // Its user has opened the page, and decides there.
      await decided;
    } catch (error) {
      if (this.#isClosed) throw error;
      log.warn(`The client could not be asked for approval ${approval.id}: ${messageOf(error)}`);
    } finally {
      await this.#native.regainPermit(this.#id);
    }
    return undefined;
  }

  #request<T>(method: string, kind: string, params: unknown, given: string | undefined): Promise<T> {
    if (this.#isClosed) return Promise.reject(gone());
    const count = (this.#counts.get(kind) ?? 0) + 1;
    this.#counts.set(kind, count);
    const key = given ?? `${kind}-${count}`;
    if (this.#waiting.has(key)) {
      return Promise.reject(failed(`Two requests at once have the key ${JSON.stringify(key)}`, { key }));
    }
    if (this.#unsent.length === 0) onNextTurn(() => this.#send());
    this.#unsent.push({ key, method, params });
    return new Promise<T>((resolve, reject) => {
      this.#waiting.set(key, { resolve: resolve as (result: unknown) => void, reject });
    });
  }

  #send(): void {
    const requests = this.#unsent;
    this.#unsent = [];
    if (this.#isClosed) return;
    try {
      this.#native.askClient(this.#id, JSON.stringify(requests));
    } catch (error) {
      for (const { key } of requests) this.answered({ key, error: { message: String(error) } });
    }
  }

  answered({ key, result, error }: ClientAnswer): void {
    for (const [each, waiting] of key === undefined
      ? [...this.#waiting]
      : [[key, this.#waiting.get(key)] as const]) {
      this.#waiting.delete(each);
      if (error === undefined) waiting?.resolve(result);
      else waiting?.reject(failed(`The client did not answer: ${error.message}`, { reason: "client" }));
    }
  }

  /** The call is over, or its client takes requests in another way. */
  close(): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    const all = [...this.#waiting.values()];
    this.#waiting.clear();
    for (const { reject } of all) reject(gone());
  }
}

function formFor(approval: Approval): Record<string, unknown> | undefined {
  const call = callInWords(approval);
  return call === undefined ? undefined : withSchema({ message: `Do you approve this call? ${call}` });
}

function pageFor({ id, operationId }: Approval, explorer: string): Record<string, unknown> {
  const message = `A call of ${operationId} needs an approval. Decide about it on this page`;
  return { mode: "url", message, url: `${explorer}#approvals/${id}`, elicitationId: id };
}

type Elicited = Awaited<ReturnType<NonNullable<CallerLine["elicit"]>>>;

/** A form must say what is in it, even if that is nothing. */
function withSchema(request: Record<string, unknown>): Record<string, unknown> {
  const { mode, requestedSchema } = request;
  const isForm = mode === undefined || mode === "form";
  if (!isForm || requestedSchema !== undefined) return request;
  return { ...request, requestedSchema: { type: "object", properties: {} } };
}

function gone(): CallError {
  return new CallError(InfrastructureErrorCode.ABORTED, "The call was ended before its client answered");
}

/** The user's input must match the requested schema: clients need not check it. */
function checkContent(request: { requestedSchema?: unknown }, answer: Elicited): void {
  if (answer.action !== "accept" || request.requestedSchema === undefined) return;
  const errors = collectErrors(FromSchema(request.requestedSchema), answer.content ?? {});
  if (errors.length > 0) throw validationError(errors, "The user's answer is not what was asked for");
}
