import { nearestName } from "../border/nearest-name.js";
import { isObject, isRecord } from "../border/options.js";
import { CallError, failed, invalid, mapError } from "../errors.js";
import type { OperationRegistry } from "../registry/registry.js";
import { SyncedOperations } from "../registry/synced-operations.js";
import { Client } from "./client.js";
import type { MCPClientWrapper, MCPServerStatus } from "./client-types.js";
import type { MCPClientConfig } from "./config.js";
import type { MCPOperation } from "./operations.js";

/**
 * Servers by name.
 *
 * @example
 * ```ts
 * const servers: MCPServers = {
 *   files: { command: "npx", args: ["-y", "some-server"] },
 *   search: { url: "https://mcp.example/search" },
 * };
 * ```
 */
export type MCPServers = Record<string, MCPClientConfig>;

/**
 * What `load` takes: servers by name, or a file that has them under `mcpServers`.
 *
 * @example
 * ```ts
 * const file: MCPServersFile = { mcpServers: { files: { command: "npx", args: ["-y", "some-server"] } } };
 * await new MCPClientLoader().load(file);
 * ```
 */
export type MCPServersFile = MCPServers | { mcpServers: MCPServers };

/**
 * The result of `load` with `partial`: which servers connected, and which failed.
 *
 * @example
 * ```ts
 * const loader = new MCPClientLoader();
 * const { failures }: MCPLoadReport = await loader.load(
 *   { files: { command: "some-server" } },
 *   { partial: true },
 * );
 * for (const { name, error } of failures) console.warn(name, error.message);
 * ```
 */
export interface MCPLoadReport {
  wrappers: MCPClientWrapper[];
  failures: Array<{ name: string; error: CallError }>;
}

/**
 * Several MCP servers.
 *
 * @example
 * ```ts
 * const servers = new MCPClientLoader();
 * await servers.load({ files: { command: "files-server" }, search: { url: "https://search.example/mcp" } });
 * servers.registerAll(registry);
 * await servers.closeAll();
 * ```
 */
export class MCPClientLoader {
  readonly #wrappers = new Map<string, Client>();
  /** Servers that did not connect, for the status. */
  readonly #failed = new Map<string, MCPServerStatus>();
  readonly #connecting = new Map<string, Client>();
  /** How to stop keeping registries in step. */
  readonly #stops = new Map<string, Array<() => void>>();
  readonly #inStep: OperationRegistry[] = [];
  /** What is registered where, by the name of the server. */
  readonly #registered = new WeakMap<OperationRegistry, Map<string, SyncedOperations>>();

  /**
   * Connects to all servers at the same time. Rejects if some fail, and names each. The servers that connected stay
   * available. With `partial`, it always resolves, with the failures in its result.
   */
  load(config: MCPServersFile, options?: { partial?: false }): Promise<MCPClientWrapper[]>;
  load(config: MCPServersFile, options: { partial: true }): Promise<MCPLoadReport>;
  async load(
    config: MCPServersFile,
    options: { partial?: boolean } = {},
  ): Promise<MCPClientWrapper[] | MCPLoadReport> {
    const servers = Object.entries(serversOf(config)).filter(([, server]) => server?.disabled !== true);
    const outcomes = await Promise.all(servers.map(([name, server]) => this.#loadOne(name, server)));
    const report: MCPLoadReport = { wrappers: [], failures: [] };
    outcomes.forEach((outcome, index) => {
      const [name] = servers[index] as [string, MCPClientConfig];
      if (outcome instanceof CallError) report.failures.push({ name, error: outcome });
      else report.wrappers.push(outcome);
    });
    if (options.partial === true) return report;
    if (report.failures.length > 0) throw loadError(servers.length, report);
    return report.wrappers;
  }

  async #loadOne(name: string, config: MCPClientConfig): Promise<Client | CallError> {
    let client: Client | undefined;
    try {
      const made = Client.make(name, config);
      client = made instanceof Promise ? await made : made;
      this.#connecting.set(name, client);
      await client.connect();
      const before = this.#wrappers.get(name);
      this.#forget(name);
      this.#wrappers.set(name, client);
      this.#failed.delete(name);
      for (const registry of this.#inStep) {
        this.#operationsIn(registry, name).refresh(client.tools);
        this.#keepInStep(registry, client);
      }
      if (before !== undefined) await before.close();
      return client;
    } catch (failure) {
      const error = mapError(failure);
      this.#failed.set(name, {
        state: "failed",
        tools: 0,
        stderr: client?.getStatus().stderr ?? "",
        lastError: { code: error.code, message: error.message },
      });
      return error;
    } finally {
      if (this.#connecting.get(name) === client) this.#connecting.delete(name);
    }
  }

