// `${env:NAME}`, `${env:NAME:-default}` and `${file:path}` in the texts of a configuration.

import { closeSync, fstatSync, openSync, readFileSync } from "node:fs";
import { resolve } from "node:path";

const REFERENCE = /\$\{(?:env:([^}:]+)(?::-([^}]*))?|file:([^}]+))\}/g;
/** A larger file is not a secret. */
const MAX_BYTES = 1024 * 1024;

interface ReferenceRules {
  /** Paths of files are relative to it. */
  readonly folder: string;
  /** Makes the error for a dangling reference. `hint` says what to do. */
  refuse(problem: string, hint: string, variable: string | undefined): Error;
  /** Called with the value of each reference: such values are not to be shown. */
  expanded(value: string): void;
}

/** The text with its references replaced by what they stand for. */
export function expandedText(text: string, rules: ReferenceRules): string {
  return text.replace(REFERENCE, (_, name?: string, otherwise?: string, file?: string) => {
    const found = file === undefined ? process.env[name as string] : contentOf(file, rules);
    if (found !== undefined) {
      rules.expanded(found);
      return found;
    }
    if (otherwise !== undefined) return otherwise;
    const hint = `Set it, or give a default: \${env:${name}:-default}`;
    throw rules.refuse(`the environment variable ${name}`, hint, name);
  });
}

/** Files are named from the folder of their configuration: from here on, from anywhere. */
export function withAbsoluteFiles(text: string, folder: string): string {
  return text.replace(REFERENCE, (whole, _, __, file?: string) =>
    file === undefined ? whole : `\${file:${resolve(folder, file)}}`,
  );
}

/** Whether a text is a reference and nothing else. */
export function isReference(text: string): boolean {
  return text.replace(REFERENCE, "") === "" && text !== "";
}

/** What a file holds, without the line end that editors put there. */
function contentOf(path: string, { folder, refuse }: ReferenceRules): string {
  let file: number | undefined;
  try {
    file = openSync(resolve(folder, path), "r");
    const stat = fstatSync(file);
    if (!stat.isFile()) throw new Error("it is not a file");
    if (stat.size > MAX_BYTES) throw new Error(`it has more than ${MAX_BYTES} bytes`);
    return readFileSync(file, "utf8").replace(/\r?\n$/, "");
  } catch (error) {
    const reason = (error as NodeJS.ErrnoException).code ?? (error as Error).message;
    throw refuse(`the file ${path}`, `It cannot be read: ${reason}`, undefined);
  } finally {
    if (file !== undefined) closeSync(file);
  }
}
