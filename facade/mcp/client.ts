// One MCP server: requests out, answers in.

import { numbers, PendingWork } from "../border/pending-work.js";
import { kindOf, messageOf } from "../border/text.js";
import { outgoingTrace } from "../border/trace.js";
import { Pace } from "../border/turns.js";
import type { SpilledResult } from "../envelope.js";
import { CallError, InfrastructureErrorCode, invalid } from "../errors.js";
import { logger } from "../logging.js";
import type { McpClient } from "../native-binding.js";
import type { Connection } from "../registry/connection-state.js";
import { adapterLimiter, type Limiter } from "../registry/limits.js";
import type { NativeWork } from "../registry/native-handler.js";
import { Spills } from "../registry/spills.js";
import { native, runtime } from "../runtime.js";
import type { OperationContext } from "../types.js";
import type {
  MCPClient,
  MCPClientWrapper,
  MCPProgress,
  MCPRequestOptions,
  MCPServerInfo,
  MCPServerStatus,
  MCPToolsListener,
} from "./client-types.js";
import { checkedConfig, describeConfig, headersFor, type MCPClientConfig } from "./config.js";
import { HeldCalls } from "./held-calls.js";
import {
  argumentsOf,
  type ListedTools,
  type MCPOperation,
  type MCPToolProblem,
  ToolList,
} from "./operations.js";
import { answerQuestion } from "./questions.js";
import { Sessions } from "./sessions.js";

const log = logger("mcp");

type Json = Record<string, unknown>;

/** On whose behalf the list of tools is read. */
const NOBODY: OperationContext = {};

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
}

/** A question of the server's, or of what is between us and it. */
interface Asked {
  kind: string;
  question: unknown;
}

