import { isIdentity } from "../call/incoming.js";
import {
  aCount,
  aFunction,
  aName,
  anObject,
  aPatience,
  aSize,
  aString,
  checkedOptions,
  type Fields,
  oneOf,
  refusal,
  required,
} from "../interop/options.js";
import { logger } from "../logging.js";
import { assertRegistry } from "../registry/assert-registry.js";
import type { OperationRegistry } from "../registry/registry.js";
import type { Identity } from "../types.js";
import { someErrors } from "./door-options.js";
import { type MCPDoorOptions, type MCPTaskOptions, someTasks } from "./mcp-door.js";
import type { ServeOptions } from "./options.js";
import { ListeningServer, RegistryService, type Served } from "./serve.js";

/**
 * Options of `serveStdio`.
 *
 * @example
 * ```ts
 * const options: ServeStdioOptions = { name: "demo", version: "1.0.0", identity: { id: "me", scopes: ["demo"] } };
 * ```
 */
export interface ServeStdioOptions
  extends Pick<
    ServeOptions,
    | "operations"
    | "timeout"
    | "maxBodyBytes"
    | "maxBufferedBytes"
    | "concurrency"
    | "perOperation"
    | "perCaller"
    | "queue"
  > {
  /** The name of the server. */
  name: string;
  version: string;
  /** Instructions that clients give to their models. */
  instructions?: string;
  /** With `"search"`, clients see three tools to find and call operations, instead of one tool for each operation. */
  catalogue?: MCPDoorOptions["catalogue"];
  /** Whether clients may call operations with `_meta.mcp.task` as tasks (default: yes), and how tasks are kept. */
  tasks?: boolean | MCPTaskOptions;
  /** The identity of the client that started the program. Without it, only open operations can be called. */
  identity?: Identity;
  /** As `errors` of `serve`, but `"expose"` by default: the user who starts the program may read its errors. */
  errors?: "mask" | "expose";
}

const FIELDS: Fields<ServeStdioOptions> = {
  name: required(aName),
  version: required(aName),
  instructions: aString,
  catalogue: oneOf("search"),
  tasks: someTasks,
  identity: anObject,
  errors: someErrors,
  operations: aFunction,
  timeout: aPatience,
  maxBodyBytes: aSize,
  maxBufferedBytes: aSize,
  concurrency: aSize,
  perOperation: aSize,
  perCaller: aSize,
  queue: aCount,
};

const log = logger("serve");

/**
 * Serves the operations of a registry as an MCP server over standard input and output, until the client disconnects.
 * Your program must not write anything else to standard output.
 *
 * @example
 * ```ts
 * await serveStdio(registry, { name: "demo", version: "1.0.0" });
 * ```
 */
export async function serveStdio(registry: OperationRegistry, options: ServeStdioOptions): Promise<Served> {
  const checked = checkedOptions<ServeStdioOptions>(options, FIELDS, { prefix: "serveStdio: " });
  assertRegistry(registry, "serveStdio");
  const { name, version, instructions, catalogue, tasks, identity, errors = "expose", ...more } = checked;
  if (identity !== undefined && !isIdentity(identity)) {
    throw refusal("serveStdio: identity", "must be an identity: { id, scopes, resources? }");
  }
  const mcp: MCPDoorOptions = {
    ...{ name, version },
    ...(instructions !== undefined && { instructions }),
    ...(tasks !== undefined && { tasks }),
    ...(catalogue !== undefined && { catalogue }),
  };
  const service = new RegistryService(registry, { ...more, errors, doors: { mcp } });
  const served = new ListeningServer(service, "stdio:");
  service.native
    .converse(identity === undefined ? null : JSON.stringify(identity))
    .catch((error) => log.error(`serveStdio failed: ${String(error)}`))
    // The client is gone.
    .finally(() => served.close({ drain: 0 }));
  return served;
}
