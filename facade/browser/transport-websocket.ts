// What the entry for WebSocket has where no native code can be loaded.

export { createWebSocketEventTarget } from "../websocket/event-target.js";
