// What users see of a server.

import type { CallError } from "../errors.js";
import type { MCPOperation, MCPToolProblem, ToolChanges } from "./operations.js";

type Json = Record<string, unknown>;

/**
 * A sign of progress, as the server sent it.
 *
 * @example
 * ```ts
 * const show = ({ progress, total }: MCPProgress) => console.log(`${progress} of ${total ?? "?"}`);
 * ```
 */
export interface MCPProgress {
  progress: number;
  total?: number;
  message?: string;
  [key: string]: unknown;
}

/**
 * Options of a request.
 *
 * @example
 * ```ts
 * const options: MCPRequestOptions = { timeout: 5_000, onProgress: ({ progress }) => console.log(progress) };
 * const resources = await wrapper.listResources(options);
 * ```
 */
export interface MCPRequestOptions {
  signal?: AbortSignal | undefined;
  /** In milliseconds (default: the `timeout` of the configuration). */
  timeout?: number | undefined;
  onProgress?: ((progress: MCPProgress) => void) | undefined;
}

/**
 * The state of a server.
 *
 * @example
 * ```ts
 * const { state, stderr }: MCPServerStatus = wrapper.status();
 * if (state === "failed") console.error(stderr);
 * ```
 */
export interface MCPServerStatus {
  state: "stopped" | "connecting" | "connected" | "idle" | "lost" | "failed" | "closed";
  /** How many tools it has. */
  tools: number;
  lastError?: { code: string; message: string };
  /** The end of what it wrote to standard error. */
  stderr: string;
  pid?: number;
  protocolVersion?: string;
}

/**
 * Whether a server can be used, and what is missing. `stopped` was not started yet, `idle` was stopped because it was not called;
 * both start with the next call, and so does one that has `failed`.
 *
 * @example
 * ```ts
 * const show = ({ status, error }: MCPServerReport) => `${status} ${error?.message ?? ""}`;
 * ```
 */
export interface MCPServerReport {
  status:
    | "disabled"
    | "stopped"
    | "starting"
    | "connected"
    | "idle"
    | "needs-auth"
    | "needs-registration"
    | "failed";
  error?: CallError;
  /** With `needs-auth`: the page to visit, while it is waited for. With `needs-registration`: where to register a client. */
  url?: string;
  /** With `needs-auth`: what the token has to allow, if the server says so. */
  scopes?: string[];
}

/**
 * What `loader.on("status")` reports: the server, and how it is now.
 *
 * @example
 * ```ts
 * const listener = ({ name, status, url }: MCPStatusEvent) => console.log(name, status, url);
 * new MCPClientLoader().on("status", listener);
 * ```
 */
export interface MCPStatusEvent extends MCPServerReport {
  name: string;
}

/** What a server says about itself. */
export interface ServerFacts {
  serverInfo?: MCPServerInfo | null;
  protocolVersion?: string | null;
  capabilities?: Json | null;
  instructions?: string | null;
}

/**
 * The name and version that a server reports.
 *
 * @example
 * ```ts
 * const { name, version }: MCPServerInfo = wrapper.client.serverInfo;
 * ```
 */
export interface MCPServerInfo {
  name?: string;
  version?: string;
  title?: string;
  [key: string]: unknown;
}

/**
 * The connection of a wrapper: the protocol's own methods, with results as the server sent them.
 *
 * @example
 * ```ts
 * const { client } = await createMCPClient("files", { command: "npx", args: ["-y", "some-server"] });
 * const { tools } = await (client satisfies MCPClient).listTools();
 * ```
 */
export interface MCPClient {
  readonly serverInfo: MCPServerInfo;
  readonly protocolVersion: string | undefined;
  readonly capabilities: Json;
  readonly instructions: string | undefined;
  callTool(call: { name: string; arguments?: Json }, options?: MCPRequestOptions): Promise<Json>;
  /** Reads the list of tools again. */
  listTools(options?: MCPRequestOptions): Promise<{ tools: Json[] }>;
  /** Notifies the server that the result of `roots` has changed. */
  rootsChanged(): void;
  /** Closing twice is harmless. */
  close(): Promise<void>;
  [Symbol.asyncDispose](): Promise<void>;
}

/**
 * Called when a server changes its tools.
 *
 * @example
 * ```ts
 * const listener: MCPToolsListener = (tools, { added }) => console.log(`${added.length} new of ${tools.length}`);
 * const stop = wrapper.onToolsChanged(listener);
 * ```
 */
export type MCPToolsListener = (tools: MCPOperation[], changes: ToolChanges) => void;

/**
 * A connected server and its tools.
 *
 * @example
 * ```ts
 * const files: MCPClientWrapper = await createMCPClient("files", { command: "npx", args: ["-y", "some-server"] });
 * registry.registerAll(files.tools);
 * await files.close();
 * ```
 */
export interface MCPClientWrapper {
  readonly name: string;
  readonly client: MCPClient;
  /** One operation for each tool. Replaced when the server changes its tools. */
  readonly tools: MCPOperation[];
  /** Tools, or schemas of tools, that could not be imported as they are. */
  readonly problems: MCPToolProblem[];
  /** Adds a listener. Returns a function that removes it. */
  onToolsChanged(listener: MCPToolsListener): () => void;
  listResources(options?: MCPRequestOptions): Promise<Json[]>;
  listResourceTemplates(options?: MCPRequestOptions): Promise<Json[]>;
  readResource(uri: string, options?: MCPRequestOptions): Promise<Json>;
  listPrompts(options?: MCPRequestOptions): Promise<Json[]>;
  getPrompt(name: string, args?: Record<string, string>, options?: MCPRequestOptions): Promise<Json>;
  status(): MCPServerStatus;
  /** @deprecated Use `status()`. */
  getStatus(): MCPServerStatus;
  /** Does the same as `closeMCPClient`. */
  close(): Promise<void>;
  /** `await using server = await createMCPClient(...)` closes it at the end of the block. */
  [Symbol.asyncDispose](): Promise<void>;
}
