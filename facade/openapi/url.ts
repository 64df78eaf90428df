// A document from the web, with the files that it refers to.

import { CallError, InfrastructureErrorCode } from "../errors.js";
import { native, runtime } from "../runtime.js";
import type { HTTPServiceConfig } from "./config.js";
import { type CheckedConfig, checkedConfig } from "./config-check.js";
import { fetchText } from "./handler.js";
import { type ImportedService, importDocument } from "./import.js";
import { completed, DEFAULT_MAX_DOCUMENT_BYTES } from "./references.js";
import type { OpenAPIImportedOperation } from "./types.js";

const ACCEPT = "application/json, application/yaml, application/vnd.oai.openapi+json, text/yaml, */*;q=0.1";

/** A document that takes longer than this is given up, unless `config.timeout` says otherwise. */
const DEFAULT_TIMEOUT = 60_000;

/**
 * Fetches an OpenAPI document (JSON or YAML) and makes operations of it. Servers that it names by relative URLs
 * are found from its own URL. Files that it refers to are fetched too, as long as they are in its folder.
 */
export async function FromOpenAPIUrl(
  url: string,
  config: HTTPServiceConfig,
): Promise<OpenAPIImportedOperation[]> {
  return (await importUrl(url, config)).operations;
}

export async function importUrl(url: string, config: HTTPServiceConfig): Promise<ImportedService> {
  const checked = checkedConfig(config);
  const address = addressOf(url);
  const limit = checked.maxDocumentBytes ?? DEFAULT_MAX_DOCUMENT_BYTES;
  const first = await fetchBytes(address, checked, limit);
  const document = await native.readOpenApiDocument(runtime, first.bytes, first.url);
  const folder = folderOf(first.url);
  await completed(document, limit - first.bytes.byteLength, async (name, left) => {
    const target = name.startsWith(folder) ? new URL(name).href : "";
    // Once more, as the URL parser reads it: it knows more ways to write `..` than one.
    if (!target.startsWith(folder)) throw new Error("it is outside the document's folder");
    return (await fetchBytes(target, checked, left)).bytes;
  });
  return importDocument(document, checked, first.url);
}

function addressOf(url: unknown): string {
  const text = url instanceof URL ? url.href : url;
  if (typeof text === "string" && /^https?:\/\//i.test(text) && URL.canParse(text)) return text;
  throw new CallError(
    InfrastructureErrorCode.VALIDATION_ERROR,
    "FromOpenAPIUrl needs an absolute http or https URL",
  );
}

function folderOf(url: string): string {
  const { origin, pathname } = new URL(url);
  return origin + pathname.slice(0, pathname.lastIndexOf("/") + 1);
}

async function fetchBytes(
  url: string,
  config: CheckedConfig,
  maxBytes: number,
): Promise<{ bytes: Uint8Array; url: string }> {
  const { baseUrl, documentHeaders, timeout } = config;
  const { text, url: from } = await fetchText(url, config, {
    accept: ACCEPT,
    headers: documentHeaders ?? {},
    // Credentials are for the service. They go with the document only where it is the service's own.
    withAuth: baseUrl !== undefined && new URL(baseUrl).origin === new URL(url).origin,
    maxBytes,
    timeout: timeout ?? DEFAULT_TIMEOUT,
  });
  return { bytes: Buffer.from(text), url: from };
}
