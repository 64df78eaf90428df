export type { NatsCallMap } from "./nats/call-map.js";
export {
  connectNats,
  type NatsAuth,
  type NatsCloseOptions,
  type NatsDiscoverOptions,
  type NatsDiscovery,
  type NatsOperationInfo,
  type NatsOptions,
  type NatsServeOptions,
  type NatsStats,
  type NatsTls,
  type NatsTransport,
  type NatsWorkerInfo,
} from "./nats/connection.js";
export type { NatsEvent, NatsStatus } from "./nats/status.js";
