// The sources of a configuration, loaded into a registry. One that cannot be loaded does the others no harm.

import { type CallError, mapError } from "../errors.js";
import { nearestName } from "../interop/nearest-name.js";
import { counted } from "../interop/text.js";
import type { MCPServerReport } from "../mcp/client-types.js";
import { MCPClientLoader } from "../mcp/loader.js";
import { OpenAPIServiceRegistry } from "../openapi/service-registry.js";
import { OperationRegistry } from "../registry/registry.js";
import type { HubConfig } from "./config/hub.js";
import type { Source } from "./config/source.js";
import { CommandError, configError, EXIT } from "./exit-codes.js";
import type { Progress } from "./progress.js";
import type { Terminal } from "./terminal.js";

/** How a source is. */
interface SourceReport {
  readonly name: string;
  readonly kind: "mcp" | "openapi";
  readonly operations: number;
  readonly error?: { readonly code: string; readonly message: string };
}

export class Sources {
  readonly registry: OperationRegistry;
  readonly #config: HubConfig;
  readonly #terminal: Terminal;
  readonly #servers = new MCPClientLoader();
  readonly #services = new OpenAPIServiceRegistry();
  readonly #failures = new Map<string, CallError>();
  #loaded: readonly Source[] = [];

  constructor(config: HubConfig, terminal: Terminal) {
    this.registry = new OperationRegistry({ approvals: config.approvals() });
    terminal.hide(config.secrets);
    this.#config = config;
    this.#terminal = terminal;
  }

  /** Loads all sources at once, or the selected ones. */
  async load(progress: Progress, isWanted: (source: Source) => boolean = () => true): Promise<void> {
    this.#loaded = this.#config.sources.filter(isWanted);
    const waiting = new Set(this.#loaded.map(({ name }) => name));
    const show = () => {
      if (waiting.size > 0) progress.show(`Loading ${[...waiting].join(", ")}`);
    };
    show();
    await Promise.all(
      this.#loaded.map(async (source) => {
        await this.#tryOne(source);
        waiting.delete(source.name);
        show();
      }),
    );
    // In the order of the file, whichever was there first.
    for (const source of this.#loaded) this.#registerOne(source);
    progress.clear();
  }

