// The options of the MCP door, checked, and how the native side is told.

import {
  aDuration,
  aName,
  aSecret,
  aSize,
  aString,
  type Check,
  group,
  isString,
  isWhole,
  must,
  oneOf,
  refusal,
  required,
} from "../border/options.js";
import { aFolderToWrite } from "../border/permission.js";
import { aPath, defined, door, someErrors } from "./door-options.js";
import { stateFolder } from "./state-folder.js";

/**
 * How tasks are kept: calls that continue after their request has ended. Operations with `_meta: { mcp: { task: true }
 * }` can be called as tasks.
 *
 * @example
 * ```ts
 * const tasks: McpTaskOptions = { dir: "/var/lib/demo/tasks", keep: 3_600_000 };
 * ```
 */
export interface McpTaskOptions {
  /**
   * The folder (default: a folder in the user's state folder, named after the server). Processes that serve one address
   * share it.
   */
  dir?: string;
  /** A Redis instead of a folder, for processes on several machines. */
  redis?: McpTaskRedis;
  /** How long a task is kept after its start, in milliseconds (default: a day, at most a year). It must be done by then. */
  keep?: number;
  /** How often clients should ask how far a task is, in milliseconds (default 1,000). */
  poll?: number;
  /** How many bytes the results of all tasks may have together (default 1 GiB). A task whose result does not fit fails. */
  maxBytes?: number;
}

/**
 * The Redis in which tasks are kept.
 *
 * @example
 * ```ts
 * const redis: McpTaskRedis = { url: "rediss://user:secret@redis.example:6380", prefix: "shop:tasks:" };
 * ```
 */
export interface McpTaskRedis {
  /** `redis://user:password@host:6379`, `rediss://` for TLS, or `redis+unix:///path`. */
  url: string;
  /** What the names of all keys begin with (default: `operations:tasks:`, the name of the server, and a colon). */
  prefix?: string;
  /** For `rediss://`: certificates in PEM form. Without `ca` those of the system are trusted. */
  tls?: { ca?: string; cert?: string; key?: string };
}

/**
 * How clients of revision 2025-11-25 may leave the stream of a call and resume it (`Last-Event-ID`).
 *
 * @example
 * ```ts
 * const resume: McpResumeOptions = { hold: 20_000, wait: 60_000 };
 * ```
 */
export interface McpResumeOptions {
  /** How long a stream stays open, in milliseconds (default: as long as the call takes). Then the server ends it, and the client comes
   * back a moment later. This is for networks that end long requests. */
  hold?: number;
  /** How long a call goes on without its client, in milliseconds (default 30,000). Then it is aborted. */
  wait?: number;
}

/**
 * The MCP door: every operation as a tool, for clients of the Model Context Protocol over HTTP.
 *
 * @example
 * ```ts
 * const door: McpDoorOptions = { path: "/mcp", name: "demo", version: "1.0.0" };
 * ```
 */
export interface McpDoorOptions {
  /** The path (default `/mcp`). */
  path?: string;
  /** The name of the server (default `operations`). */
  name?: string;
  /** Its version (default `0.0.0`). */
  version?: string;
  /** Instructions that clients give to their models. */
  instructions?: string;
  /**
   * With `"search"`, clients see three tools (`catalogue_search`, `catalogue_describe` and `catalogue_call`) instead of
   * one tool for each operation. For registries with too many operations for a prompt. Prompts and resources are not
   * affected.
   */
  catalogue?: "search";
  /**
   * A secret of at least 32 characters, the same in all processes that serve one address. It encrypts the state that
   * clients carry between requests when a handler asks them something (default: a random key of this process).
   */
  stateKey?: string;
  /** Whether clients may call operations with `_meta.mcp.task` as tasks (default: yes), and how tasks are kept. */
  tasks?: boolean | McpTaskOptions;
  /** Whether clients of 2025-11-25 may leave the stream of a call and resume it (default: no, and a client that leaves aborts its calls). */
  resume?: boolean | McpResumeOptions;
  /** As `errors` of `serve`, for this door. */
  errors?: "mask" | "expose";
}

const aStateKey = must("a secret of 32 characters or more", (value) => isString(value) && value.length >= 32);

const A_DAY = 86_400_000;
const A_YEAR = 365 * A_DAY;

const aTimeToKeep = must(
  `a whole number of milliseconds from 1 to ${A_YEAR} (a year)`,
  (value) => isWhole(value, 1) && Number(value) <= A_YEAR,
);

export const someTasks: Check = door(
  group<McpTaskOptions>({
    dir: aFolderToWrite,
    redis: group<McpTaskRedis>({
      url: required(must("a URL such as redis://user:password@host:6379", isString, { secret: true })),
      prefix: aString,
      tls: group<NonNullable<McpTaskRedis["tls"]>>({ ca: aSecret, cert: aSecret, key: aSecret }),
    }),
    keep: aTimeToKeep,
    poll: aDuration,
    maxBytes: aSize,
  }),
);

export const anMcpDoor: Check = door(
  group<McpDoorOptions>({
    path: aPath,
    name: aName,
    version: aName,
    instructions: aString,
    stateKey: aStateKey,
    catalogue: oneOf("search"),
    tasks: someTasks,
    resume: door(group<McpResumeOptions>({ hold: aDuration, wait: aDuration })),
    errors: someErrors,
  }),
);

/** What the native side is told. */
export function nativeMcp({
  name = "operations",
  tasks = true,
  resume = false,
  ...more
}: McpDoorOptions): object {
  const resumed =
    resume === false ? undefined : { wait: 30_000, ...(resume === true ? {} : defined(resume)) };
  const native = { tasks: nativeTasks(tasks, name), resume: resumed };
  return { path: "/mcp", name, version: "0.0.0", ...more, ...native };
}

const MAX_TASK_BYTES = 1024 ** 3;

function nativeTasks(tasks: boolean | McpTaskOptions, server: string): McpTaskOptions | undefined {
  if (tasks === false) return undefined;
  const { dir, redis, ...more } = tasks === true ? {} : tasks;
  if (dir !== undefined && redis !== undefined) {
    throw refusal("serve: doors.mcp.tasks", "must have dir or redis, not both");
  }
  const place =
    redis === undefined
      ? { dir: dir ?? (aFolderToWrite(stateFolder("tasks", server), "serve: doors.mcp.tasks") as string) }
      : { redis: { prefix: `operations:tasks:${server}:`, ...defined(redis) } as McpTaskRedis };
  return { keep: A_DAY, poll: 1_000, maxBytes: MAX_TASK_BYTES, ...defined(more), ...place };
}
