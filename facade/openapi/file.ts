// A document from a file, with the files that it refers to.

import { open, realpath } from "node:fs/promises";
import { basename, dirname, isAbsolute, relative, resolve, sep } from "node:path";
import { failed, invalid } from "../errors.js";
import { messageOf, quoted } from "../interop/text.js";
import { native, runtime } from "../runtime.js";
import type { ConfigFor, OpenAPIImportConfig } from "./config.js";
import { type CheckedConfig, checkedConfig } from "./config-check.js";
import { type ImportedService, importDocument } from "./import.js";
import { completed, DEFAULT_MAX_DOCUMENT_BYTES } from "./references.js";
import type { OpenAPIFS, OpenAPIImportedOperation } from "./types.js";

/**
 * Makes operations from an OpenAPI document in a file (JSON or YAML, with any file name). Files that it refers to are
 * read too, if they are in its folder or below.
 *
 * @example
 * ```ts
 * registry.registerAll(await FromOpenAPIFile("./pets.yaml", { namespace: "pets", baseUrl: "https://pets.example" }));
 * ```
 */
export async function FromOpenAPIFile<TNamespace extends string = string>(
  path: string,
  config: ConfigFor<TNamespace>,
  fs?: OpenAPIFS,
): Promise<OpenAPIImportedOperation<TNamespace>[]> {
  return (await importFile(path, config, fs)).operations as OpenAPIImportedOperation<TNamespace>[];
}

export async function importFile(
  path: string,
  config: OpenAPIImportConfig,
  fs?: OpenAPIFS,
): Promise<ImportedService> {
  const checked = checkedConfig(config);
  if (typeof path !== "string" || path === "") {
    throw invalid(`FromOpenAPIFile: the path must be a string that is not empty, not ${quoted(path)}`);
  }
  const files = fs === undefined ? machine : injected(fs);
  const limit = checked.maxDocumentBytes ?? DEFAULT_MAX_DOCUMENT_BYTES;
  const bytes = await readFirst(files, path, limit);
  // The core sees names below the folder only: what lies outside begins with `..`, a slash or a scheme.
  const document = await native.readOpenApiDocument(runtime, bytes, basename(path));
  const folder = new Folder(dirname(path), files, checked);
  await completed(document, limit - bytes.byteLength, (name, left) => folder.read(name, left));
  return importDocument(document, checked);
}

async function readFirst(files: Files, path: string, limit: number): Promise<Uint8Array> {
  try {
    return await files.read(path, limit);
  } catch (error) {
    throw failed(`Cannot read the OpenAPI document ${path}: ${messageOf(error)}`, { path });
  }
}

/** What is needed of a file system. */
interface Files {
  read(path: string, limit: number): Promise<Uint8Array>;
  /** The path behind symbolic links, if this file system can tell. */
  realPath?(path: string): Promise<string>;
}

const machine: Files = {
  realPath: (path) => realpath(path),
  async read(path, limit) {
    const handle = await open(path, "r");
    try {
      const stat = await handle.stat();
      // A pipe or a device may never end.
      if (!stat.isFile()) throw new Error("it is not a file");
      if (stat.size > limit) throw tooLarge(limit);
      const bytes = await handle.readFile();
      if (bytes.byteLength > limit) throw tooLarge(limit);
      return bytes;
    } finally {
      await handle.close();
    }
  },
};

function injected(fs: OpenAPIFS): Files {
  return {
    realPath: fs.realPath === undefined ? undefined : async (path) => String(await fs.realPath?.(path)),
    async read(path, limit) {
      const text: unknown = await fs.readFile(path);
      // Node's own `fs.promises` gives bytes to those who do not ask for text.
      const bytes =
        text instanceof Uint8Array ? text : typeof text === "string" ? Buffer.from(text) : undefined;
      if (bytes === undefined) throw new Error(`fs.readFile returned ${typeof text} instead of a string`);
      if (bytes.byteLength > limit) throw tooLarge(limit);
      return bytes;
    },
  };
}

function tooLarge(limit: number): Error {
  return new Error(`it has more bytes than are left of config.maxDocumentBytes (${limit})`);
}

/** The folder of a document, and the way to the files in it. */
class Folder {
  #real: Promise<string> | undefined;

  constructor(
    private readonly path: string,
    private readonly files: Files,
    private readonly config: CheckedConfig,
  ) {}

  /** A file by the name that a reference has for it, from this folder. */
  async read(name: string, left: number): Promise<Uint8Array> {
    if (/^[a-z][a-z0-9+.-]+:/i.test(name)) throw new Error("only files are read, nothing is fetched");
    const path = isAbsolute(name) ? name : `${this.path}${sep}${name}`;
    if (this.config.allowOutsideFolder !== true) await this.#refuseOutside(path);
    return this.files.read(path, left);
  }

  async #refuseOutside(path: string): Promise<void> {
    if (!isInside(resolve(this.path), resolve(path))) throw outside();
    const { realPath } = this.files;
    if (realPath === undefined) return;
    this.#real ??= realPath(this.path);
    if (!isInside(await this.#real, await realPath(path))) throw outside();
  }
}

function isInside(folder: string, path: string): boolean {
  const way = relative(folder, path);
  return way !== "" && way !== ".." && !way.startsWith(`..${sep}`) && !isAbsolute(way);
}

function outside(): Error {
  return new Error("it is outside the document's folder (config.allowOutsideFolder lets it in)");
}
