// Node's permission model (`--permission`). It stops its own modules, not native code, so native code is not used for what
// they may not.

import { resolve } from "node:path";
import { CallError, InfrastructureErrorCode } from "../errors.js";
import { aName, type Check } from "./options.js";

type Scope = "child" | "fs.read" | "fs.write" | "net";

const FLAGS: Record<Scope, string> = {
  child: "--allow-child-process",
  "fs.read": "--allow-fs-read",
  "fs.write": "--allow-fs-write",
  net: "--allow-net",
};

/** Whether the process may do it. */
export function isPermitted(scope: Scope, file?: string): boolean {
  // Without `--permission` there is no such object.
  const permission = process.permission as { has(scope: Scope, path?: string): boolean } | undefined;
  if (permission === undefined || permission.has(scope, file)) return true;
  // Before Node 25 the model does not know sockets, and reports them as denied.
  return scope === "net" && !process.allowedNodeEnvironmentFlags.has(FLAGS.net);
}

/** Throws unless the process may do it. `what` begins the message. */
export function assertPermitted(scope: Scope, what: string, path?: string): void {
  const file = path === undefined ? undefined : resolve(path);
  if (isPermitted(scope, file)) return;
  const flag = file === undefined ? FLAGS[scope] : `${FLAGS[scope]}=${file}`;
  throw new CallError(
    InfrastructureErrorCode.ACCESS_DENIED,
    `${what} needs a permission that this process was started without. Start Node with ${flag}`,
    { reason: "permission", permission: scope, flag, delivery: "none" },
  );
}

/** A file that native code reads. */
export const aFileToRead: Check = (value, path) => {
  aName(value, path);
  assertPermitted("fs.read", path, value as string);
  return value;
};

/** A folder in which native code reads and writes. */
export const aFolderToWrite: Check = (value, path) => {
  aFileToRead(value, path);
  assertPermitted("fs.write", path, value as string);
  return value;
};
