// Where programs keep tokens: those of MCP servers and of HTTP services.

/**
 * Where tokens are kept between runs. What is kept is opaque JSON.
 *
 * @example
 * ```ts
 * let kept: unknown;
 * const store: MCPTokenStore = {
 *   load: () => kept,
 *   save: (tokens) => void (kept = tokens),
 *   clear: () => void (kept = undefined),
 * };
 * ```
 */
export interface MCPTokenStore {
  load(): unknown | Promise<unknown>;
  save(tokens: unknown): void | Promise<void>;
  clear(): void | Promise<void>;
}
