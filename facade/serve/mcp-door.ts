// The options of the MCP door, checked, and their form for the native side.

import type { CodeRunner } from "../code-types.js";
import {
  aDuration,
  aName,
  aSize,
  aString,
  type Check,
  group,
  isFunction,
  isListOf,
  isString,
  isWhole,
  must,
  oneOf,
  refusal,
  required,
} from "../interop/options.js";
import { patternOf } from "../interop/pattern.js";
import { aFolderToWrite } from "../interop/permission.js";
import { messageOf } from "../interop/text.js";
import { TLS_FIELDS, type TLSOptions, tlsTexts } from "../interop/tls.js";
import { logger } from "../logging.js";
import { runFor } from "../tools/program-run.js";
import type { OperationSpec } from "../types.js";
import { VERSION } from "../version.js";
import { aPath, defined, door, someErrors } from "./door-options.js";
import { stateFolder } from "./state-folder.js";

/**
 * How tasks are kept: calls that continue after their request has ended. Operations with `_meta: { mcp: { task: true }
 * }` can be called as tasks.
 *
 * @example
 * ```ts
 * const tasks: MCPTaskOptions = { dir: "/var/lib/demo/tasks", keep: 3_600_000 };
 * ```
 */
export interface MCPTaskOptions {
  /**
   * The folder (default: a folder in the user's state folder, named after the server). Processes that serve one address
   * share it.
   */
  dir?: string;
  /** A Redis instead of a folder, for processes on several machines. */
  redis?: MCPTaskRedis;
  /** How long a task is kept after its start, in milliseconds (default: a day, at most a year). It must be done by then. */
  keep?: number;
  /** How often clients should ask how far a task is, in milliseconds (default 1,000). */
  poll?: number;
  /** How many bytes the results of all tasks may have together (default 1 GiB). A task whose result does not fit fails. */
  maxBytes?: number;
}

/** @deprecated Use `MCPTaskOptions`. */
export type McpTaskOptions = MCPTaskOptions;

/**
 * The Redis in which tasks are kept.
 *
 * @example
 * ```ts
 * const redis: MCPTaskRedis = { url: "rediss://user:secret@redis.example:6380", prefix: "shop:tasks:" };
 * ```
 */
export interface MCPTaskRedis {
  /** `redis://user:password@host:6379`, `rediss://` for TLS, or `redis+unix:///path`. */
  url: string;
  /** What the names of all keys begin with (default: `operations:tasks:`, the name of the server, and a colon). */
  prefix?: string;
  /** For `rediss://`: certificates in PEM form. Without `ca` or `caFile` those of the system are trusted. */
  tls?: TLSOptions;
}

/** @deprecated Use `MCPTaskRedis`. */
export type McpTaskRedis = MCPTaskRedis;

/**
 * How clients of revision 2025-11-25 may leave the stream of a call and resume it (`Last-Event-ID`).
 *
 * @example
 * ```ts
 * const resume: MCPResumeOptions = { hold: 20_000, wait: 60_000 };
 * ```
 */
export interface MCPResumeOptions {
  /** How long a stream stays open, in milliseconds (default: as long as the call takes). Then the server ends it, and the client comes
   * back a moment later. This is for networks that end long requests. */
  hold?: number;
  /** How long a call goes on without its client, in milliseconds (default 30,000). Then it is aborted. */
  wait?: number;
}

/** @deprecated Use `MCPResumeOptions`. */
export type McpResumeOptions = MCPResumeOptions;

/**
 * The MCP door: every operation as a tool, for clients of the Model Context Protocol over HTTP.
 *
 * @example
 * ```ts
 * const door: MCPDoorOptions = { path: "/mcp", name: "demo", version: "1.0.0" };
 * ```
 */
export interface MCPDoorOptions {
  /** The path (default `/mcp`). */
  path?: string;
  /** The name of the server (default `operations`). */
  name?: string;
  /** Its version (default: that of this package). */
  version?: string;
  /** Instructions that clients give to their models. */
  instructions?: string;
  /** Which of the operations that are served are offered here: patterns of ids, such as `files.*`, or a function (default: all). */
  operations?: readonly string[] | ((spec: OperationSpec) => boolean);
  /**
   * With `"search"`, clients see three tools (`catalogue_search`, `catalogue_describe` and `catalogue_call`) instead of
   * one tool for each operation. For registries with too many operations for a prompt. Prompts and resources are not
   * affected.
   */
  catalogue?: "search";
  /**
   * Clients see three tools (`code_search`, `code_describe` and `code_run`) instead of one tool for each operation: `code_run` runs
   * programs in a sandbox. `true` needs the package `quickjs-wasi`; a runner of `createCodeRunner` has limits and a store of its own.
   */
  code?: boolean | CodeRunner;
  /**
   * A secret of at least 32 characters, the same in all processes that serve one address. It encrypts the state that
   * clients carry between requests when a handler asks them something (default: a random key of this process).
   */
  stateKey?: string;
  /** Whether clients may call operations with `_meta.mcp.task` as tasks (default: yes), and how tasks are kept. */
  tasks?: boolean | MCPTaskOptions;
  /** Whether clients of 2025-11-25 may leave the stream of a call and resume it (default: no, and a client that leaves aborts its calls). */
  resume?: boolean | MCPResumeOptions;
  /** As `errors` of `serve`, for this door. */
  errors?: "mask" | "expose";
}

/** @deprecated Use `MCPDoorOptions`. */
export type McpDoorOptions = MCPDoorOptions;

const log = logger("serve");
/** Each is a bit. */
const MOST_DOORS = 31;
const aStateKey = must("a secret of 32 characters or more", (value) => isString(value) && value.length >= 32);

