// Finding and reading a configuration file.

import { existsSync } from "node:fs";
import { open } from "node:fs/promises";
import { dirname, resolve } from "node:path";
import { isRecord } from "../../interop/options.js";
import { kindOf, messageOf } from "../../interop/text.js";
import { native, runtime } from "../../runtime.js";
import { configError } from "../exit-codes.js";

/** In the order in which they are looked for. */
const NAMES = ["operations.yaml", "operations.yml", "operations.json"];
const MAX_BYTES = 8 * 1024 * 1024;

/** A file as it was read: nothing is checked but that it holds an object. */
export interface ConfigFile {
  /** As the user calls it, for messages. */
  readonly name: string;
  /** Paths in the file are relative to it. */
  readonly folder: string;
  readonly content: Record<string, unknown>;
}

/** The file that was named, or the one that lies in this folder. */
export async function readConfig(named: string | undefined): Promise<ConfigFile> {
  const name = named ?? NAMES.find((candidate) => existsSync(candidate));
  if (name === undefined) {
    throw configError(
      `There is no configuration here. Name one with --config <file>, or write ${NAMES[0]} in this folder`,
    );
  }
  const content = parsed(name, await textOf(name));
  if (!isRecord(content)) throw configError(`${name}: the file must hold an object, not ${kindOf(content)}`);
  return { name, folder: dirname(resolve(name)), content };
}

async function textOf(name: string): Promise<string> {
  try {
    const file = await open(name, "r");
    try {
      const stat = await file.stat();
      // A pipe or a device may never end.
      if (!stat.isFile()) throw new Error("it is not a file");
      if (stat.size > MAX_BYTES) throw new Error(`it has more than ${MAX_BYTES} bytes`);
      return await file.readFile("utf8");
    } finally {
      await file.close();
    }
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    const reason = code === "ENOENT" ? "there is no such file" : messageOf(error);
    throw configError(`Cannot read the configuration ${name}: ${reason}`);
  }
}

function parsed(name: string, text: string): unknown {
  try {
    return JSON.parse(native.readSettings(runtime, text));
  } catch (error) {
    throw configError(`${name}: ${messageOf(error)}`);
  }
}
