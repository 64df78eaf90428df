// Approvals in a folder that several processes share. A step is one file operation of which exactly one process succeeds:
// a decision is a link to a complete file, and using a request renames it.

import { randomUUID } from "node:crypto";
import {
  linkSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  unlinkSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { failed } from "../errors.js";
import { messageOf } from "../interop/text.js";
import { logger } from "../logging.js";
import type { ApprovalStore, StoredApproval } from "./approval-types.js";

const log = logger("registry");

const ID = /^[\w-]{1,64}$/;

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
    return readdirSync(this.#folder).flatMap((name) => /^([\w-]+)\.(?:request|used)$/.exec(name)?.[1] ?? []);
  }

  /** Removes what is over. */
  #removeOld(): void {
    for (const id of this.ids()) {
      const kind = this.#content(id, "request") === undefined ? "used" : "request";
      const keepUntil = Number.parseInt(this.#content(id, kind) ?? "", 10);
      if (!(keepUntil < Date.now())) continue;
      // First the request: without it, nothing can be decided or used.
      for (const part of [kind, "decision"]) this.#try(() => unlinkSync(this.#path(id, part)), ["ENOENT"]);
    }
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
      // The message has a path, and this error goes to callers.
      log.error(`The folder of approvals cannot be used: ${messageOf(error)}`);
      throw failed("Approvals cannot be read or stored now", { reason: "approval-store", delivery: "none" });
    }
  }
}
