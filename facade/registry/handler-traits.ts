// What the package knows about the handlers that it makes. A function around a handler is not that handler.

import type { OperationContext } from "../types.js";
import type { Connection } from "./connection-state.js";
import type { Limiter } from "./limits.js";
import type { NativeWork } from "./native-handler.js";
import type { Spills } from "./spills.js";

/** Where a handler sends its calls. */
export type SourceAbout =
  | {
      readonly source: "http";
      readonly method: string;
      /** The path, with the names of its parameters. */
      readonly template: string;
      /** Where the service is, if the configuration says so. */
      readonly url: string | undefined;
    }
  | {
      readonly source: "mcp";
      readonly server: string;
      readonly tool: string;
      /** Nothing for a server that was started here. */
      readonly url: string | undefined;
    };

export interface HandlerTraits {
  /** It was made by an importer: it calls a service, a server or a peer. */
  readonly isImported?: boolean;
  /** Where it sends its calls, for observers. */
  readonly source?: SourceAbout;
  /** The peer that it calls. */
  readonly peer?: object;
  /** The connection that it needs. */
  readonly connection?: Connection | undefined;
  /** The source whose credentials it uses. */
  readonly credentials?: { readonly name: string } | undefined;
  /** It trades the tokens of callers for those of its service. */
  readonly tradesCallerTokens?: boolean;
  /** Who has chosen the id of its operation, if that was not the program: such an id takes no other's place. */
  readonly idChosenBy?: { readonly source: object; readonly name: string };
  /** The limits of its source. */
  readonly limiter?: Limiter | undefined;
  /** It ends once its signal is aborted, and knows then how far the call had come. */
  readonly endsItself?: boolean;
  /** It can put large results into files. */
  readonly spilling?: {
    /** Where its own configuration says that large results go. */
    readonly own: Spills | undefined;
    /** The same work, with large results in these files, or in memory. */
    call(input: unknown, context: OperationContext | undefined, spills: Spills | undefined): unknown;
  };
  /** The same work, done without JavaScript. */
  readonly nativeWork?: NativeWork | undefined;
  /** It is one of the operations of a catalogue, which a model need not find again. */
  readonly isCatalogue?: boolean;
}

const known = new WeakMap<object, HandlerTraits>();
const NONE: HandlerTraits = {};

export function addTraits<T extends object>(handler: T, traits: HandlerTraits): T {
  known.set(handler, { ...known.get(handler), ...traits });
  return handler;
}

export function traitsOf(handler: object | undefined): HandlerTraits {
  return (handler && known.get(handler)) ?? NONE;
}
