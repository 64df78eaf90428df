import { userInfo } from "node:os";
import { CallError } from "../../errors.js";
import { isRecord } from "../../interop/options.js";
import { messageOf } from "../../interop/text.js";
import type { Approval } from "../../registry/approval-types.js";
import { OperationRegistry } from "../../registry/registry.js";
import { DOOR_PATHS } from "../../serve/options.js";
import type { CallerIdentity } from "../../types.js";
import { CommandError, configError, EXIT, usageError } from "../exit-codes.js";
import { configFor, identityFor } from "../hub.js";
import type { Workplace } from "../perform.js";
import { table } from "../table.js";

/** How long a hub may take to answer, in milliseconds. */
const PATIENCE = 30_000;

/** The approvals of a hub that is running, or those of a store. */
interface Place {
  list(): Promise<Approval[]>;
  decide(id: string, approve: boolean, reason: string | undefined): Promise<Approval>;
}

export async function approvalsCommand(at: Workplace): Promise<undefined> {
  const { options, words, terminal } = at;
  const [what = "list", id] = words;
  const url = options.text("url");
  if (what === "list") {
    if (id !== undefined) throw usageError("`approvals list` takes no id");
    const place = url === undefined ? await storeOf(at) : hubAt(url, at);
    const all = await place.list();
    const shown = options.has("all") ? all : all.filter(({ status }) => status === "pending");
    if (terminal.isJson) await terminal.printJson({ approvals: shown });
    else if (shown.length === 0)
      terminal.note(options.has("all") ? "There are no approvals" : "Nothing waits");
    else await terminal.print(table(HEADINGS, shown.map(rowOf), terminal.width));
    return undefined;
  }
  if (what !== "approve" && what !== "deny") {
    throw usageError(`approvals ${what}: there are list, approve and deny`);
  }
  if (id === undefined) throw usageError(`approvals ${what}: name the id of the request`);
  const place = url === undefined ? await storeOf(at) : hubAt(url, at);
  const decided = await place.decide(id, what === "approve", options.text("reason"));
  if (terminal.isJson) await terminal.printJson(decided);
  else await terminal.print(`${decided.status} ${id}: ${decided.operationId} ${inputOf(decided)}`);
  return undefined;
}

const HEADINGS = ["ID", "STATUS", "OPERATION", "INPUT", "WHO", "DECIDED BY", "EXPIRES"];

function rowOf(approval: Approval): string[] {
  const { id, status, operationId, identity, by, expires } = approval;
  const until = new Date(expires).toISOString().replace(/\.\d+Z$/, "Z");
  return [id, status, operationId, inputOf(approval), identity?.id ?? "", by?.id ?? "", until];
}

function inputOf({ input }: Approval): string {
  return JSON.stringify(input) ?? "";
}

/** The store that the configuration names. */
async function storeOf(at: Workplace): Promise<Place> {
  const config = await configFor(at);
  const given = config.approvals();
  at.terminal.hide(config.secrets);
  const { store = "memory" } = given;
  if (store === "memory") {
    throw configError(
      `${config.file}: the hub has its approvals in memory. Name the hub with --url, or a folder or a Redis as approvals.store`,
    );
  }
  const { approvals } = new OperationRegistry({ approvals: given });
  const by: CallerIdentity = identityFor(at, config) ?? { id: `local:${userName()}`, scopes: [] };
  return {
    list: () => approvals.list(),
    decide: (id, approve, reason) =>
      approvals.decide(id, { approve, by, ...(reason !== undefined && { reason }) }),
  };
}

function userName(): string {
  try {
    return userInfo().username;
  } catch {
    return "unknown";
  }
}

/** The HTTP door of a hub. */
function hubAt(given: string, { options, terminal, interrupts }: Workplace): Place {
  if (!URL.canParse(given) || !/^https?:/i.test(given))
    throw usageError("--url must be an http or https URL");
  if (options.has("as")) throw usageError("--as is for a store: a hub knows you by the token");
  const url = new URL(given);
  const door = url.pathname === "/" ? DOOR_PATHS.http : url.pathname.replace(/\/$/, "");
  const token = options.text("token") ?? process.env["OPERATIONS_TOKEN"];
  if (token !== undefined) terminal.hide([token]);
  const headers = {
    "content-type": "application/json",
    ...(token !== undefined && { authorization: `Bearer ${token}` }),
  };
  const ask = async (path: string, decision?: object): Promise<unknown> => {
    const signal = AbortSignal.any([interrupts.signal, AbortSignal.timeout(PATIENCE)]);
    const init: RequestInit = { headers, signal, redirect: "error" };
    if (decision !== undefined) Object.assign(init, { method: "POST", body: JSON.stringify(decision) });
    const target = `${url.origin}${door}/.approvals${path}`;
    const response = await fetch(target, init).catch((error: unknown) => {
      throw new CommandError(
        EXIT.FAILED,
        "EXECUTION_ERROR",
        `${url.host} cannot be reached: ${messageOf(Object(error).cause ?? error)}`,
      );
    });
    const body: unknown = await response.json().catch(() => undefined);
    if (response.ok && isRecord(body)) return body;
    throw refused(response.status, body, url.host);
  };
  return {
    list: async () => ((await ask("")) as { approvals: Approval[] }).approvals,
    decide: async (id, approve, reason) =>
      (await ask(`/${encodeURIComponent(id)}`, { approve, reason })) as Approval,
  };
}

function refused(status: number, body: unknown, host: string): CallError {
  const { code, detail } = Object(body) as { code?: unknown; detail?: unknown };
  if (status === 401) {
    return new CommandError(
      EXIT.DENIED,
      "ACCESS_DENIED",
      `${host} wants a token: --token, or the variable OPERATIONS_TOKEN`,
    );
  }
  if (typeof code === "string" && typeof detail === "string") return new CallError(code, detail);
  const message =
    status === 404
      ? `${host} has no such approval, or you may not see it`
      : `${host} has answered with status ${status}: is --url its HTTP door?`;
  return new CommandError(status === 404 ? EXIT.NOT_FOUND : EXIT.FAILED, "EXECUTION_ERROR", message);
}
