export type { NatsCallMap } from "./nats/call-map.js";
export {
  connectNats,
  type NatsAuth,
  type NatsCloseOptions,
  type NatsOptions,
  type NatsServeOptions,
  type NatsStats,
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
export type { NatsEvent, NatsStatus } from "./nats/status.js";
