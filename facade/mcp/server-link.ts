import { numbers, PendingWork } from "../border/pending-work.js";
import { messageOf } from "../border/text.js";
import { CallError, InfrastructureErrorCode } from "../errors.js";
import { logger } from "../logging.js";
import type { McpClient } from "../native-binding.js";
import { native, runtime } from "../runtime.js";
import { describeConfig, type MCPClientConfig } from "./config.js";
import type { ListedTools } from "./operations.js";
import { answerQuestion } from "./questions.js";

const log = logger("mcp");

/** How a call was made: part of the operation's context. */
export interface RequestOptions {
  signal?: AbortSignal | undefined;
  /** In ms; the server's own when there is none. */
  timeout?: number | undefined;
  resetTimeoutOnProgress?: boolean | undefined;
  onProgress?: ((progress: MCPProgress) => void) | undefined;
}

/** A sign of progress, as the server sent it. */
export interface MCPProgress {
  progress: number;
  total?: number;
  message?: string;
  [key: string]: unknown;
}

/** A question of the server's, or of what is between us and it. */
interface Asked {
  kind: string;
  question: unknown;
}

export type Query =
  | "listTools"
  | "listResources"
  | "listResourceTemplates"
  | "listPrompts"
  | "readResource"
  | "getPrompt";

/** The way to one server: requests out, answers in. Answers are JSON as the server wrote it, parsed. */
export class ServerLink {
  readonly #native: McpClient;
  readonly #pending = new PendingWork<number>(numbers(), {
    asked: (question: number, { kind, question: about }: Asked) => this.#answer(question, kind, about),
    changed: (_, tools: ListedTools) => this.#onTools?.(tools),
  });
  #onTools: ((tools: ListedTools) => void) | undefined;

  constructor(
    readonly name: string,
    readonly config: MCPClientConfig,
  ) {
    this.#native = new native.McpClient(runtime, this.#pending.mailbox, name, describeConfig(name, config));
  }

  /** Called with the new tools when the server changes them. */
  set onTools(listener: (tools: ListedTools) => void) {
    this.#onTools = listener;
  }

  connect<T>(): Promise<T> {
    return this.#request({}, (request) => this.#native.connect(request));
  }

  call<T>(tool: string, input: string | undefined, options: RequestOptions): Promise<T> {
    const { timeout, resetTimeoutOnProgress, onProgress } = options;
    return this.#request(options, (request) =>
      this.#native.call(request, tool, input, timeout, resetTimeoutOnProgress, onProgress !== undefined),
    );
  }

  query<T>(what: Query, options: RequestOptions, name?: string, input?: string): Promise<T> {
    return this.#request(options, (request) =>
      this.#native.query(request, what, name, input, options.timeout),
    );
  }

  async close(): Promise<void> {
    await this.#request({}, (request) => this.#native.close(request));
  }

  status(): string {
    return this.#native.status();
  }

  #request<T>({ signal, onProgress }: RequestOptions, start: (request: number) => void): Promise<T> {
    if (signal?.aborted === true) return Promise.reject(this.#aborted());
    return this.#pending.run<T>({
      owner: this.#native,
      signal,
      start,
      cancel: (request) => this.#native.cancel(request),
      event: onProgress && ((progress) => this.#progress(onProgress, progress)),
    });
  }

  #aborted(): CallError {
    return new CallError(
      InfrastructureErrorCode.ABORTED,
      `MCP server '${this.name}': the call was aborted before it was sent`,
      { server: this.name, mayHaveExecuted: false },
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
    try {
      listener(progress as MCPProgress);
    } catch (error) {
      // What the user's own function throws must neither end the call nor the process.
      log.error(
        `A listener to the progress of a call to MCP server '${this.name}' failed: ${messageOf(error)}`,
        { server: this.name },
      );
    }
  }
}
