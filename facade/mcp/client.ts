// One MCP server: requests out, answers in.

import type { SpilledResult } from "../envelope.js";
import { CallError, failed, InfrastructureErrorCode, invalid } from "../errors.js";
import { Pace } from "../interop/event-loop.js";
import { guarded, Listeners } from "../interop/listeners.js";
import { numbers, PendingWork } from "../interop/pending-work.js";
import { kindOf, messageOf } from "../interop/text.js";
import { outgoingTrace } from "../interop/trace.js";
import { logger } from "../logging.js";
import type { McpClient } from "../native-binding.js";
import type { Connection } from "../registry/connection-state.js";
import { adapterLimiter, type Limiter } from "../registry/limits.js";
import { APPROVAL_KEY } from "../registry/metadata.js";
import type { NativeWork } from "../registry/native-handler.js";
import { Spills } from "../registry/spills.js";
import { native, runtime } from "../runtime.js";
import type { OperationContext } from "../types.js";
import { CallBatcher } from "./call-batcher.js";
import type {
  MCPClient,
  MCPClientWrapper,
  MCPProgress,
  MCPRequestOptions,
  MCPServerReport,
  MCPServerStatus,
  MCPToolsListener,
  ServerFacts,
} from "./client-types.js";
import { checkedConfig, describeConfig, headersFor, type MCPClientConfig } from "./config.js";
import {
  argumentsOf,
  type ListedTools,
  type MCPOperation,
  type MCPToolProblem,
  type ToolChanges,
  ToolList,
} from "./operations.js";
import { answerServerRequest } from "./server-requests.js";
import { Sessions } from "./sessions.js";
import { type CachedList, CachedTools } from "./tool-cache.js";

const log = logger("mcp");

type Json = Record<string, unknown>;

/** On whose behalf the list of tools is read. */
const ANONYMOUS: OperationContext = {};

/** A result, and the file that all of it is in, if it is in one. */
export interface SpilledAnswer {
  result: unknown;
  spill?: SpilledResult;
}

/** How a tool is called: part of the operation's context. */
export interface CallOptions extends MCPRequestOptions {
  /** The time to the caller's deadline, in ms: no time limit is longer. */
  left?: number | undefined;
  resetTimeoutOnProgress?: boolean | undefined;
  /** The approval that the caller names. */
  approval?: string;
}

/** A request of the server, or of the OAuth flow. */
interface ServerRequest {
  kind: string;
  question: unknown;
}

/** What a server reports when it is connected. */
type Connected = CachedList;

type Query =
  | "listTools"
  | "listResources"
  | "listResourceTemplates"
  | "listPrompts"
  | "readResource"
  | "getPrompt";

