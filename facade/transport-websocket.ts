export {
  connectHub,
  type HubCloseOptions,
  type HubDiscovery,
  type HubEvent,
  type HubOffer,
  type HubOptions,
  type HubReconnect,
  type HubServeOptions,
  type HubStats,
  type HubStatus,
  type HubTransport,
} from "./websocket/connection.js";
export {
  createWebSocketEventTarget,
  type WebSocketEventTarget,
  type WebSocketLike,
} from "./websocket/event-target.js";
