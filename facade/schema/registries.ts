// The users' own formats and kinds. TypeBox keeps them in registries, one set for each copy of TypeBox in
// the process: its ES module and CommonJS builds are two copies, and a fork is a third.

import { createRequire } from "node:module";
import { fileURLToPath, pathToFileURL } from "node:url";
import { CallError, invalid } from "../errors.js";
import { messageOf } from "../interop/text.js";
import { logImportant } from "../logging.js";
import { native } from "../runtime.js";
import { installedFork } from "./fork.js";

/** `FormatRegistry` and `TypeRegistry` of TypeBox, as far as they are used here. */
export interface Registry<T> {
  Has(name: string): boolean;
  Get(name: string): T | undefined;
  Set(name: string, entry: T): void;
  Entries(): ReadonlyMap<string, T>;
}

export type FormatFunction = (value: string) => boolean;
export type KindFunction = (schema: unknown, value: unknown) => boolean;

/**
 * The exports of TypeBox that `useTypeBox` needs.
 *
 * @example
 * ```ts
 * const fork: TypeBoxModule = await import("@sinclair/typebox");
 * useTypeBox(fork);
 * ```
 */
export interface TypeBoxModule {
  readonly FormatRegistry: Registry<FormatFunction>;
  readonly TypeRegistry: Registry<KindFunction>;
}

const copies: TypeBoxModule[] = [];
let lookedForOwn = false;
let lookedForFork = false;
/** Builds of TypeBox, by the URL of their entry, until what is registered there is needed. */
const notLoaded = new Set<string>();
/** They describe a value, and rule nothing out. */
const OPENAPI_FORMATS = /^(int32|int64|float|double|byte|binary|password)$/;
const unknownKinds = new Set<string>();
/** Whether to warn if they are never registered. */
const expectedFormats = new Map<string, boolean>();

/**
 * Adds a copy of TypeBox, such as a fork, whose `FormatRegistry` and `TypeRegistry` entries are used. The copies that
 * `import` and `require` of `@sinclair/typebox` and `@alkdev/typebox` load are used without it.
 *
 * @example
 * ```ts
 * import * as typebox from "@sinclair/typebox";
 *
 * useTypeBox(typebox); // formats and kinds that are registered with this copy count
 * ```
 */
export function useTypeBox(module: TypeBoxModule): void {
  const { FormatRegistry, TypeRegistry } = Object(module);
  if (typeof FormatRegistry?.Has !== "function" || typeof TypeRegistry?.Has !== "function") {
    throw invalid(
      "useTypeBox: a module with FormatRegistry and TypeRegistry is needed: import * as typebox from the fork",
    );
  }
  if (!copies.some((copy) => copy.FormatRegistry === FormatRegistry)) {
    copies.push({ FormatRegistry, TypeRegistry });
  }
}

/** Names the ES modules of TypeBox by the URL of their entry. Only where `require` takes ES modules. @internal */
export function useEsModule(url: string): void {
  notLoaded.add(url);
}

/** A schema that was built with TypeBox has this format: it is the user's, or one that is known. */
export function expectFormat(name: string): void {
  if (!expectedFormats.has(name)) expectedFormats.set(name, true);
}

/** The user's check of a format, if there is one. */
export function formatFunction(name: string): FormatFunction | undefined {
  const check = find((copy) => copy.FormatRegistry, name);
  if (check === undefined && expectedFormats.get(name) === true) {
    expectedFormats.set(name, false);
    const isKnown = OPENAPI_FORMATS.test(name) || native.checkFormat(name, "") !== null;
    if (!isKnown) warnUnknown("format", name, "it is not checked");
  }
  return check;
}

/** The formats that users have registered. */
export function registeredFormats(): string[] {
  return knownCopies().flatMap((copy) => [...copy.FormatRegistry.Entries().keys()]);
}