/** A server. Answers are JSON as the server wrote it, parsed. @internal */
export class Client implements MCPClientWrapper {
  readonly name: string;
  readonly config: MCPClientConfig;
  #spills: Spills | undefined;
  readonly limiter: Limiter | undefined;
  readonly #native: McpClient;
  readonly #batcher: CallBatcher;
  readonly #pending = new PendingWork<number>(numbers(), {
    asked: (question: number, { kind, question: about }: ServerRequest) =>
      this.#answer(question, kind, about),
    changed: (what: string, tools: ListedTools) => {
      if (what !== "tools") return this.#announce(undefined);
      this.#toolsChanged(tools);
      void this.#cache?.write({ about: this.#about, ...tools });
    },
  });
  readonly #listeners = new Listeners<ToolChanges>((error) => this.#listenerFailed("tools of", error));
  #list: ToolList | undefined;
  /** The last list of tools that was not processed. */
  #newest: ListedTools | undefined;
  #importing: Promise<void> | undefined;
  readonly #pace = new Pace();
  #closing: Promise<void> | undefined;
  client: MCPClient;
  tools: MCPOperation[] = [];

  /** Where users have credentials of their own: their connections. */
  readonly #sessions: Sessions<Client> | undefined;
  /** Whether it is one of those. */
  readonly #isSession: boolean;
  /** Where the list of tools is kept. */
  readonly #cache: CachedTools | undefined;
  #about: ServerFacts = {};
  /** The page that the user is to visit now. */
  #page: Pick<MCPServerReport, "url" | "scopes"> | undefined;
  #isAuthorizing = false;
  /** Called when the status may have changed. */
  onStatus: () => void = () => {};

  /** `own` are the headers of one user. */
  private constructor(
    name: string,
    config: MCPClientConfig,
    own?: Record<string, string>,
    isSession = false,
  ) {
    this.name = name;
    this.connection = {
      kind: "mcp",
      name,
      state: () => {
        const { status } = this.report();
        return status.startsWith("needs") ? status : this.status().state;
      },
    };
    this.config = config;
    this.#isSession = isSession;
    if (config.toolCache !== undefined && !isSession) {
      this.#cache = new CachedTools(name, config, config.toolCache);
    }
    this.limiter = isSession ? undefined : adapterLimiter(name, this.config);
    if (typeof config.headers === "function" && !isSession) {
      this.#sessions = new Sessions(name, config.sessions ?? {}, (headers) =>
        new Client(name, config, headers, true).connect(),
      );
    }
    const described = describeConfig(name, this.config, own);
    this.#native = new native.McpClient(runtime, this.#pending.mailbox, name, described);
    this.#batcher = new CallBatcher(this.#native);
    this.client = this.#described({});
  }

  /** A client that is not connected. A promise where a function of the user's says which headers the list of tools is read with. */
  static make(name: string, config: MCPClientConfig): Client | Promise<Client> {
    const checked = checkedConfig(name, config);
    if (typeof checked.headers !== "function") return new Client(name, checked);
    return headersFor(name, checked, ANONYMOUS).then((own) => new Client(name, checked, own));
  }

  /** Connects, or, if the first call is to do that, takes over the tools that the server had last time. */
  async open(): Promise<this> {
    if (this.config.start !== "lazy") return this.connect();
    const known = await this.#cache?.read();
    if (known === undefined) {
      await this.connect();
      await this.stop();
      return this;
    }
    this.#native.setKnownTools(known.tools);
    return this.#takeOver(known);
  }

  /** Starts or reaches the server, and reads its tools. */
  async connect(): Promise<this> {
    const connected = await this.#request<Connected>({}, (request) => this.#native.connect(request));
    await this.#takeOver(connected);
    if (this.#cache !== undefined) await this.#cache.write(connected);
    return this;
  }

  async #takeOver({ about, ...tools }: Connected): Promise<this> {
    this.#about = about;
    this.client = this.#described(about);
    // Its tools are those of the server, and known.
    if (this.#isSession) return this;
    const version = this.config.version || this.client.serverInfo.version || "1.0.0";
    this.#list ??= new ToolList(this, version);
    this.#toolsChanged(tools);
    await this.#importing;
    return this;
  }

  /** Ends the connection. The next call starts the server again. */
  stop(): Promise<void> {
    this.#batcher.send();
    return this.#request({}, (request) => this.#native.stop(request));
  }

  /** Connects anew. Where a user has to be asked, the status says what to show if there is no `onAuthorize`. */
  async authorize(): Promise<void> {
    this.#isAuthorizing = true;
    try {
      await this.stop();
      await this.connect();
    } finally {
      this.#isAuthorizing = false;
    }
  }

  #described({ serverInfo, protocolVersion, capabilities, instructions }: ServerFacts): MCPClient {
    return {
      serverInfo: serverInfo ?? {},
      protocolVersion: protocolVersion ?? undefined,
      capabilities: capabilities ?? {},
      instructions: instructions ?? undefined,
      callTool: async ({ name, arguments: input }, options = {}) =>
        this.call(this.#checkedName(name), argumentsOf(this.name, name, input), options),
      listTools: async (options) => ({ tools: await this.#query("listTools", options) }),
      rootsChanged: () => this.#native.rootsChanged(),
      close: () => this.close(),
      [Symbol.asyncDispose]: () => this.close(),
    };
  }

  #checkedName(tool: unknown): string {
    if (typeof tool === "string") return tool;
    throw invalid(`MCP server '${this.name}': the name of a tool must be a string, not ${kindOf(tool)}`, {
      server: this.name,
      reason: "invalid-input",
      delivery: "none",
    });
  }

  get problems(): MCPToolProblem[] {
    return this.#list?.problems ?? [];
  }

  onToolsChanged(listener: MCPToolsListener): () => void {
    return this.#listeners.add((changes) => listener(this.tools, changes));
  }

  /** Calls a tool on behalf of the identity in the context. */
  callFor<T>(
    context: OperationContext,
    tool: string,
    input: string | undefined,
    options: () => CallOptions,
    spills?: Spills,
  ): Promise<T> {
    const sessions = this.#sessions;
    if (sessions === undefined) return this.call(tool, input, options(), spills);
    // The remaining time is computed when the connection is there.
    return headersFor(this.name, this.config, context).then((headers) =>
      sessions.use(context, headers, (client) => client.call<T>(tool, input, options(), spills)),
    );
  }

  /** Calls a tool; `input` is JSON. With `spills`, the answer is what `SpilledAnswer` says. */
  call<T>(tool: string, input: string | undefined, options: CallOptions, spills?: Spills): Promise<T> {
    const { timeout, left, resetTimeoutOnProgress, onProgress, approval } = options;
    const named = approval === undefined ? undefined : { [APPROVAL_KEY]: approval };
    const fields = named === undefined ? outgoingTrace() : { ...outgoingTrace(), ...named };
    const trace = fields === undefined ? undefined : JSON.stringify(fields);
    const isPlain =
      timeout === undefined &&
      left === undefined &&
      resetTimeoutOnProgress === undefined &&
      onProgress === undefined &&
      trace === undefined &&
      spills === undefined &&
      !tool.includes("\n");
    // The only one is sent at once: there is nothing to wait for, whatever the caller does next.
    const isOnly = this.#pending.size === 0;
    if (isPlain && !isOnly) {
      return this.#request(options, (request) => this.#batcher.add(request, tool, input));
    }
    if (!isOnly) this.#batcher.holdNext();
    return this.#request(options, (request) =>
      this.#native.call(
        request,
        tool,
        input,
        timeout,
        left,
        resetTimeoutOnProgress,
        onProgress !== undefined,
        trace,
        spills?.native,
      ),
    );
  }

  /** Where large results go, by the client's own configuration. */
  get spills(): Spills | undefined {
    this.#spills ??= Spills.of(this.config.spill);
    return this.#spills;
  }

  /** How the native registry calls a tool without JavaScript. */
  nativeWork(tool: string): NativeWork {
    return {
      // Who calls with which credentials is for a function of the user's to say.
      isPossible: () => this.#sessions === undefined,
      ownsSchema: () => false,
      register: (registry, spec, { input, output }, spills) =>
        registry.setMcp(spec, input, output, this.#native, tool, spills?.native),
    };
  }

  listResources(options?: MCPRequestOptions): Promise<Json[]> {
    return this.#query("listResources", options);
  }

  listResourceTemplates(options?: MCPRequestOptions): Promise<Json[]> {
    return this.#query("listResourceTemplates", options);
  }

  readResource(uri: string, options?: MCPRequestOptions): Promise<Json> {
    return this.#query("readResource", options, uri);
  }

  listPrompts(options?: MCPRequestOptions): Promise<Json[]> {
    return this.#query("listPrompts", options);
  }

  async getPrompt(name: string, args?: Record<string, string>, options?: MCPRequestOptions): Promise<Json> {
    return this.#query("getPrompt", options, name, argumentsOf(this.name, name, args));
  }

  /** Whether the server can be called now. */
  readonly connection: Connection;

  getStatus(): MCPServerStatus {
    return this.status();
  }

  status(): MCPServerStatus {
    const { lastError, pid, protocolVersion, ...status } = JSON.parse(this.#native.status());
    return {
      ...status,
      ...(lastError != null && { lastError: { code: lastError.code, message: lastError.message } }),
      ...(pid != null && { pid }),
      ...(protocolVersion != null && { protocolVersion }),
    };
  }

  report(): MCPServerReport {
    const { state, lastError } = JSON.parse(this.#native.status());
    return this.#page === undefined ? reportOf(state, lastError) : { status: "needs-auth", ...this.#page };
  }

  #announce(page: Pick<MCPServerReport, "url" | "scopes"> | undefined): void {
    this.#page = page;
    guarded(
      () => this.onStatus(),
      (error) => this.#listenerFailed("status of", error),
    )(undefined);
  }

  /** Closing twice is harmless. */
  close(): Promise<void> {
    this.onStatus = () => {};
    this.#closing ??= this.#close();
    return this.#closing;
  }

  async #close(): Promise<void> {
    this.#batcher.send();
    const closing = this.#request({}, (request) => this.#native.close(request));
    await Promise.all([closing, this.#sessions?.close()]);
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  #query<T>(what: Query, options: MCPRequestOptions = {}, name?: string, input?: string): Promise<T> {
    this.#batcher.send();
    return this.#request(options, (request) =>
      this.#native.query(request, what, name, input, options.timeout),
    );
  }

  #request<T>({ signal, onProgress }: MCPRequestOptions, start: (request: number) => void): Promise<T> {
    if (signal?.aborted === true) return Promise.reject(this.#aborted());
    return this.#pending.run<T>({
      owner: this.#native,
      signal,
      start,
      cancel: (request) => {
        this.#batcher.send();
        this.#native.cancel(request);
      },
      event: onProgress && ((progress: MCPProgress) => this.#progress(onProgress, progress)),
    });
  }

  #aborted(): CallError {
    return new CallError(
      InfrastructureErrorCode.ABORTED,
      `MCP server '${this.name}': the call was aborted before it was sent`,
      { server: this.name, reason: "aborted", delivery: "none" },
    );
  }

  #answer(question: number, kind: string, about: unknown): void {
    if (kind === "authorize") {
      const { url } = about as { url: string };
      const scopes = new URL(url).searchParams.get("scope")?.split(" ").filter(Boolean) ?? [];
      const canAsk = this.config.oauth?.onAuthorize !== undefined || this.#isAuthorizing;
      // The page of a login that is not waited for leads nowhere.
      this.#announce({ ...(canAsk && { url }), scopes });
      if (!canAsk) {
        const why =
          "the user has to be asked. MCPClientLoader.authorize, or onAuthorize in `oauth`, does that";
        this.#native.answer(question, undefined, why);
        return;
      }
    } else if (kind === "saveTokens" && this.#page !== undefined) this.#announce(undefined);
    answerServerRequest(this.name, this.config, kind, about).then(
      (answer) => this.#native.answer(question, answer),
      (reason) => this.#native.answer(question, undefined, messageOf(reason)),
    );
  }

  #progress(listener: (progress: MCPProgress) => void, notification: MCPProgress): void {
    const { progressToken: _, ...progress } = notification;
    const notify = guarded(listener, (error) => this.#listenerFailed("progress of a call to", error));
    notify(progress as MCPProgress);
  }

  #toolsChanged(tools: ListedTools): void {
    this.#newest = tools;
    this.#importing ??= this.#importTools().finally(() => {
      this.#importing = undefined;
    });
  }

  /** Takes over the newest list, and the one that has come meanwhile. */
  async #importTools(): Promise<void> {
    while (this.#list !== undefined && this.#newest !== undefined) {
      const tools = this.#newest;
      this.#newest = undefined;
      const list = this.#list;
      const changes = await this.#pace.run((yielder) => list.update(tools, yielder));
      if (changes.added.length + changes.removed.length + changes.changed.length === 0) continue;
      this.tools = list.operations;
      if (this.#closing === undefined) this.#listeners.notify(changes);
    }
  }

  #listenerFailed(about: string, error: unknown): void {
    log.error(`A listener to the ${about} MCP server '${this.name}' failed: ${messageOf(error)}`, {
      server: this.name,
    });
  }
}

