export {
  connectNats,
  type NatsAuth,
  type NatsCallMap,
  type NatsCloseOptions,
  type NatsEvent,
  type NatsOptions,
  type NatsServeOptions,
  type NatsStats,
  type NatsStatus,
  type NatsTls,
  type NatsTransport,
} from "./nats/connection.js";
export type {
  NatsDiscoverOptions,
  NatsDiscovery,
  NatsImportOptions,
  NatsOperationInfo,
  NatsWorkerInfo,
} from "./nats/discovery.js";
