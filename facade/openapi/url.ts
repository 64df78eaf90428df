// A document from the web, with the files that it refers to.

import { CallError, invalid, mapError } from "../errors.js";
import { native, runtime } from "../runtime.js";
import type { ConfigFor, OpenAPIImportConfig } from "./config.js";
import { type CheckedConfig, checkedConfig, isPath, mustBeUrl } from "./config-check.js";
import { fetchText } from "./fetch-text.js";
import { type ImportedService, importDocument } from "./import.js";
import { completed, DEFAULT_MAX_DOCUMENT_BYTES } from "./references.js";
import type { OpenAPIImportedOperation } from "./types.js";

const ACCEPT = "application/json, application/yaml, application/vnd.oai.openapi+json, text/yaml, */*;q=0.1";

/** A document that is not there with all its files by then is given up, unless `config.timeout` says otherwise. */
const DEFAULT_TIMEOUT = 60_000;
const LONGEST = 0x7fffffff;

/**
 * Fetches an OpenAPI document (JSON or YAML) and makes operations from it. Relative server URLs in it are resolved
 * against its own URL. Files that it refers to are fetched too, if they are in its folder.
 *
 * @example
 * ```ts
 * registry.registerAll(
 *   await FromOpenAPIUrl("https://pets.example/openapi.json", {
 *     namespace: "pets",
 *     auth: { type: "bearer", token: "..." },
 *   }),
 * );
 * ```
 */
export async function FromOpenAPIUrl<TNamespace extends string = string>(
  url: string,
  config: ConfigFor<TNamespace>,
): Promise<OpenAPIImportedOperation<TNamespace>[]> {
  return (await importUrl(url, config)).operations as OpenAPIImportedOperation<TNamespace>[];
}

export async function importUrl(url: string, config: OpenAPIImportConfig): Promise<ImportedService> {
  const checked = checkedConfig(config);
  const address = addressOf(url);
  const limit = checked.maxDocumentBytes ?? DEFAULT_MAX_DOCUMENT_BYTES;
  // 0 means no limit.
  const deadline =
    performance.now() + (checked.timeout === 0 ? LONGEST : (checked.timeout ?? DEFAULT_TIMEOUT));
  const first = await fetchBytes(address, checked, limit, deadline).catch((error: unknown) => {
    throw notFetched(address, error);
  });
  // Without user name and password, which would be in the names of other files, and so in reports.
  const from = withCredentials(first.url, "", "");
  const { origin, username, password } = new URL(address);
  const document = await native.readOpenApiDocument(runtime, first.bytes, from);
  const folder = folderOf(from);
  await completed(document, limit - first.bytes.byteLength, async (name, left) => {
    const target = new URL(name);
    // As the URL parser reads it: it knows more ways to write `..` than one.
    if (!target.href.startsWith(folder)) throw new Error("it is outside the document's folder");
    const isSame = target.origin === origin;
    const url = isSame ? withCredentials(target.href, username, password) : target.href;
    const file = await fetchBytes(url, checked, left, deadline);
    if (!withCredentials(file.url, "", "").startsWith(folder))
      throw new Error("it was redirected out of the document's folder");
    return file.bytes;
  });
  return importDocument(document, checked, from);
}

function addressOf(url: unknown): string {
  const text = url instanceof URL ? url.href : url;
  if (typeof text === "string" && /^https?:\/\//i.test(text) && URL.canParse(text)) return text;
  const hint = typeof text === "string" && isPath(text) ? ". FromOpenAPIFile reads a file" : "";
  throw invalid(`FromOpenAPIUrl: the URL ${mustBeUrl(text)}${hint}`);
}

/** The query may hold keys, so it is left out. */
function notFetched(address: string, error: unknown): CallError {
  const { origin, pathname } = new URL(address);
  const { code, message, details } = mapError(error);
  return new CallError(
    code,
    `The document at ${origin}${pathname} could not be fetched: ${message}`,
    details,
  );
}

function withCredentials(address: string, username: string, password: string): string {
  return Object.assign(new URL(address), { username, password }).href;
}

function folderOf(url: string): string {
  const { origin, pathname } = new URL(url);
  return origin + pathname.slice(0, pathname.lastIndexOf("/") + 1);
}

async function fetchBytes(
  url: string,
  config: CheckedConfig,
  maxBytes: number,
  deadline: number,
): Promise<{ bytes: Uint8Array; url: string }> {
  const { baseUrl, headers, documentHeaders } = config;
  const timeout = deadline - performance.now();
  if (timeout <= 0) throw new Error("the time for the document and its files is over");
  // Credentials are for the service, and its headers may be such. They go with the document only where it is the
  // service's own.
  const isOwn = baseUrl !== undefined && new URL(baseUrl).origin === new URL(url).origin;
  const { data, url: from } = await fetchText(url, config, {
    accept: ACCEPT,
    headers: isOwn ? { ...headers, ...documentHeaders } : { ...documentHeaders },
    withAuth: isOwn,
    maxBytes,
    timeout: Math.max(1, Math.round(timeout)),
  });
  return { bytes: Buffer.from(data), url: from };
}
