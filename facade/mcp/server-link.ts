import { onAbort } from "../border/abort.js";
import { keepAlive, letGo } from "../border/keep-alive.js";
import { CallError, InfrastructureErrorCode } from "../errors.js";
import { logger } from "../logging.js";
import type { McpClient } from "../native-binding.js";
import { native, runtime } from "../runtime.js";
import { describeConfig, type MCPClientConfig } from "./config.js";
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

interface Pending {
  resolve(text: string): void;
  reject(error: unknown): void;
  onProgress: RequestOptions["onProgress"];
  /** Stops listening to the caller's signal. */
  release: (() => void) | undefined;
}

export type Query =
  | "listTools"
  | "listResources"
  | "listResourceTemplates"
  | "listPrompts"
  | "readResource"
  | "getPrompt";

/** The way to one server: requests out, answers in. */
export class ServerLink {
  readonly #native: McpClient;
  readonly #pending = new Map<number, Pending>();
  #lastRequest = 0;
  #onTools: ((tools: string) => void) | undefined;

  constructor(
    readonly name: string,
    readonly config: MCPClientConfig,
  ) {
    // Native code holds the function; held strongly, the link would never be collected.
    const link = new WeakRef(this);
    this.#native = new native.McpClient(runtime, name, describeConfig(name, config), () => {
      const target = link.deref();
      if (target !== undefined) target.#fetch();
    });
  }

  /** Called with the new tools, as JSON, when the server changes them. */
  set onTools(listener: (tools: string) => void) {
    this.#onTools = listener;
  }

  connect(): Promise<string> {
    return this.#request({}, (request) => this.#native.connect(request));
  }

  call(tool: string, input: string | undefined, options: RequestOptions): Promise<string> {
    const { timeout, resetTimeoutOnProgress, onProgress } = options;
    return this.#request(options, (request) =>
      this.#native.call(request, tool, input, timeout, resetTimeoutOnProgress, onProgress !== undefined),
    );
  }

  query(what: Query, options: RequestOptions, name?: string, input?: string): Promise<string> {
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

  #request({ signal, onProgress }: RequestOptions, start: (request: number) => void): Promise<string> {
    if (signal?.aborted === true) return Promise.reject(this.#aborted());
    this.#lastRequest = (this.#lastRequest + 1) >>> 0;
    const request = this.#lastRequest;
    return new Promise((resolve, reject) => {
      const pending: Pending = { resolve, reject, onProgress, release: undefined };
      if (signal !== undefined) pending.release = onAbort(signal, () => this.#native.cancel(request));
      this.#pending.set(request, pending);
      if (this.#pending.size === 1) keepAlive(this);
      start(request);
    });
  }

  #aborted(): CallError {
    return new CallError(
      InfrastructureErrorCode.ABORTED,
      `MCP server '${this.name}': the call was aborted before it was sent`,
      { server: this.name, mayHaveExecuted: false },
    );
  }

  /** Takes everything that waits. It must not throw: it is called by the event loop itself. */
  #fetch(): void {
    const news = this.#native.drain();
    for (let index = 0; index < news.length; index += 2) {
      try {
        this.#handle(news[index] as string, news[index + 1] as string);
      } catch (error) {
        log.error(`What MCP server '${this.name}' sent could not be taken: ${String(error)}`, {
          server: this.name,
        });
      }
    }
  }

  #handle(head: string, text: string): void {
    const rest = head.slice(1);
    switch (head[0]) {
      case "r":
        this.#settle(Number(rest))?.resolve(text);
        break;
      case "e":
        this.#settle(Number(rest))?.reject(errorOf(text));
        break;
      case "p":
        this.#progress(this.#pending.get(Number(rest)), text);
        break;
      case "t":
        this.#onTools?.(text);
        break;
      default:
        this.#answer(rest, text);
    }
  }

  /** `7:kind` is question 7. */
  #answer(head: string, text: string): void {
    const [question, kind] = head.split(":") as [string, string];
    answerQuestion(this.name, this.config, kind, text).then(
      (answer) => this.#native.answer(Number(question), answer),
      (reason) => this.#native.answer(Number(question), undefined, String(reason?.message ?? reason)),
    );
  }

  #settle(request: number): Pending | undefined {
    const pending = this.#pending.get(request);
    if (pending === undefined) return undefined;
    this.#pending.delete(request);
    pending.release?.();
    if (this.#pending.size === 0) letGo(this);
    return pending;
  }

  #progress(pending: Pending | undefined, text: string): void {
    try {
      const { progressToken: _, ...progress } = JSON.parse(text);
      pending?.onProgress?.(progress as MCPProgress);
    } catch (error) {
      // What the user's own function throws must neither end the call nor the process.
      log.error(
        `A listener to the progress of a call to MCP server '${this.name}' failed: ${String(error)}`,
        {
          server: this.name,
        },
      );
    }
  }
}

function errorOf(text: string): CallError {
  const { code, message, details } = JSON.parse(text);
  return new CallError(code, message, details);
}
