// Operations of a peer as one's own: they are called over its connection, with the caller's identity, deadline and abort.

import { invalid } from "../errors.js";
import {
  accessRules,
  type ImportedAccessControl,
  type ImportedApproval,
  importApproval,
  importedApproval,
  importedRules,
} from "../imported-access.js";
import type { Yielder } from "../interop/event-loop.js";
import { aName, checkedOptions, isFunction, isListOf, isString, must } from "../interop/options.js";
import { messageOf } from "../interop/text.js";
import { logger } from "../logging.js";
import type { HubPeer } from "../native-binding.js";
import type { Connection } from "../registry/connection-state.js";
import { addTraits } from "../registry/handler-traits.js";
import { metadataWithApproval } from "../registry/metadata.js";
import type { NativeWork } from "../registry/native-handler.js";
import type { OperationRegistry } from "../registry/registry.js";
import type { ForeignSchemas } from "../schema/foreign-schemas.js";
import type { TypeBoxSchema } from "../schema-types.js";
import { Type } from "../type-builder.js";
import {
  type OperationContext,
  type OperationHandler,
  type OperationSpec,
  OperationType,
  type SubscriptionHandler,
} from "../types.js";
import type { DiscoveredOperation } from "./described.js";
import type { RemoteCallMap } from "./transport.js";

const log = logger("call");

/**
 * An operation of a peer: its spec, and a handler that calls it there.
 *
 * @example
 * ```ts
 * const operations: PeerOperation[] = await hub.import({ namespace: "remote" });
 * registry.registerAll(operations);
 * ```
 */
export type PeerOperation = OperationSpec & { handler: OperationHandler | SubscriptionHandler };

/**
 * Which operations of a peer to import: ids, patterns such as `files.*`, or a function.
 *
 * @example
 * ```ts
 * const choice: ImportChoice = ["files.*", "git.status"];
 * ```
 */
export type ImportChoice = readonly string[] | ((operation: DiscoveredOperation) => boolean);

/**
 * Which operations `import` takes from a peer, and under which names.
 *
 * @example
 * ```ts
 * const options: ImportOptions = { namespace: "laptop", exclude: ["shell.*"] };
 * ```
 */
export interface ImportOptions {
  /** The namespace of the imported operations here (default: their own). */
  namespace?: string;
  /** Only these (default: all). */
  include?: ImportChoice;
  /** Not these. */
  exclude?: ImportChoice;
  /** Access rules here, in addition to the rules of the peer (default: no rules). */
  accessControl?: ImportedAccessControl;
  /** Which operations need the approval of a person here: a word for all, or a function of each (default: none). */
  approval?: ImportedApproval;
  /** Registers the operations in this registry, and follows changes at the peer until the connection is closed. */
  keepInStep?: OperationRegistry;
}

const aChoice = must(
  "a list of ids and patterns, or a function",
  (value) => isFunction(value) || isListOf(value, isString),
);

const IMPORT_FIELDS = {
  namespace: aName,
  include: aChoice,
  exclude: aChoice,
  accessControl: accessRules,
  approval: importApproval,
  keepInStep: must("an OperationRegistry", (value) => isFunction(Object(value).registerAll)),
};

export function checkedImport(options: ImportOptions, prefix = "import: "): ImportOptions {
  return checkedOptions<ImportOptions>(options, IMPORT_FIELDS, { prefix });
}

/** The process that serves the operations. */
export interface Peer {
  /** Its name, for messages. */
  readonly name: string;
  readonly callMap: RemoteCallMap;
  /** Whether there is a connection to it; absent where that cannot be lost. */
  readonly connection?: Connection;
  /** How the native side calls an operation of it without JavaScript. */
  nativeWork?(operationId: string): NativeWork;
}

/** Calls of an operation at the other end of a connection between two peers, without JavaScript. */
export function peerWork(peer: HubPeer, operationId: string): NativeWork {
  return {
    isPossible: () => true,
    ownsSchema: () => false,
    register: (registry, spec, { input, output }) => registry.setPeer(spec, input, output, peer, operationId),
  };
}

