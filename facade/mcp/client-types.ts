// What users see of a server.

import type { MCPOperation, MCPToolProblem, ToolChanges } from "./operations.js";

type Json = Record<string, unknown>;

/** A sign of progress, as the server sent it. */
export interface MCPProgress {
  progress: number;
  total?: number;
  message?: string;
  [key: string]: unknown;
}

/** How a request is made. */
export interface MCPRequestOptions {
  signal?: AbortSignal | undefined;
  /** In ms; the server's own when there is none. */
  timeout?: number | undefined;
  onProgress?: ((progress: MCPProgress) => void) | undefined;
}

/** What is known about a server. */
export interface MCPServerStatus {
  state: "connecting" | "connected" | "lost" | "failed" | "closed";
  /** How many tools it has. */
  tools: number;
  lastError?: { code: string; message: string };
  /** The end of what it wrote to standard error. */
  stderr: string;
  pid?: number;
  protocolVersion?: string;
}

/** Who a server says it is. */
export interface MCPServerInfo {
  name?: string;
  version?: string;
  title?: string;
  [key: string]: unknown;
}

/** The connection of a wrapper: the protocol's own methods, with results as the server sent them. */
export interface MCPClient {
  readonly serverInfo: MCPServerInfo;
  readonly protocolVersion: string | undefined;
  readonly capabilities: Json;
  readonly instructions: string | undefined;
  callTool(call: { name: string; arguments?: Json }, options?: MCPRequestOptions): Promise<Json>;
  /** Reads the list anew. */
  listTools(options?: MCPRequestOptions): Promise<{ tools: Json[] }>;
  /** Closing twice is harmless. */
  close(): Promise<void>;
  [Symbol.asyncDispose](): Promise<void>;
}

/** Told when a server changes its tools. */
export type MCPToolsListener = (tools: MCPOperation[], changes: ToolChanges) => void;

/** A connected server and its tools. */
export interface MCPClientWrapper {
  readonly name: string;
  readonly client: MCPClient;
  /** One operation for each tool. Replaced when the server changes its tools. */
  readonly tools: MCPOperation[];
  /** Tools, or schemas of tools, that could not be imported as they are. */
  readonly problems: MCPToolProblem[];
  /** Returns how to stop listening. */
  onToolsChanged(listener: MCPToolsListener): () => void;
  listResources(options?: MCPRequestOptions): Promise<Json[]>;
  listResourceTemplates(options?: MCPRequestOptions): Promise<Json[]>;
  readResource(uri: string, options?: MCPRequestOptions): Promise<Json>;
  listPrompts(options?: MCPRequestOptions): Promise<Json[]>;
  getPrompt(name: string, args?: Record<string, string>, options?: MCPRequestOptions): Promise<Json>;
  getStatus(): MCPServerStatus;
  /** As `closeMCPClient`. */
  close(): Promise<void>;
  /** `await using server = await createMCPClient(...)` closes it at the end of the block. */
  [Symbol.asyncDispose](): Promise<void>;
}
