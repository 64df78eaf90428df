// Approvals in a folder that several processes share. A step is one file operation of which exactly one process succeeds:
// a decision is a link to a complete file, and using a request renames it.

import { randomUUID } from "node:crypto";
import {
  linkSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  statSync,
  unlinkSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { type CallError, failed } from "../errors.js";
import { messageOf } from "../interop/text.js";
import { logger } from "../logging.js";
import type { ApprovalStore, StoredApproval } from "./approval-types.js";

const log = logger("registry");

const ID = /^[\w-]{1,64}$/;
/** The files of this store: others may lie there too. */
const OWN = /^([\da-f-]{36})\.(request|decision|used|new)$/;

export class FolderApprovals implements ApprovalStore {
  readonly #folder: string;
  readonly #most: number;

  constructor(folder: string, most: number) {
    this.#folder = folder;
    this.#most = most;
    mkdirSync(folder, { recursive: true, mode: 0o700 });
  }

  add(id: string, request: string, keepUntil: number): boolean {
    if (this.ids().length >= this.#most) {
      this.#removeOld();
      if (this.ids().length >= this.#most) return false;
    }
    return this.#create(this.#path(id, "request"), `${keepUntil}\n${request}`);
  }

  decide(id: string, decision: string): boolean {
    return this.read(id)?.isUsed === false && this.#create(this.#path(id, "decision"), decision);
  }

  use(id: string): boolean {
    return this.#try(() => renameSync(this.#path(id, "request"), this.#path(id, "used")), ["ENOENT"]);
  }

  read(id: string): StoredApproval | undefined {
    if (!ID.test(id)) return undefined;
    const open = this.#content(id, "request");
    const text = open ?? this.#content(id, "used");
    if (text === undefined) return undefined;
    const request = text.slice(text.indexOf("\n") + 1);
    return { request, decision: this.#content(id, "decision"), isUsed: open === undefined };
  }

  ids(): string[] {
    return this.#files().flatMap(([id, part]) => (part === "request" || part === "used" ? id : []));
  }

  /** Removes what is over: used requests, expired ones, and parts that a killed process has left. */
  #removeOld(): void {
    for (const [id, part] of this.#files()) {
      if (!this.#isOver(id, part)) continue;
      // First the request: without it, nothing can be decided or used.
      for (const each of ["request", part]) this.#try(() => unlinkSync(this.#path(id, each)), ["ENOENT"]);
    }
  }

  #isOver(id: string, part: string): boolean {
    if (part === "new") return this.#isLeft(`${id}.new`);
    const open = this.#content(id, "request");
    return open === undefined || Number.parseInt(open, 10) < Date.now();
  }

  /** Whether a file has been incomplete for longer than writing it takes. */
  #isLeft(name: string): boolean {
    let since = Date.now();
    this.#try(() => {
      since = statSync(join(this.#folder, name)).mtimeMs;
    }, ["ENOENT"]);
    return since < Date.now() - 600_000;
  }

  /** The id and the part of each file. */
  #files(): [id: string, part: string][] {
    let names: string[] = [];
    this.#try(() => {
      names = readdirSync(this.#folder);
    }, []);
    return names.flatMap((name) => {
      const [, id = "", part = ""] = OWN.exec(name) ?? [];
      return id === "" ? [] : [[id, part]];
    });
  }

  #path(id: string, part: string): string {
    return join(this.#folder, `${id}.${part}`);
  }

  #content(id: string, part: string): string | undefined {
    let text: string | undefined;
    this.#try(() => {
      text = readFileSync(this.#path(id, part), "utf8");
    }, ["ENOENT"]);
    return text;
  }

  /** Creates a file that is complete from its first moment. `false` if there is one. */
  #create(path: string, text: string): boolean {
    const own = join(this.#folder, `${randomUUID()}.new`);
    return this.#try(() => {
      writeFileSync(own, text, { mode: 0o600, flag: "wx" });
      try {
        linkSync(own, path);
      } finally {
        unlinkSync(own);
      }
    }, ["EEXIST"]);
  }

  /** Whether it worked; `false` for the errors that are expected. */
  #try(work: () => void, expected: readonly string[]): boolean {
    try {
      work();
      return true;
    } catch (error) {
      if (expected.includes((error as NodeJS.ErrnoException).code ?? "")) return false;
      throw storeFailed("folder", error);
    }
  }
}

/** The error for callers. What has failed may name a path or an address, and is for the log. */
export function storeFailed(store: string, error: unknown): CallError {
  log.error(`The ${store} of approvals cannot be used: ${messageOf(error)}`);
  return failed("Approvals cannot be read or stored now", { reason: "approval-store", delivery: "none" });
}