/** Makes operations of what a peer serves, in several turns of the event loop. Rejects where two of them would have one id. */
export async function importedFrom(
  peer: Peer,
  discovered: readonly DiscoveredOperation[],
  options: ImportOptions,
  schemas: ForeignSchemas,
  yielder: Yielder,
): Promise<PeerOperation[]> {
  const { namespace, include, exclude } = options;
  const chosen = discovered.filter(
    (operation) => isChosen(operation, include, true) && !isChosen(operation, exclude, false),
  );
  const taken = new Map<string, string>();
  const imported: PeerOperation[] = [];
  schemas.begin();
  for (const operation of chosen) {
    const remoteId = idOf(operation);
    const id = `${namespace ?? operation.namespace}.${operation.name}`;
    const other = taken.get(id);
    if (other !== undefined) {
      throw invalid(
        `${other} and ${remoteId} of ${peer.name} would both be ${id} here. Import them without a namespace, or one ` +
          "of them only (include, exclude)",
        { operationId: id, reason: "collision", operations: [other, remoteId] },
      );
    }
    taken.set(id, remoteId);
    imported.push(importOne(peer, operation, remoteId, options, schemas));
    if (yielder.isDue) await yielder.yieldNow();
  }
  return imported;
}

function idOf({ namespace, name }: { namespace: string; name: string }): string {
  return `${namespace}.${name}`;
}

function isChosen(
  operation: DiscoveredOperation,
  choice: ImportChoice | undefined,
  otherwise: boolean,
): boolean {
  if (choice === undefined) return otherwise;
  if (typeof choice === "function") return choice(operation) === true;
  const id = idOf(operation);
  return choice.some((each) => (each.endsWith("*") ? id.startsWith(each.slice(0, -1)) : id === each));
}

function importOne(
  peer: Peer,
  operation: DiscoveredOperation,
  remoteId: string,
  { namespace, accessControl, approval }: ImportOptions,
  schemas: ForeignSchemas,
): PeerOperation {
  const schema = (field: "inputSchema" | "outputSchema"): TypeBoxSchema => {
    try {
      return schemas.take(operation[field]);
    } catch (error) {
      log.warn(
        `The ${field} of ${remoteId} of ${peer.name} cannot be used: ${messageOf(error)}. Unknown is used instead.`,
        { operationId: remoteId },
      );
      return Type.Unknown() as TypeBoxSchema;
    }
  };
  const spec: OperationSpec = {
    ...operation,
    namespace: namespace ?? operation.namespace,
    inputSchema: schema("inputSchema"),
    outputSchema: schema("outputSchema"),
    accessControl: { requiredScopes: [] },
    _meta: { peer: peer.name, operationId: remoteId },
  };
  spec.accessControl = importedRules(accessControl, spec);
  Object.assign(spec, importedApproval(approval, spec));
  const isStream = operation.type === OperationType.SUBSCRIPTION;
  const handler = addTraits(isStream ? subscriptionHandler(peer, remoteId) : callHandler(peer, remoteId), {
    isImported: true,
    peer,
    connection: peer.connection,
    idChosenBy: { source: peer, name: peer.name },
    endsItself: !isStream,
    nativeWork: peer.nativeWork?.(remoteId),
  });
  return { ...spec, handler } as PeerOperation;
}

/** What goes along with a call: who calls and until when, never trust. */
function optionsOf(context: OperationContext) {
  const { requestId, identity, signal } = context;
  return { parentRequestId: requestId, identity, metadata: metadataWithApproval(context), signal };
}

function callHandler(peer: Peer, remoteId: string): OperationHandler {
  return async (input: unknown, context: OperationContext = {}) =>
    peer.callMap.call(remoteId, input, { ...optionsOf(context), deadline: context.deadline });
}

function subscriptionHandler(peer: Peer, remoteId: string): SubscriptionHandler {
  return async function* subscription(input: unknown, context: OperationContext = {}) {
    yield* peer.callMap.subscribe(remoteId, input, optionsOf(context));
  } as SubscriptionHandler;
}
