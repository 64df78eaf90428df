import { invalid } from "../errors.js";
import { quoted } from "../interop/text.js";
import type { OperationRegistry } from "../registry/registry.js";
import type { HTTPServiceConfig } from "./config.js";
import { importFile } from "./file.js";
import { type ImportedService, importSpec } from "./import.js";
import type { OpenAPIFS, OpenAPIImportedOperation, OpenAPISpec } from "./types.js";
import { importUrl } from "./url.js";

/**
 * HTTP services by name: their operations, and their connections.
 *
 * @example
 * ```ts
 * const services = new OpenAPIServiceRegistry();
 * await services.addFromUrl("pets", "https://pets.example/openapi.json", { namespace: "pets" });
 * services.registerAll(registry);
 * await services.closeAll();
 * ```
 */
export class OpenAPIServiceRegistry {
  readonly #services = new Map<string, ImportedService>();

  /** Adds a service. A service with the same name is replaced. Returns its operations. */
  add(name: string, spec: OpenAPISpec | string, config: HTTPServiceConfig): OpenAPIImportedOperation[] {
    return this.#keep(named(name), importSpec(spec, config));
  }

  /** Adds a service whose document is fetched from a URL. */
  async addFromUrl(
    name: string,
    url: string,
    config: HTTPServiceConfig,
  ): Promise<OpenAPIImportedOperation[]> {
    return this.#keep(named(name), await importUrl(url, config));
  }

  /** Adds a service whose document is read from a file. */
  async addFromFile(
    name: string,
    path: string,
    config: HTTPServiceConfig,
    fs?: OpenAPIFS,
  ): Promise<OpenAPIImportedOperation[]> {
    return this.#keep(named(name), await importFile(path, config, fs));
  }

  #keep(name: string, service: ImportedService): OpenAPIImportedOperation[] {
    this.#services.set(name, service);
    return service.operations;
  }

  /** Registers the operations of every service. */
  registerAll(registry: OperationRegistry): void {
    for (const { operations } of this.#services.values()) registry.registerAll(operations);
  }

  /** The operations of a service. */
  get(name: string): OpenAPIImportedOperation[] | undefined {
    return this.#services.get(name)?.operations;
  }

  /** The operations of all services. */
  getAll(): OpenAPIImportedOperation[] {
    return Array.from(this.#services.values(), ({ operations }) => operations).flat();
  }

  /** How many services there are. */
  get size(): number {
    return this.#services.size;
  }

  /** The names of the services. */
  list(): string[] {
    return [...this.#services.keys()];
  }

  /** Removes a service. Its operations still work where they are registered. Returns whether the service existed. */
  remove(name: string): boolean {
    return this.#services.delete(name);
  }

  /** Removes all services and closes their connections. Running calls end with `ABORTED`. */
  async closeAll(): Promise<void> {
    const services = [...this.#services.values()];
    this.#services.clear();
    for (const { service } of services) service.close();
  }

  /** `await using services = new OpenAPIServiceRegistry()` closes them at the end of the block. */
  [Symbol.asyncDispose](): Promise<void> {
    return this.closeAll();
  }
}

function named(name: unknown): string {
  if (typeof name === "string" && name !== "") return name;
  throw invalid(
    `OpenAPIServiceRegistry: the name of a service must be a string that is not empty, not ${quoted(name)}`,
  );
}