const A_DAY = 86_400_000;
const A_YEAR = 365 * A_DAY;

const aTimeToKeep = must(
  `a whole number of milliseconds from 1 to ${A_YEAR} (a year)`,
  (value) => isWhole(value, 1) && Number(value) <= A_YEAR,
);

export const someTasks: Check = door(
  group<MCPTaskOptions>({
    dir: aFolderToWrite,
    redis: group<MCPTaskRedis>({
      url: required(must("a URL such as redis://user:password@host:6379", isString, { secret: true })),
      prefix: aString,
      tls: group<TLSOptions>(TLS_FIELDS),
    }),
    keep: aTimeToKeep,
    poll: aDuration,
    maxBytes: aSize,
  }),
);

const anOffer = must(
  "a list of ids and patterns, or a function",
  (value) => typeof value === "function" || isListOf(value, isString),
);

const oneMcpDoor = group<MCPDoorOptions>({
  path: aPath,
  name: aName,
  version: aName,
  instructions: aString,
  operations: anOffer,
  stateKey: aStateKey,
  catalogue: oneOf("search"),
  code: must(
    "a boolean, or what createCodeRunner returns",
    (value) => typeof value === "boolean" || isFunction(Object(value)[runFor]),
  ),
  tasks: someTasks,
  resume: door(group<MCPResumeOptions>({ hold: aDuration, wait: aDuration })),
  errors: someErrors,
});

/** What is the same at all MCP doors, and belongs to the first. */
const SHARED = ["stateKey", "catalogue", "code", "tasks", "resume", "errors"] as const;

/** One door, or several with operations of their own. */
export const anMcpDoor: Check = (value, path) => {
  if (typeof value === "boolean") return value;
  const pathOf = (index: number) => (Array.isArray(value) ? `${path}[${index}]` : path);
  const doors = [value].flat().map((each, index) => oneMcpDoor(each, pathOf(index)) as MCPDoorOptions);
  if (doors.length === 0 || doors.length > MOST_DOORS) {
    throw refusal(path, `must have 1 to ${MOST_DOORS} doors, and has ${doors.length}`);
  }
  for (const [index, each] of doors.entries()) {
    const misplaced = SHARED.find((name) => index > 0 && each[name] !== undefined);
    if (misplaced !== undefined) {
      throw refusal(`${pathOf(index)}.${misplaced}`, "is the same at all MCP doors: set it for the first");
    }
    const inPlace = each.catalogue !== undefined ? "catalogue" : each.code ? "code" : undefined;
    if (inPlace !== undefined && (doors.length > 1 || each.operations !== undefined)) {
      throw refusal(`${pathOf(index)}.${inPlace}`, "cannot be combined with operations or several MCP doors");
    }
    if (each.catalogue !== undefined && each.code) {
      throw refusal(`${pathOf(index)}.code`, "cannot be combined with catalogue: it has a search of its own");
    }
  }
  return Array.isArray(value) ? doors : doors[0];
};

/** The MCP doors that are open. */
export function mcpDoors(
  given: boolean | MCPDoorOptions | readonly MCPDoorOptions[] | undefined,
): MCPDoorOptions[] {
  if (given === undefined || given === false) return [];
  return given === true ? [{}] : [given].flat();
}

/** Which doors an operation is offered at, one bit each; `undefined` if all are offered everywhere. */
export function viewsOf(doors: readonly MCPDoorOptions[]): ((spec: OperationSpec) => number) | undefined {
  if (doors.length < 2 && doors[0]?.operations === undefined) return undefined;
  const offers = doors.map(({ operations = ["*"] }) => {
    if (typeof operations === "function") return operations;
    const patterns = operations.map(patternOf);
    return ({ namespace, name }: OperationSpec) =>
      patterns.some((pattern) => pattern.test(`${namespace}.${name}`));
  });
  return (spec) => offers.reduce((bits, offers, door) => bits | (Number(isOffered(offers, spec)) << door), 0);
}

/** If the user's function throws, nothing is offered. */
function isOffered(offers: (spec: OperationSpec) => boolean, spec: OperationSpec): boolean {
  try {
    return offers(spec) === true;
  } catch (error) {
    log.error(`operations of an MCP door failed for ${spec.namespace}.${spec.name}: ${messageOf(error)}`);
    return false;
  }
}

/** The options for the native side. */
export function nativeMcp({
  name = "operations",
  tasks = true,
  resume = false,
  operations: _,
  code: __,
  ...more
}: MCPDoorOptions): object {
  const resumed =
    resume === false ? undefined : { wait: 30_000, ...(resume === true ? {} : defined(resume)) };
  const native = { tasks: nativeTasks(tasks, name), resume: resumed };
  return { path: "/mcp", name, version: VERSION, ...more, ...native };
}

const MAX_TASK_BYTES = 1024 ** 3;

function nativeTasks(tasks: boolean | MCPTaskOptions, server: string): MCPTaskOptions | undefined {
  if (tasks === false) return undefined;
  const { dir, redis, ...more } = tasks === true ? {} : tasks;
  if (dir !== undefined && redis !== undefined) {
    throw refusal("serve: doors.mcp.tasks", "must have dir or redis, not both");
  }
  const place =
    redis === undefined
      ? { dir: dir ?? (aFolderToWrite(stateFolder("tasks", server), "serve: doors.mcp.tasks") as string) }
      : {
          redis: {
            prefix: `operations:tasks:${server}:`,
            ...defined({ ...redis, tls: tlsTexts(redis.tls, "serve: doors.mcp.tasks.redis.tls.") }),
          } as MCPTaskRedis,
        };
  return { keep: A_DAY, poll: 1_000, maxBytes: MAX_TASK_BYTES, ...defined(more), ...place };
}
