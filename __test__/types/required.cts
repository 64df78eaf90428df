// The declarations as a CommonJS module gets them, for both-formats.test-d.mts.

export type * as Operations from "@alkdev/operations";
export type * as Nats from "@alkdev/operations/transport-nats";