/** What a server tells when it is connected. */
interface Connected extends ListedTools {
  about: {
    serverInfo?: MCPServerInfo | null;
    protocolVersion?: string | null;
    capabilities?: Json | null;
    instructions?: string | null;
  };
}

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
  readonly #held: HeldCalls;
  readonly #pending = new PendingWork<number>(numbers(), {
    asked: (question: number, { kind, question: about }: Asked) => this.#answer(question, kind, about),
    changed: (_, tools: ListedTools) => this.#toolsChanged(tools),
  });
  readonly #listeners = new Set<MCPToolsListener>();
  #list: ToolList | undefined;
  /** The last list of tools that was not looked at. */
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

  /** `own` are the headers of one user. */
  private constructor(
    name: string,
    config: MCPClientConfig,
    own?: Record<string, string>,
    isSession = false,
  ) {
    this.name = name;
    this.connection = { kind: "mcp", name, state: () => this.getStatus().state };
    this.config = config;
    this.#isSession = isSession;
    this.limiter = isSession ? undefined : adapterLimiter(name, this.config);
    if (typeof config.headers === "function" && !isSession) {
      this.#sessions = new Sessions(name, config.sessions ?? {}, (headers) =>
        new Client(name, config, headers, true).connect(),
      );
    }
    const described = describeConfig(name, this.config, own);
    this.#native = new native.McpClient(runtime, this.#pending.mailbox, name, described);
    this.#held = new HeldCalls(this.#native);
    this.client = this.#described({});
  }

  /** A client that is not connected. A promise where a function of the user's says which headers the list of tools is read with. */
  static make(name: string, config: MCPClientConfig): Client | Promise<Client> {
    const checked = checkedConfig(name, config);
    if (typeof checked.headers !== "function") return new Client(name, checked);
    return headersFor(name, checked, NOBODY).then((own) => new Client(name, checked, own));
  }

  /** Starts or reaches the server, and reads its tools. */
  async connect(): Promise<this> {
    const { about, ...tools } = await this.#request<Connected>({}, (request) =>
      this.#native.connect(request),
    );
    this.client = this.#described(about);
    // Its tools are those of the server, and known.
    if (this.#isSession) return this;
    const version = this.config.version || this.client.serverInfo.version || "1.0.0";
    this.#list = new ToolList(this, version);
    this.#toolsChanged(tools);
    await this.#importing;
    return this;
  }

  #described({ serverInfo, protocolVersion, capabilities, instructions }: Connected["about"]): MCPClient {
    return {
      serverInfo: serverInfo ?? {},
      protocolVersion: protocolVersion ?? undefined,
      capabilities: capabilities ?? {},
      instructions: instructions ?? undefined,
      callTool: async ({ name, arguments: input }, options = {}) =>
        this.call(this.#checkedName(name), argumentsOf(this.name, name, input), options),
      listTools: async (options) => ({ tools: await this.#query("listTools", options) }),
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
    this.#listeners.add(listener);
    return () => {
      this.#listeners.delete(listener);
    };
  }

  /** Calls a tool on behalf of whoever the context is about. */
  callFor<T>(
    context: OperationContext,
    tool: string,
    input: string | undefined,
    options: () => CallOptions,
    spills?: Spills,
  ): Promise<T> {
    const sessions = this.#sessions;
    if (sessions === undefined) return this.call(tool, input, options(), spills);
    // What is left of the time is looked at when the connection is there.
    return headersFor(this.name, this.config, context).then((headers) =>
      sessions.use(context, headers, (client) => client.call<T>(tool, input, options(), spills)),
    );
  }

  /** Calls a tool; `input` is JSON. With `spills`, the answer is what `SpilledAnswer` says. */
  call<T>(tool: string, input: string | undefined, options: CallOptions, spills?: Spills): Promise<T> {
    const { timeout, left, resetTimeoutOnProgress, onProgress } = options;
    const fields = outgoingTrace();
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
      return this.#request(options, (request) => this.#held.add(request, tool, input));
    }
    if (!isOnly) this.#held.holdNext();
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

  /** For those who want to know whether the server can be called now. */
  readonly connection: Connection;

  getStatus(): MCPServerStatus {
    const { lastError, pid, protocolVersion, ...status } = JSON.parse(this.#native.status());
    return {
      ...status,
      ...(lastError != null && { lastError: { code: lastError.code, message: lastError.message } }),
      ...(pid != null && { pid }),
      ...(protocolVersion != null && { protocolVersion }),
    };
  }

  /** Closing twice is harmless. */
  close(): Promise<void> {
    this.#closing ??= this.#close();
    this.#listeners.clear();
    return this.#closing;
  }

  async #close(): Promise<void> {
    this.#held.send();
    const closing = this.#request({}, (request) => this.#native.close(request));
    await Promise.all([closing, this.#sessions?.close()]);
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  #query<T>(what: Query, options: MCPRequestOptions = {}, name?: string, input?: string): Promise<T> {
    this.#held.send();
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
        this.#held.send();
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
    answerQuestion(this.name, this.config, kind, about).then(
      (answer) => this.#native.answer(question, answer),
      (reason) => this.#native.answer(question, undefined, messageOf(reason)),
    );
  }

  #progress(listener: (progress: MCPProgress) => void, told: MCPProgress): void {
    const { progressToken: _, ...progress } = told;
    this.#tell("progress of a call to", () => listener(progress as MCPProgress));
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
      const changes = await this.#pace.run((turns) => list.update(tools, turns));
      if (changes.added.length + changes.removed.length + changes.changed.length === 0) continue;
      this.tools = list.operations;
      for (const listener of [...this.#listeners]) {
        this.#tell("tools of", () => listener(this.tools, changes));
      }
    }
  }

  /** What a function of the user's throws must neither end a call nor the process. */
  #tell(about: string, listener: () => void): void {
    try {
      listener();
    } catch (error) {
      log.error(`A listener to the ${about} MCP server '${this.name}' failed: ${messageOf(error)}`, {
        server: this.name,
      });
    }
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
  return client.connect();
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