  getClient(name: string): MCPClientWrapper | undefined {
    return this.#wrappers.get(name);
  }

  getAllWrappers(): MCPClientWrapper[] {
    return [...this.#wrappers.values()];
  }

  /** The tools of all servers. */
  getAllOperations(): MCPOperation[] {
    return this.getAllWrappers().flatMap(({ tools }) => tools);
  }

  /** The state of each server, including servers that did not connect. */
  getStatus(): Record<string, MCPServerStatus> {
    return Object.fromEntries([
      ...this.#failed,
      ...Array.from(
        [...this.#connecting, ...this.#wrappers],
        ([name, client]) => [name, client.getStatus()] as const,
      ),
    ]);
  }

  /**
   * Registers the tools of all servers. With `keepInStep`, tools that servers add, change or remove later, and servers that are
   * loaded later, are followed. Throws if another operation has the id of a tool (`reason: "collision"`). A tool that gets such
   * an id later is left out, and the log says so.
   */
  registerAll(registry: OperationRegistry, options: { keepInStep?: boolean } = {}): void {
    for (const { name, tools } of this.#wrappers.values()) this.#operationsIn(registry, name).import(tools);
    if (options.keepInStep !== true || this.#inStep.includes(registry)) return;
    this.#inStep.push(registry);
    for (const wrapper of this.#wrappers.values()) this.#keepInStep(registry, wrapper);
  }

  #operationsIn(registry: OperationRegistry, server: string): SyncedOperations {
    const byServer = this.#registered.get(registry) ?? new Map<string, SyncedOperations>();
    this.#registered.set(registry, byServer);
    const operations = byServer.get(server) ?? new SyncedOperations(registry, `MCP server '${server}'`);
    byServer.set(server, operations);
    return operations;
  }

  #keepInStep(registry: OperationRegistry, wrapper: Client): void {
    const { name } = wrapper;
    const stop = wrapper.onToolsChanged((tools) => this.#operationsIn(registry, name).refresh(tools));
    this.#stops.set(name, [...(this.#stops.get(name) ?? []), stop]);
  }

  #forget(name: string): void {
    for (const stop of this.#stops.get(name) ?? []) stop();
    this.#stops.delete(name);
    this.#wrappers.delete(name);
  }

  /** Closes all connections. */
  async closeAll(): Promise<void> {
    const clients = [...this.#wrappers.values(), ...this.#connecting.values()];
    for (const name of [...this.#wrappers.keys()]) this.#forget(name);
    this.#failed.clear();
    this.#inStep.length = 0;
    await Promise.all(clients.map((client) => client.close()));
  }

  /** `await using servers = new MCPClientLoader()` closes them at the end of the block. */
  [Symbol.asyncDispose](): Promise<void> {
    return this.closeAll();
  }
}

function serversOf(config: MCPServersFile): MCPServers {
  const servers: unknown = isFile(config) ? config.mcpServers : config;
  if (isRecord(servers)) {
    const misspelt = Object.keys(servers).find((name) => isMisspelt(name, servers[name]));
    if (misspelt === undefined) return servers as MCPServers;
    throw invalid(
      `MCPClientLoader.load: ${misspelt} is not a server, but has servers in it. Did you mean mcpServers?`,
    );
  }
  throw invalid(
    "MCPClientLoader.load expects an object with a configuration for each server, or one that has them under 'mcpServers'",
  );
}

/** Whether an entry is no server, but `mcpServers` by another name. */
function isMisspelt(name: string, entry: unknown): boolean {
  if (nearestName(name, ["mcpServers"]) === undefined || !isRecord(entry)) return false;
  const servers = Object.values(entry);
  return servers.length > 0 && servers.every((one) => isRecord(one) && ("command" in one || "url" in one));
}

/** A server may be called `mcpServers` too; then it says how it is started or reached. */
function isFile(config: MCPServersFile): config is { mcpServers: MCPServers } {
  const servers: unknown = (config as { mcpServers?: unknown } | null)?.mcpServers;
  if (!isObject(servers)) return false;
  const { command, url } = servers as MCPClientConfig;
  return typeof command !== "string" && typeof url !== "string";
}

function loadError(count: number, { wrappers, failures }: MCPLoadReport): CallError {
  const lines = failures.map(({ error }) => `  - ${error.message}`);
  return failed(`${failures.length} of ${count} MCP servers could not be loaded:\n${lines.join("\n")}`, {
    failures: failures.map(({ name, error: { code, message, details } }) => ({
      name,
      code,
      message,
      details,
    })),
    loaded: wrappers.map(({ name }) => name),
  });
}
