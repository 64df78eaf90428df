// The public API, in the groups of the documentation. Written by hand as a table of contents; the
// declarations themselves are the compiler's, and a test compares the two lists name by name.

// Operations
export {
  AccessControlSchema,
  defineNamespace,
  defineOperation,
  ErrorDefinitionSchema,
  OperationContextSchema,
  OperationDefinitionSchema,
  OperationSpecSchema,
  OperationType,
} from "./dist/index.js";
export type {
  AccessCondition,
  AccessControl,
  AccessRules,
  AccessTest,
  AnyOperation,
  CallContext,
  CallerIdentity,
  CallerLine,
  DefinedOperation,
  ErrorDefinition,
  HandlerContext,
  HandlerlessDraft,
  HandlerOf,
  Identity,
  IOperationDefinition,
  MCPMeta,
  NamespaceDefaults,
  OperationContext,
  OperationContextExtensions,
  OperationDraft,
  OperationEnv,
  OperationHandler,
  CallMetadata,
  OperationMeta,
  OperationSpec,
  SubscriptionHandler,
  Uses,
} from "./dist/index.js";

// Registry, streaming, composition
export { buildEnv, createRegistry, OperationRegistry, subscribe } from "./dist/index.js";
export type {
  AccessReport,
  Approval,
  ApprovalCall,
  ApprovalDecision,
  ApprovalEvent,
  ApprovalFilter,
  ApprovalOptions,
  ApprovalQuestion,
  ApprovalRedis,
  ApprovalStatus,
  ApprovalStore,
  ApprovalVerdict,
  Approvals,
  AuthorisedCall,
  CallId,
  CallKind,
  CallLimits,
  CallMap,
  CallRate,
  CallReport,
  CircuitBreaker,
  CustomAuth,
  EnvOf,
  EnvOptions,
  ImportedAccessControl,
  ImportedApproval,
  LimitStats,
  Middleware,
  MiddlewareAnswer,
  MiddlewareCall,
  MiddlewareNext,
  Mutation,
  OperationsOf,
  OutputMode,
  Query,
  RegisteredOperation,
  RegistryEvents,
  RegistryOptions,
  RegistryStats,
  StoredApproval,
  StreamId,
  Subscription,
  TraceContext,
  TypedCallMap,
  UntypedOperations,
} from "./dist/index.js";

// Call protocol
export {
  buildCallHandler,
  CallEventMap,
  CallEventSchema,
  connectPort,
  createPortEventTarget,
  PendingRequestMap,
  PendingRequestMapClass,
} from "./dist/index.js";
export type {
  CallAbortedEvent,
  CallCompletedEvent,
  CallErrorEvent,
  CallEventMapValue,
  CallHandler,
  CallHandlerConfig,
  CallHandlerStats,
  CallOptions,
  CallRequestedEvent,
  CallRespondedEvent,
  CallStats,
  CallTransport,
  CloseOptions,
  ConnectionEvent,
  ConnectionStatus,
  DiscoveredOperation,
  DiscoverOptions,
  EventChannel,
  IdentityMessage,
  ImportChoice,
  ImportOptions,
  MessagePortLike,
  PeerOperation,
  PendingRequestMapOptions,
  PlaceLimits,
  PortEventTarget,
  PortImportOptions,
  PortServeOptions,
  PortStats,
  PortTransport,
  RemoteCallMap,
  SubscribeOptions,
  TLSOptions,
  VerifiedIdentity,
  VerifyIdentity,
} from "./dist/index.js";

// Scanner
export { nodeScannerFS, scanOperations } from "./dist/index.js";
export type { OperationManifest, ScannerFS } from "./dist/index.js";

// Envelopes
export {
  HTTPResponseMetaSchema,
  httpEnvelope,
  isResponseEnvelope,
  LocalResponseMetaSchema,
  localEnvelope,
  MCPContentBlockSchema,
  MCPResponseMetaSchema,
  mcpEnvelope,
  RESPONSE_SOURCES,
  ResponseEnvelopeSchema,
  ResponseMetaSchema,
  unwrap,
} from "./dist/index.js";
export type {
  HTTPResponseMeta,
  LocalResponseMeta,
  MCPAnnotations,
  MCPContentBlock,
  MCPResourceContent,
  MCPResponseMeta,
  ResponseEnvelope,
  ResponseMeta,
  ResponseNote,
  ResponseSource,
  SpilledResult,
  SpillOptions,
} from "./dist/index.js";

// Errors
export {
  CallError,
  InfrastructureErrorCode,
  isAccessError,
  isApprovalRequired,
  isDeclaredError,
  isHTTPError,
  isRetryable,
  isTimeout,
  isValidationError,
  mapError,
} from "./dist/index.js";
export type {
  AccessErrorDetails,
  ApprovalRequiredDetails,
  CallErrorCode,
  CommonErrorDetails,
  HTTPErrorDetails,
  TimeoutDetails,
  ValidationErrorDetails,
} from "./dist/index.js";

// Access control
export { checkAccess, enforceAccess } from "./dist/index.js";

// Validation
export { assertIsSchema, collectErrors, formatValueErrors, validateOrThrow } from "./dist/index.js";
export type { ValueError } from "./dist/index.js";

// Schemas, of TypeBox and of other libraries
export {
  defaultAdapter,
  FromSchema,
  registerFormats,
  useTypeBox,
  valibotAdapter,
  zodAdapter,
} from "./dist/index.js";
export type {
  AnySchema,
  LibraryAdapter,
  SchemaAdapter,
  SchemaInput,
  SchemaMode,
  SchemaOutput,
  StandardSchema,
  TypeBoxModule,
  TypeBoxSchema,
} from "./dist/index.js";

// OpenAPI
export {
  FromOpenAPI,
  FromOpenAPIFile,
  FromOpenAPIUrl,
  inspectOpenAPI,
  OpenAPIServiceRegistry,
  parseSSEFrames,
} from "./dist/index.js";
export type {
  HTTPAuth,
  HTTPOAuth,
  HTTPRetry,
  HTTPServiceConfig,
  HTTPStreams,
  OpenAPICandidate,
  OpenAPIFS,
  OpenAPIImportConfig,
  OpenAPIImportedOperation,
  OpenAPIInspection,
  OpenAPIOperation,
  OpenAPIParameter,
  OpenAPIProblem,
  OpenAPIReportEntry,
  OpenAPISecurity,
  OpenAPISelector,
  OpenAPISpec,
  PerCall,
  SSEEvent,
} from "./dist/index.js";

// MCP
export { closeMCPClient, createMCPClient, MCPClientLoader, mapMCPContentBlocks } from "./dist/index.js";
export type {
  MCPClient,
  MCPClientConfig,
  MCPClientCredentials,
  MCPClientWrapper,
  MCPElicitation,
  MCPElicitationAnswer,
  MCPEnterprise,
  MCPListedTool,
  MCPLoadReport,
  MCPOAuthConfig,
  MCPOperation,
  MCPProgress,
  MCPRequestOptions,
  MCPSampling,
  MCPSamplingAnswer,
  MCPServerInfo,
  MCPServerReport,
  MCPServers,
  MCPServersFile,
  MCPServerStatus,
  MCPSessions,
  MCPStatusEvent,
  MCPTokenStore,
  MCPToolCache,
  MCPToolChanges,
  MCPToolChoice,
  MCPToolProblem,
  MCPToolsListener,
  MCPToolView,
  MCPWorkload,
} from "./dist/index.js";
