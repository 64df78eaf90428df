export { checkAccess, enforceAccess } from "./access.js";
export type { AccessCondition, AccessTest } from "./access-condition.js";
export type { PlaceLimits } from "./call/admission-queue.js";
export {
  buildCallHandler,
  type CallHandler,
  type CallHandlerConfig,
  type CallHandlerStats,
} from "./call/call-handler.js";
export type { DiscoveredOperation } from "./call/described.js";
export {
  type CallAbortedEvent,
  type CallCompletedEvent,
  type CallErrorEvent,
  CallEventMap,
  type CallEventMapValue,
  CallEventSchema,
  type CallRequestedEvent,
  type CallRespondedEvent,
} from "./call/events.js";
export type { ImportChoice, ImportOptions, PeerOperation } from "./call/imported.js";
export {
  type CallOptions,
  type CallStats,
  type EventChannel,
  PendingRequestMap,
  PendingRequestMap as PendingRequestMapClass,
  type PendingRequestMapOptions,
  type SubscribeOptions,
} from "./call/pending-request-map.js";
export {
  createPortEventTarget,
  type MessagePortLike,
  type PortEventTarget,
} from "./call/port-event-target.js";
export {
  connectPort,
  type PortImportOptions,
  type PortServeOptions,
  type PortStats,
  type PortTransport,
} from "./call/port-transport.js";
export type { CallTransport, CloseOptions, DiscoverOptions, RemoteCallMap } from "./call/transport.js";
export type { IdentityMessage, VerifiedIdentity, VerifyIdentity } from "./call/verify-identity.js";
export * from "./envelope.js";
export * from "./envelope-schemas.js";
export * from "./error-guards.js";
export { CallError, type CallErrorCode, InfrastructureErrorCode, mapError } from "./errors.js";
export * from "./from-mcp.js";
export * from "./from-openapi.js";
export * from "./from-typemap.js";
export type { ImportedAccessControl, ImportedApproval } from "./imported-access.js";
export type { ConnectionEvent, ConnectionStatus } from "./interop/link.js";
export type { TLSOptions } from "./interop/tls.js";
export type { TraceContext } from "./interop/trace.js";
export type {
  CallId,
  EnvOf,
  Mutation,
  OperationsOf,
  Query,
  StreamId,
  Subscription,
  TypedCallMap,
  UntypedOperations,
} from "./operation-types.js";
export type { ApprovalRedis } from "./registry/approval-redis.js";
export type {
  Approval,
  ApprovalCall,
  ApprovalDecision,
  ApprovalEvent,
  ApprovalFilter,
  ApprovalOptions,
  ApprovalQuestion,
  ApprovalStatus,
  ApprovalStore,
  ApprovalVerdict,
  StoredApproval,
} from "./registry/approval-types.js";
export type { Approvals } from "./registry/approvals.js";
export type { AuthorisedCall, CustomAuth } from "./registry/authorise.js";
export { createRegistry } from "./registry/create-registry.js";
export type { OutputMode } from "./registry/entry.js";
export { buildEnv, type CallMap, type EnvOptions } from "./registry/env.js";
export type { CallLimits, CallRate, CircuitBreaker, LimitStats, RegistryStats } from "./registry/limits.js";
export type {
  AccessReport,
  CallKind,
  CallReport,
  Middleware,
  MiddlewareAnswer,
  MiddlewareCall,
  MiddlewareNext,
  RegistryEvents,
} from "./registry/observer-types.js";
export type { RegisteredOperation } from "./registry/registration.js";
export { OperationRegistry } from "./registry/registry.js";
export type { RegistryOptions } from "./registry/registry-options.js";
export { nodeScannerFS, type OperationManifest, type ScannerFS, scanOperations } from "./registry/scanner.js";
export type { SpillOptions } from "./registry/spills.js";
export { subscribe } from "./registry/subscribe.js";
export type { ValueError } from "./schema/compiled.js";
export { registerFormats } from "./schema/formats.js";
export { FromSchema } from "./schema/from-schema.js";
export { assertIsSchema } from "./schema/guards.js";
export { type TypeBoxModule, useTypeBox } from "./schema/registries.js";
export { collectErrors, formatValueErrors, validateOrThrow } from "./schema/validation.js";
export type { AnySchema, SchemaInput, SchemaOutput, StandardSchema, TypeBoxSchema } from "./schema-types.js";
export {
  AccessControlSchema,
  ErrorDefinitionSchema,
  OperationContextSchema,
  OperationDefinitionSchema,
  OperationSpecSchema,
} from "./spec-schemas.js";
export * from "./types.js";

// Loads the addon. Last, so that what it needs of the above is there; and here, so that a missing
// binary is reported when the package is imported and not in the middle of the application's work.
import "./runtime.js";
