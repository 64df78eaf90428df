// What `import` and `require` see is one implementation, and the declarations of one fit where those of the other are
// asked for: a library that is a CommonJS module and an application that is an ES module can share a registry.

import type * as Esm from "@alkdev/operations";
import type * as EsmNats from "@alkdev/operations/transport-nats";
import type { Operations as Cjs, Nats as CjsNats } from "./required.cjs";

/** Compiles only if each fits where the other is asked for. */
type Same<A extends B, B extends C, C = A> = [A, B, C];

export type Shared = [
  Same<Esm.OperationRegistry, Cjs.OperationRegistry>,
  Same<Esm.PendingRequestMap, Cjs.PendingRequestMap>,
  Same<Esm.CallError, Cjs.CallError>,
  Same<Esm.ResponseEnvelope<string>, Cjs.ResponseEnvelope<string>>,
  Same<Esm.OperationContext, Cjs.OperationContext>,
  Same<Esm.OperationSpec, Cjs.OperationSpec>,
  Same<Esm.IOperationDefinition, Cjs.IOperationDefinition>,
  Same<Esm.OperationHandler, Cjs.OperationHandler>,
  Same<Esm.RegistryOptions, Cjs.RegistryOptions>,
  Same<Esm.CallHandlerConfig, Cjs.CallHandlerConfig>,
  Same<Esm.MCPClientWrapper, Cjs.MCPClientWrapper>,
  Same<Esm.MCPClientLoader, Cjs.MCPClientLoader>,
  Same<Esm.OpenAPIServiceRegistry, Cjs.OpenAPIServiceRegistry>,
  Same<Esm.HTTPServiceConfig, Cjs.HTTPServiceConfig>,
  Same<EsmNats.NatsTransport, CjsNats.NatsTransport>,
];
