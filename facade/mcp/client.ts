import { CallError, InfrastructureErrorCode } from "../errors.js";
import { logger } from "../logging.js";
import { checkedConfig, type MCPClientConfig } from "./config.js";
import {
  argumentsOf,
  type ListedTools,
  type MCPOperation,
  type MCPToolProblem,
  type ToolChanges,
  ToolList,
} from "./operations.js";
import { type Query, type RequestOptions, ServerLink } from "./server-link.js";

const log = logger("mcp");

type Json = Record<string, unknown>;

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
  close(): Promise<void>;
}

export type MCPRequestOptions = Pick<RequestOptions, "signal" | "timeout" | "onProgress">;

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
}

interface Connected extends ListedTools {
  about: {
    serverInfo?: MCPServerInfo | null;
    protocolVersion?: string | null;
    capabilities?: Json | null;
    instructions?: string | null;
  };
}

/** A server, once it is connected. @internal */
export class ConnectedServer implements MCPClientWrapper {
  readonly name: string;
  readonly client: MCPClient;
  readonly #link: ServerLink;
  readonly #list: ToolList;
  readonly #listeners = new Set<MCPToolsListener>();
  #closing: Promise<void> | undefined;
  tools: MCPOperation[];

  constructor(link: ServerLink, { about, ...tools }: Connected) {
    this.name = link.name;
    this.#link = link;
    const serverInfo = about.serverInfo ?? {};
    const version = link.config.version || serverInfo.version || "1.0.0";
    this.#list = new ToolList(link, version);
    this.#list.update(tools);
    this.tools = this.#list.operations;
    link.onTools = (tools) => this.#toolsChanged(tools);
    this.client = {
      serverInfo,
      protocolVersion: about.protocolVersion ?? undefined,
      capabilities: about.capabilities ?? {},
      instructions: about.instructions ?? undefined,
      callTool: async ({ name, arguments: input }, options = {}) =>
        link.call(name, argumentsOf(link.name, name, input), options),
      listTools: async (options) => ({ tools: await this.#query("listTools", options) }),
      close: () => this.close(),
    };
  }

  get problems(): MCPToolProblem[] {
    return this.#list.problems;
  }

  onToolsChanged(listener: MCPToolsListener): () => void {
    this.#listeners.add(listener);
    return () => {
      this.#listeners.delete(listener);
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

  getPrompt(name: string, args?: Record<string, string>, options?: MCPRequestOptions): Promise<Json> {
    return this.#query("getPrompt", options, name, argumentsOf(this.name, name, args));
  }

  getStatus(): MCPServerStatus {
    return statusOf(this.#link);
  }

  /** Closing twice is harmless. */
  close(): Promise<void> {
    this.#closing ??= this.#link.close();
    this.#listeners.clear();
    return this.#closing;
  }

  async #query<T>(what: Query, options: MCPRequestOptions = {}, name?: string, input?: string): Promise<T> {
    return this.#link.query(what, options, name, input);
  }

  #toolsChanged(tools: ListedTools): void {
    const changes = this.#list.update(tools);
    if (changes.added.length + changes.removed.length + changes.changed.length === 0) return;
    this.tools = this.#list.operations;
    for (const listener of [...this.#listeners]) {
      try {
        listener(this.tools, changes);
      } catch (error) {
        log.error(`A listener to the tools of MCP server '${this.name}' failed: ${String(error)}`, {
          server: this.name,
        });
      }
    }
  }
}

/** What is known about the server at the other end of a link. */
export function statusOf(link: ServerLink): MCPServerStatus {
  const { lastError, pid, protocolVersion, ...status } = JSON.parse(link.status());
  return {
    ...status,
    ...(lastError != null && { lastError: { code: lastError.code, message: lastError.message } }),
    ...(pid != null && { pid }),
    ...(protocolVersion != null && { protocolVersion }),
  };
}

/** Connects to an MCP server: starts it (`command`) or reaches it (`url`), and reads its tools. */
export async function createMCPClient(name: string, config: MCPClientConfig): Promise<MCPClientWrapper> {
  return connect(openLink(name, config));
}

/** @internal */
export function openLink(name: string, config: MCPClientConfig): ServerLink {
  return new ServerLink(name, checkedConfig(name, config));
}

/** @internal */
export async function connect(link: ServerLink): Promise<ConnectedServer> {
  return new ConnectedServer(link, await link.connect());
}

/** Ends the connection. For a server that was started here, resolves when its process, and everything that
 * it started, is gone. Closing twice is harmless. */
export async function closeMCPClient(wrapper: MCPClientWrapper): Promise<void> {
  if (typeof wrapper?.client?.close !== "function") {
    throw new CallError(
      InfrastructureErrorCode.VALIDATION_ERROR,
      "closeMCPClient expects what createMCPClient resolved to",
    );
  }
  await wrapper.client.close();
}
