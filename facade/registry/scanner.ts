import { readdir } from "node:fs/promises";
import { isAbsolute, join } from "node:path";
import { pathToFileURL } from "node:url";
import { type CallError, failed } from "../errors.js";
import { messageOf } from "../interop/text.js";
import { logger } from "../logging.js";
import { compiled } from "../schema/compiled.js";
import { SCHEMA_FIELDS } from "../schema/lazy.js";
import { validatorOf } from "../schema/standard.js";
import { OperationSpecSchema } from "../spec-schemas.js";
import type { OperationSpec } from "../types.js";
import type { RegisteredOperation } from "./registration.js";

/**
 * A file system to scan, so that the scanner depends on no runtime.
 *
 * @example
 * ```ts
 * const fs: ScannerFS = {
 *   async *readdir(path) {
 *     const { readdir } = await import("node:fs/promises");
 *     for (const entry of await readdir(path, { withFileTypes: true })) {
 *       yield { name: entry.name, isFile: entry.isFile(), isDirectory: entry.isDirectory() };
 *     }
 *   },
 *   cwd: () => process.cwd(),
 * };
 * ```
 */
export interface ScannerFS {
  readdir(path: string): AsyncIterable<{ name: string; isFile: boolean; isDirectory: boolean }>;
  cwd(): string;
}

/**
 * Operations by id, and where they are served.
 *
 * @example
 * ```ts
 * const manifest: OperationManifest = { operations: { "demo.greet": greet }, baseUrl: "https://hub.example" };
 * ```
 */
export interface OperationManifest {
  operations: Record<string, OperationSpec>;
  baseUrl?: string;
}

/**
 * The file system of the machine.
 *
 * @example
 * ```ts
 * registry.registerAll(await scanOperations("./operations", nodeScannerFS));
 * ```
 */
export const nodeScannerFS: ScannerFS = {
  async *readdir(path) {
    for (const entry of await readdir(path, { withFileTypes: true })) {
      yield { name: entry.name, isFile: entry.isFile(), isDirectory: entry.isDirectory() };
    }
  },
  cwd: () => process.cwd(),
};

const log = logger("scanner");
const MODULE = /\.(?:ts|mts|js|mjs|cjs)$/;
const DECLARATIONS = /\.d\.(?:ts|mts|cts)$/;
/** Deeper than any real tree, so that a link to a parent folder ends. */
const MAX_DEPTH = 64;
/** More than any real tree has, so that several such links, which multiply, end too. */
const MAX_FOLDERS = 20_000;

/** A scan under way. */
interface Scan {
  readonly fs: ScannerFS;
  readonly found: RegisteredOperation[];
  folders: number;
}

/**
 * Finds operations in the files of a folder and its subfolders: default exports that satisfy `OperationSpecSchema`.
 * Other files are skipped with a warning. A broken file does not stop the scan.
 *
 * @example
 * ```ts
 * registry.registerAll(await scanOperations("./operations"));
 * ```
 */
export async function scanOperations(
  dirPath: string,
  fs: ScannerFS = nodeScannerFS,
): Promise<RegisteredOperation[]> {
  const scan: Scan = { fs, found: [], folders: 0 };
  await scanFolder(isAbsolute(dirPath) ? dirPath : join(fs.cwd(), dirPath), scan, 0);
  return scan.found;
}

function cannotScan(path: string, error: unknown): CallError {
  const { code } = Object(error) as NodeJS.ErrnoException;
  const reasons: Record<string, string> = {
    ENOENT: "there is no such folder",
    ENOTDIR: "it is not a folder",
  };
  const reason = (typeof code === "string" ? reasons[code] : undefined) ?? messageOf(error);
  return failed(`scanOperations: cannot read the folder ${path}: ${reason}`, { path, cause: code });
}

async function scanFolder(path: string, scan: Scan, depth: number): Promise<void> {
  if (depth > MAX_DEPTH) {
    log.warn(`Not scanned: ${path} is nested more than ${MAX_DEPTH} folders deep`, { path });
    return;
  }
  scan.folders += 1;
  if (scan.folders > MAX_FOLDERS) {
    // Said once: a loop would say it a million times.
    if (scan.folders === MAX_FOLDERS + 1) {
      log.warn(`Not scanned: ${path} and what follows: there are more than ${MAX_FOLDERS} folders`, { path });
    }
    return;
  }
  try {
    for await (const { name, isFile, isDirectory } of scan.fs.readdir(path)) {
      const child = join(path, name);
      if (isDirectory) await scanFolder(child, scan, depth + 1);
      else if (isFile && MODULE.test(name) && !DECLARATIONS.test(name)) await scanFile(child, scan.found);
    }
  } catch (error) {
    if (depth === 0) throw cannotScan(path, error);
    log.warn(`Not scanned: ${path}: ${messageOf(error)}`, { path });
  }
}

async function scanFile(path: string, found: RegisteredOperation[]): Promise<void> {
  let module: { default?: unknown };
  try {
    const { href } = pathToFileURL(path);
    module = await import(/* webpackIgnore: true */ /* turbopackIgnore: true */ /* @vite-ignore */ href);
  } catch (error) {
    log.warn(`Skipped ${path}: it could not be imported: ${messageOf(error)}${advice(path, error)}`, {
      path,
    });
    return;
  }
  try {
    judge(path, defaultExport(module), found);
  } catch (error) {
    // Looking at what the module exports runs its code: a getter, a proxy.
    log.warn(`Skipped ${path}: its default export cannot be read: ${messageOf(error)}`, { path });
  }
}

/** Takes what a module exports, if it is an operation. */
function judge(path: string, exported: unknown, found: RegisteredOperation[]): void {
  if (exported === undefined) {
    log.warn(`Skipped ${path}: it has no default export`, { path });
    return;
  }
  const schema = compiled(OperationSpecSchema);
  const seen = withSchemasAsObjects(exported);
  if (schema.check(seen)) {
    found.push(exported as RegisteredOperation);
    return;
  }
  const errors = schema.errors(seen);
  const lines = errors.map((each) => `  - ${each.path}: ${each.message}`).join("\n");
  log.warn(`Skipped ${path}: its default export is not an operation:\n${lines}`, { path, errors });
}

/** Schemas of some libraries are functions (ArkType's are). What they are is for the registry to say. */
function withSchemasAsObjects(exported: unknown): unknown {
  if (typeof exported !== "object" || exported === null) return exported;
  const functions = SCHEMA_FIELDS.filter((field) => {
    const schema: unknown = (exported as Partial<OperationSpec>)[field];
    return typeof schema === "function" && validatorOf(schema) !== undefined;
  });
  if (functions.length === 0) return exported;
  return { ...exported, ...Object.fromEntries(functions.map((field) => [field, {}])) };
}

/** A CommonJS module that was compiled from an ES module has its default export one level further down. */
function defaultExport(module: { default?: unknown }): unknown {
  const exported = module.default;
  if (
    typeof exported === "object" &&
    exported !== null &&
    "__esModule" in exported &&
    "default" in exported
  ) {
    return exported.default;
  }
  return exported;
}

function advice(path: string, error: unknown): string {
  const code = (error as { code?: unknown } | null)?.code;
  if (/\.m?ts$/.test(path) && (code === "ERR_UNKNOWN_FILE_EXTENSION" || error instanceof SyntaxError)) {
    return `. Node ${process.versions.node} does not run TypeScript as it is: use Node 22.18 or newer, start with a loader (node --import tsx), or compile the file`;
  }
  return "";
}
