// The files that a document refers to.

import { messageOf, shortened } from "../interop/text.js";
import { logger } from "../logging.js";
import type { OpenApiDocument } from "../native-binding.js";

/** What a document may have, with the files that it refers to, unless the configuration says otherwise. */
export const DEFAULT_MAX_DOCUMENT_BYTES = 64 * 1024 * 1024;

/** Reads one file; `left` is how many bytes it may have. */
type Read = (name: string, left: number) => Promise<Uint8Array>;

/**
 * Takes in the files that a document refers to, and those that they refer to. One that cannot be read is no
 * reason to give up: what needs it is degraded, and the log says why.
 */
export async function completed(document: OpenApiDocument, limit: number, read: Read): Promise<void> {
  const refused = new Set<string>();
  let left = limit;
  for (;;) {
    const names = document.missingFiles().filter((name) => !refused.has(name));
    if (names.length === 0) return;
    for (const name of names) {
      try {
        const bytes = await read(name, left);
        document.addFile(name, bytes);
        left -= bytes.byteLength;
      } catch (error) {
        refused.add(name);
        logger("openapi").warn(
          `The document refers to ${shortened(name)}, which is not used: ${messageOf(error)}`,
          {
            file: name,
          },
        );
      }
    }
  }
}