/** The user's check of a kind, if there is one. */
export function kindFunction(name: string): KindFunction | undefined {
  const check = find((copy) => copy.TypeRegistry, name);
  if (check === undefined && !unknownKinds.has(name)) {
    unknownKinds.add(name);
    warnUnknown("kind", name, "no value matches it");
  }
  return check;
}

function warnUnknown(what: "format" | "kind", name: string, effect: string): void {
  const message = `A schema has the ${what} ${JSON.stringify(name)}, which is not registered with any known copy of TypeBox, so ${effect}`;
  logImportant(
    "warn",
    "schema",
    `${message}. If it is registered with another copy, such as a fork, call useTypeBox(fork)`,
  );
}

function find<T>(registryOf: (copy: TypeBoxModule) => Registry<T>, name: string): T | undefined {
  for (const copy of knownCopies()) {
    const registry = registryOf(copy);
    if (registry.Has(name)) return registry.Get(name);
  }
  return undefined;
}

/** Every copy of TypeBox that was named, and the one that `require` gives, provided that it is
 * loaded: nothing can be registered with a copy that is not loaded, and loading it is slow. */
export function knownCopies(): readonly TypeBoxModule[] {
  if (!lookedForOwn) {
    const loaded = loadedCommonJsCopy();
    if (loaded !== undefined) {
      lookedForOwn = true;
      useTypeBox(loaded);
    }
  }
  if (!lookedForFork) {
    lookedForFork = true;
    const fork = installedFork();
    if (fork !== undefined) notLoaded.add(pathToFileURL(fork.commonJs).href);
    if (fork?.esModule !== undefined) notLoaded.add(fork.esModule);
  }
  for (const url of notLoaded) load(url);
  return copies;
}

/** Only its registries, which are few files of many. */
function load(url: string): void {
  const registries = new URL(`./type/registry/index${url.slice(url.lastIndexOf("."))}`, url);
  try {
    useTypeBox(ownRequire(fileURLToPath(registries)) as TypeBoxModule);
  } catch (error) {
    const { code } = error as { code?: unknown };
    // This Node cannot load ES modules at once.
    if (code === "ERR_REQUIRE_ESM") {
      import(/* webpackIgnore: true */ /* @vite-ignore */ registries.href).then(useTypeBox, () => {});
    }
    // The application is importing TypeBox at this moment, so nothing is registered yet.
    else if (code !== "MODULE_NOT_FOUND" && !(error instanceof CallError)) return;
    else loadWhole(url);
  }
  notLoaded.delete(url);
}

function loadWhole(url: string): void {
  try {
    useTypeBox(ownRequire(fileURLToPath(url)) as TypeBoxModule);
  } catch (error) {
    logImportant("warn", "schema", `Formats and kinds of ${url} are not checked: ${messageOf(error)}`);
  }
}

// An ES module bundle has no `__filename`.
const ownRequire = createRequire(typeof __filename === "string" ? __filename : process.execPath);

function loadedCommonJsCopy(): TypeBoxModule | undefined {
  const path = commonJsPath();
  if (path === undefined) return copies.length === 0 ? commonJsCopy() : undefined;
  const known = ownRequire.cache[path];
  return known?.loaded ? (known.exports as TypeBoxModule) : undefined;
}

let resolvedPath: string | undefined;

/** Where the copy is that `require` gives. Nowhere in a bundle, which has a copy of its own: its modules have no file name, or
 * (Bun's) there is nothing to be found from where they seem to be. */
function commonJsPath(): string | undefined {
  if (typeof module.filename !== "string") return undefined;
  try {
    resolvedPath ??= ownRequire.resolve("@sinclair/typebox");
  } catch {}
  return resolvedPath;
}

/** The copy that `require` gives, loaded if need be. A literal name: bundlers put in what the program itself uses. */
export function commonJsCopy(): TypeBoxModule {
  return require("@sinclair/typebox") as TypeBoxModule;
}
