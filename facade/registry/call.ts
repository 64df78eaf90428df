// A call or a subscription on its way through the pipeline.

import type { ResponseEnvelope } from "../envelope.js";
import type { OperationContext } from "../types.js";
import { isAhead } from "./deadline.js";
import type { CallKind } from "./observer-types.js";

/** Where a call comes from, and what follows from that. */
export interface CallOrigin {
  /** From outside the program: the call is never trusted, and nothing that runs on its behalf is trusted for being direct. */
  readonly isOutside: boolean;
  /** Through the call protocol or a server: internal operations do not exist, and the call handler keeps the deadline. */
  readonly isServed: boolean;
  /** Whether the caller can be handed the file of a large result. */
  readonly acceptsFiles: boolean;
  /** How it came, where more is known. */
  readonly via?: Via | undefined;
  /** Throws for a result that the caller cannot be sent. Used where the call has observers. */
  readonly assertOutput?: ((envelope: ResponseEnvelope) => void) | undefined;
}

/** How a call came from outside, for observers. */
export interface Via {
  readonly door: "http" | "mcp" | "nats" | "tool";
  /** Of the request: `POST`, or `tools/call`. */
  readonly method?: string;
  /** Of an HTTP request. */
  readonly path?: string;
  /** Its path with the names of parameters in it. */
  readonly route?: string;
  readonly scheme?: string;
  /** Whether it is answered with the whole envelope. */
  readonly wantsEnvelope?: boolean;
  readonly transport?: "tcp" | "pipe";
  /** The name of the tool that was called, as its caller knows it. */
  readonly tool?: string | null;
}

/** A call that code of this program makes. */
export const DIRECT: CallOrigin = { isOutside: false, isServed: false, acceptsFiles: true };
/** A call that came through the call protocol or a server. */
export const SERVED: CallOrigin = { isOutside: true, isServed: true, acceptsFiles: false };
/** The same, where the file of a large result can be handed out. */
export const SERVED_WITH_FILES: CallOrigin = { ...SERVED, acceptsFiles: true };
/** A call that a model makes of a tool. */
export const TOOL: CallOrigin = { isOutside: true, isServed: false, acceptsFiles: true };

export class Call {
  constructor(
    readonly id: string,
    readonly kind: CallKind,
    readonly input: unknown,
    readonly context: OperationContext,
    readonly origin: CallOrigin,
  ) {}

  /** Whether there is a deadline that the pipeline has to keep. */
  get hasDeadline(): boolean {
    return !this.origin.isServed && isAhead(this.context.deadline);
  }

  /** The same call with what observers or the deadline put in the place of its input or context. */
  with(input: unknown, context: OperationContext): Call {
    return new Call(this.id, this.kind, input, context, this.origin);
  }
}