/**
 * Connects to an MCP server and reads its tools. Starts the server (`command`), or connects to it over HTTP (`url`).
 *
 * @example
 * ```ts
 * const files = await createMCPClient("files", {
 *   command: "npx",
 *   args: ["-y", "@modelcontextprotocol/server-filesystem", "."],
 * });
 * registry.registerAll(files.tools);
 * await registry.execute("files.list_directory", { path: "." });
 * ```
 */
export async function createMCPClient(name: string, config: MCPClientConfig): Promise<MCPClientWrapper> {
  const client = await Client.make(name, config);
  return client.open();
}

/**
 * Closes the connection. If the server was started here, resolves when its process and all child processes are gone.
 * Closing twice is harmless.
 *
 * @example
 * ```ts
 * const files = await createMCPClient("files", { url: "https://files.example/mcp" });
 * await closeMCPClient(files);
 * ```
 */
export async function closeMCPClient(wrapper: MCPClientWrapper): Promise<void> {
  if (typeof wrapper?.client?.close !== "function") {
    throw invalid(
      `closeMCPClient: the client must be what createMCPClient resolved to, not ${kindOf(wrapper)}`,
    );
  }
  await wrapper.client.close();
}

/** How a server is, by the words of the native side. */
export function reportOf(
  state: string,
  failure: { code: string; message: string; details?: unknown } | null | undefined,
): MCPServerReport {
  const { needs, scope, url } = Object(failure?.details) as Record<string, unknown>;
  const error = failure == null ? undefined : new CallError(failure.code, failure.message, failure.details);
  if (needs !== undefined && error !== undefined) {
    return {
      status: needs === "registration" ? "needs-registration" : "needs-auth",
      error,
      ...(typeof url === "string" && { url }),
      ...(typeof scope === "string" && { scopes: scope.split(" ") }),
    };
  }
  if (state === "connecting") return { status: "starting" };
  if (state === "connected" || state === "stopped" || state === "idle") return { status: state };
  return { status: "failed", error: error ?? failed(`The connection was ${state}`) };
}
