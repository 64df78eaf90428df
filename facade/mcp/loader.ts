import { CallError, failed, invalid, mapError } from "../errors.js";
import { Listeners } from "../interop/listeners.js";
import { nearestName } from "../interop/nearest-name.js";
import { aFunction, isObject, isRecord, must } from "../interop/options.js";
import { messageOf } from "../interop/text.js";
import { logger } from "../logging.js";
import { alsoNeeds, type Connection } from "../registry/connection-state.js";
import type { OperationRegistry } from "../registry/registry.js";
import { SyncedOperations } from "../registry/synced-operations.js";
import { Client, reportOf } from "./client.js";
import type { MCPClientWrapper, MCPServerReport, MCPServerStatus, MCPStatusEvent } from "./client-types.js";
import { isDisabled, type MCPClientConfig } from "./config.js";
import type { MCPOperation } from "./operations.js";

const log = logger("mcp");
const anEvent = must('"status"', (value) => value === "status");

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
  readonly #servers = new Map<string, Server>();
  /** Those that `registerAll` was called for. The loader does not keep them alive, unless it keeps them in step. */
  readonly #registries = new Set<WeakRef<OperationRegistry>>();
  readonly #inStep: OperationRegistry[] = [];
  readonly #loading = new Map<string, Promise<Client | CallError>>();
  /** What is registered where, by the name of the server. */
  readonly #registered = new WeakMap<OperationRegistry, Map<string, SyncedOperations>>();
  readonly #listeners = new Listeners<MCPStatusEvent>((error) => {
    log.error(`A listener to the status of MCP servers failed: ${messageOf(error)}`);
  });

  /**
   * Connects to all servers at the same time. Rejects if some fail, and names each. The servers that connected stay
   * available. With `partial`, it always resolves, with the failures in its result. A lazy server whose tools are in its cache is
   * not started.
   */
  load(config: MCPServersFile, options?: { partial?: false }): Promise<MCPClientWrapper[]>;
  load(config: MCPServersFile, options: { partial: true }): Promise<MCPLoadReport>;
  async load(
    config: MCPServersFile,
    options: { partial?: boolean } = {},
  ): Promise<MCPClientWrapper[] | MCPLoadReport> {
    const all = Object.entries(serversOf(config));
    for (const [name, server] of all) {
      if (isDisabled(server) && !this.#servers.has(name)) {
        this.#servers.set(name, { config: server, isDisabled: true, stops: [] });
        this.#report(name);
      }
    }
    const servers = all.filter(([, server]) => !isDisabled(server));
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

  /** Loads a server, after a load of it that is still running. */
  #loadOne(
    name: string,
    config: MCPClientConfig,
    open: (client: Client) => Promise<unknown> = (client) => client.open(),
  ): Promise<Client | CallError> {
    const before = this.#loading.get(name);
    const load = () => this.#loadNow(name, config, open);
    const loading = before === undefined ? load() : before.then(load);
    this.#loading.set(name, loading);
    const done = () => this.#loading.get(name) === loading && this.#loading.delete(name);
    void loading.then(done, done);
    return loading;
  }

  async #loadNow(
    name: string,
    config: MCPClientConfig,
    open: (client: Client) => Promise<unknown>,
  ): Promise<Client | CallError> {
    const server: Server = this.#servers.get(name) ?? { config, isDisabled: false, stops: [] };
    this.#servers.set(name, server);
    server.isDisabled = false;
    let client: Client | undefined;
    let before: Client | undefined;
    try {
      const made = Client.make(name, config);
      client = made instanceof Promise ? await made : made;
      server.connecting = client;
      client.onStatus = () => this.#report(name);
      this.#report(name);
      await open(client);
      if (this.#servers.get(name) !== server || server.isDisabled) {
        throw failed(`MCP server '${name}' was closed while it was loaded`, {
          server: name,
          reason: "closed",
        });
      }
      before = server.client;
      this.#detach(server);
      Object.assign(server, { client, config, failure: undefined, connecting: undefined });
      for (const registry of this.#registriesOf(name))
        this.#operationsIn(registry, name).refresh(client.tools);
      for (const registry of this.#inStep) this.#keepInStep(registry, server, client);
      return client;
    } catch (reason) {
      const error = mapError(reason);
      server.failure = { error, stderr: client?.status().stderr ?? "" };
      await client?.close();
      return error;
    } finally {
      if (server.connecting === client) server.connecting = undefined;
      this.#report(name);
      await before?.close().catch((error: unknown) => {
        log.warn(`The former connection of MCP server '${name}' was not closed: ${messageOf(error)}`, {
          server: name,
        });
      });
    }
  }

  getClient(name: string): MCPClientWrapper | undefined {
    return this.#servers.get(name)?.client;
  }

  getAllWrappers(): MCPClientWrapper[] {
    return [...this.#servers.values()].flatMap(({ client }) => client ?? []);
  }

  /** The tools of all servers. */
  getAllOperations(): MCPOperation[] {
    return this.getAllWrappers().flatMap(({ tools }) => tools);
  }

  /** The state of each connection, including servers that did not connect. */
  getStatus(): Record<string, MCPServerStatus> {
    const states = Array.from(this.#servers, ([name, { client, connecting, failure }]) => {
      const made = client ?? connecting;
      if (made !== undefined) return [[name, made.status()]];
      if (failure === undefined) return [];
      const { code, message } = failure.error;
      const { stderr } = failure;
      return [[name, { state: "failed", tools: 0, stderr, lastError: { code, message } }]];
    });
    return Object.fromEntries(states.flat());
  }

  /** Whether each server can be used, and what is missing. Disabled servers are among them. */
  status(): Record<string, MCPServerReport> {
    return Object.fromEntries(Array.from(this.#servers, ([name, server]) => [name, reportOn(server)]));
  }

  /** Adds a listener for changes of `status()`. Returns a function that removes it. */
  on(event: "status", listener: (event: MCPStatusEvent) => unknown): () => void {
    anEvent(event, "MCPClientLoader.on: event");
    return this.#listeners.add(aFunction(listener, "MCPClientLoader.on: listener") as typeof listener);
  }

  #report(name: string): void {
    const server = this.#servers.get(name);
    if (server === undefined) return;
    const report = reportOn(server);
    const text = JSON.stringify({ ...report, error: report.error?.message });
    if (text === server.reported) return;
    server.reported = text;
    this.#listeners.notify({ name, ...report });
  }

  /** Loads a server that is disabled. Its operations return to the registries that they were in. */
  async enable(name: string): Promise<void> {
    const server = this.#known(name);
    if (server.isDisabled) await this.#loadAgain(name, server.config);
  }

  /** Stops a server. Its operations leave the registries that `registerAll` put them in. */
  async disable(name: string): Promise<void> {
    const server = this.#known(name);
    const clients = [server.client, server.connecting];
    server.isDisabled = true;
    this.#detach(server);
    server.client = undefined;
    for (const registry of this.#registriesOf(name)) this.#operationsIn(registry, name).clear();
    this.#report(name);
    await Promise.all(clients.map((client) => client?.close()));
  }

  /** Stops a server and starts it again. One that could not be loaded is loaded. */
  async restart(name: string): Promise<void> {
    const { client, config } = this.#enabled(name);
    if (client === undefined) return this.#loadAgain(name, config);
    await client.stop();
    await client.connect();
  }

  /** Asks the user for permission to use a server: with `onAuthorize`, or with the page that the status event `needs-auth` has. */
  async authorize(name: string): Promise<void> {
    const { client, config } = this.#enabled(name);
    if (config.url === undefined) {
      throw invalid(`MCP server '${name}' runs locally and has no authorization server`, {
        server: name,
      });
    }
    if (client !== undefined && config.oauth !== undefined) return client.authorize();
    await this.#loadAgain(name, { ...config, oauth: config.oauth ?? {} }, (made) => made.authorize());
  }

  async #loadAgain(name: string, config: MCPClientConfig, open?: (client: Client) => Promise<void>) {
    const loaded = await this.#loadOne(name, config, open);
    if (loaded instanceof CallError) throw loaded;
  }

  #known(name: string): Server {
    const server = this.#servers.get(name);
    if (server !== undefined) return server;
    const nearest = nearestName(String(name), [...this.#servers.keys()]);
    const hint = nearest === undefined ? "" : `. Did you mean '${nearest}'?`;
    throw invalid(`There is no MCP server '${name}'${hint}`, { server: name });
  }

  #enabled(name: string): Server {
    const server = this.#known(name);
    if (!server.isDisabled) return server;
    throw invalid(`MCP server '${name}' is disabled. enable() starts it`, { server: name });
  }

  /**
   * Registers the tools of all servers. With `keepInStep`, tools that servers add, change or remove later, and servers that are
   * loaded later, are followed. Throws if another operation has the id of a tool (`reason: "collision"`). A tool that gets such
   * an id later is left out, and the log says so.
   */
  registerAll(registry: OperationRegistry, options: { keepInStep?: boolean } = {}): void {
    for (const [name, { client }] of this.#servers) {
      this.#operationsIn(registry, name).import(client?.tools ?? []);
    }
    if (options.keepInStep !== true || this.#inStep.includes(registry)) return;
    this.#inStep.push(registry);
    for (const server of this.#servers.values()) {
      if (server.client !== undefined) this.#keepInStep(registry, server, server.client);
    }
  }

  /** The registries that have operations of a server, or are to have them. */
  #registriesOf(name: string): Set<OperationRegistry> {
    const found = new Set(this.#inStep);
    for (const reference of this.#registries) {
      const registry = reference.deref();
      if (registry === undefined) this.#registries.delete(reference);
      else if (this.#registered.get(registry)?.has(name) === true) found.add(registry);
    }
    return found;
  }

  #operationsIn(registry: OperationRegistry, server: string): SyncedOperations {
    let byServer = this.#registered.get(registry);
    if (byServer === undefined) {
      byServer = new Map();
      this.#registered.set(registry, byServer);
      this.#registries.add(new WeakRef(registry));
      alsoNeeds(registry, () => this.#notLoaded());
    }
    const operations = byServer.get(server) ?? new SyncedOperations(registry, `MCP server '${server}'`);
    byServer.set(server, operations);
    return operations;
  }

  /** Servers that are enabled and have not been loaded, for `GET /ready`. */
  #notLoaded(): Connection[] {
    const absent = [...this.#servers].filter(
      ([, { client, isDisabled }]) => client === undefined && !isDisabled,
    );
    return absent.map(([name, server]) => ({ kind: "mcp", name, state: () => reportOn(server).status }));
  }

  #keepInStep(registry: OperationRegistry, server: Server, client: Client): void {
    const { name } = client;
    server.stops.push(client.onToolsChanged((tools) => this.#operationsIn(registry, name).refresh(tools)));
  }

  /** Keeps registries in step no longer. */
  #detach(server: Server): void {
    for (const stop of server.stops.splice(0)) stop();
  }

  /** Closes all connections. Operations leave the registries that `registerAll` put them in. */
  async closeAll(): Promise<void> {
    const servers = [...this.#servers.values()];
    for (const [name, server] of this.#servers) {
      this.#detach(server);
      for (const registry of this.#registriesOf(name)) this.#operationsIn(registry, name).clear();
    }
    this.#servers.clear();
    this.#inStep.length = 0;
    await Promise.all(servers.flatMap(({ client, connecting }) => [client?.close(), connecting?.close()]));
  }

  /** `await using servers = new MCPClientLoader()` closes them at the end of the block. */
  [Symbol.asyncDispose](): Promise<void> {
    return this.closeAll();
  }
}

interface Server {
  config: MCPClientConfig;
  isDisabled: boolean;
  /** What was loaded. */
  client?: Client | undefined;
  /** What is being loaded, perhaps in place of it. */
  connecting?: Client | undefined;
  /** Why the last attempt to load it failed. */
  failure?: { readonly error: CallError; readonly stderr: string } | undefined;
  /** How to stop keeping registries in step. */
  readonly stops: Array<() => void>;
  /** The last status that listeners have heard of, as JSON. */
  reported?: string;
}

function reportOn({ isDisabled, client, connecting, failure }: Server): MCPServerReport {
  if (isDisabled) return { status: "disabled" };
  const made = client ?? connecting;
  if (made !== undefined) return made.report();
  return failure === undefined ? { status: "starting" } : reportOf("failed", failure.error);
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