  async #tryOne(source: Source): Promise<boolean> {
    try {
      await this.#loadOne(source);
      this.#failures.delete(source.name);
      return true;
    } catch (error) {
      this.#failures.set(source.name, mapError(error));
      return false;
    }
  }

  async #loadOne(source: Source): Promise<void> {
    const { name } = source;
    if (source.kind === "openapi") {
      const { document, settings } = source.config();
      if (/^https?:\/\//i.test(document)) await this.#services.addFromUrl(name, document, settings);
      else await this.#services.addFromFile(name, document, settings);
      return;
    }
    const config = source.config();
    const { failures } = await this.#servers.load({ mcpServers: { [name]: config } }, { partial: true });
    if (failures[0] !== undefined) throw failures[0].error;
  }

  #registerOne({ name, kind }: Source): void {
    try {
      const operations = kind === "mcp" ? this.#servers.getClient(name)?.tools : this.#services.get(name);
      this.registry.registerAll(operations ?? []);
    } catch (error) {
      this.#failures.set(name, mapError(error));
    }
  }

  /** Follows what servers add, change and remove from now on. */
  keepInStep(): void {
    try {
      this.#servers.registerAll(this.registry, { keepInStep: true });
    } catch (error) {
      this.#terminal.note(`Servers that change their tools are not followed: ${mapError(error).message}`);
    }
  }

  /** Tries those that failed once more. Returns whether all are there now. */
  async retry(): Promise<boolean> {
    const failed = this.#loaded.filter(({ name }) => this.#failures.has(name));
    await Promise.all(
      failed.map(async (source) => {
        if (!(await this.#tryOne(source))) return;
        this.#registerOne(source);
        if (!this.#failures.has(source.name)) {
          this.#terminal.note(`${source.name}: available now, ${counted(this.#count(source), "operation")}`);
        }
      }),
    );
    return this.#failures.size === 0;
  }

  #count({ name, kind }: Source): number {
    const operations = kind === "mcp" ? this.#servers.getClient(name)?.tools : this.#services.get(name);
    return operations?.length ?? 0;
  }

  report(): SourceReport[] {
    return this.#loaded.map((source) => {
      const { name, kind } = source;
      const error = this.#failures.get(name);
      return {
        name,
        kind,
        operations: error === undefined ? this.#count(source) : 0,
        ...(error && { error: { code: error.code, message: this.#terminal.masked(error.message) } }),
      };
    });
  }

  /** How the MCP servers are. */
  servers(): Array<
    Omit<MCPServerReport, "error"> & Pick<SourceReport, "error"> & { name: string; tools: number }
  > {
    const status = this.#servers.status();
    return this.report().map(({ name, operations, error }) => {
      const { error: _, ...report } = status[name] ?? { status: "failed" };
      return { name, ...report, tools: operations, ...(error && { error }) };
    });
  }

  /** Says which sources are missing, and which rules protect nothing. With `isStrict`, both are failures. */
  reportFailures(isStrict: boolean): void {
    for (const [name, error] of this.#failures)
      this.#terminal.note(`${name}: not available. ${error.message}`);
    const useless = this.uselessRules();
    if (isStrict && useless.length > 0) throw configError(useless.join("\n"));
    for (const problem of [...useless, ...this.#problems()]) this.#terminal.note(`Warning: ${problem}`);
    if (isStrict && this.#failures.size > 0) {
      throw new CommandError(
        EXIT.FAILED,
        "EXECUTION_ERROR",
        `With --strict, every source must be there. Not available: ${[...this.#failures.keys()].join(", ")}`,
      );
    }
  }

  /** What MCP servers list that cannot be used, and what is said about tools that they do not have. */
  #problems(): string[] {
    return this.#servers
      .getAllWrappers()
      .flatMap(({ name, problems }) => problems.map(({ tool, reason }) => `${name}: ${tool}: ${reason}`));
  }

  /** What is wrong with access rules that fit no operation: whatever they were meant for is not protected. */
  uselessRules(): string[] {
    const { file, sources } = this.#config;
    // A rule may be meant for a source that is missing.
    const missing = sources.filter(
      (source) => this.#failures.has(source.name) || !this.#loaded.includes(source),
    );
    const ids = this.registry.getAllSpecs().map(({ namespace, name }) => `${namespace}.${name}`);
    const names = [...ids, ...sources.map(({ name }) => `${name}.*`)];
    const ofTools = this.#loaded.flatMap(({ name, unusedToolRules = [] }) =>
      [...unusedToolRules].map((pattern) => {
        const where = `${file}: mcpServers.${name}.tools.access[${JSON.stringify(pattern)}]`;
        return `${where} fits no tool of the server, so it protects nothing`;
      }),
    );
    const ofFile = this.#config
      .unusedRules()
      .filter((pattern) => !missing.some((source) => source.mayNameOthers || mayFit(pattern, source.name)))
      .map((pattern) => {
        const nearest = nearestName(pattern, names);
        const hint = nearest === undefined ? "" : `. Did you mean ${nearest}?`;
        return `${file}: access[${JSON.stringify(pattern)}] fits no operation, so it protects nothing${hint}`;
      });
    return [...ofTools, ...ofFile];
  }

  /** Why a source is missing. */
  failureOf(name: string): CallError | undefined {
    return this.#failures.get(name);
  }

  /** Ends everything that was started. */
  async close(): Promise<void> {
    await Promise.all([this.#servers.closeAll(), this.#services.closeAll()]);
  }
}

/** Whether a pattern of ids may fit operations of a namespace. */
function mayFit(pattern: string, namespace: string): boolean {
  const [literal = ""] = pattern.split("*", 1);
  const ids = `${namespace}.`;
  return literal.length < ids.length ? ids.startsWith(literal) : literal.startsWith(ids);
}
