export type { Identify, KeptIdentity, ServedRequest } from "./serve/identify.js";
export type {
  HttpDoorOptions,
  McpDoorOptions,
  ServeCors,
  ServeDoors,
  ServeOAuth,
  ServeOptions,
} from "./serve/options.js";
export { type ServeCloseOptions, type Served, type ServeStats, serve } from "./serve/serve.js";
export { type ServeStdioOptions, serveStdio } from "./serve/stdio.js";
