// Names of OpenTelemetry's semantic conventions. A copy, because those for MCP, RPC and GenAI are not stable yet: a new version
// must not rename attributes under users. `__test__/otel/conventions.test.mjs` holds them against the package of this version.

/**
 * The version of the semantic conventions that spans and metrics follow.
 *
 * @example
 * ```ts
 * console.log(`Attributes are those of version ${CONVENTIONS}`);
 * ```
 */
export const CONVENTIONS = "1.45.0";

export const ATTR = {
  ERROR_TYPE: "error.type",
  GEN_AI_OPERATION_NAME: "gen_ai.operation.name",
  GEN_AI_TOOL_CALL_ARGUMENTS: "gen_ai.tool.call.arguments",
  GEN_AI_TOOL_CALL_RESULT: "gen_ai.tool.call.result",
  GEN_AI_TOOL_NAME: "gen_ai.tool.name",
  HTTP_REQUEST_METHOD: "http.request.method",
  HTTP_RESPONSE_STATUS_CODE: "http.response.status_code",
  HTTP_ROUTE: "http.route",
  MCP_METHOD_NAME: "mcp.method.name",
  NETWORK_PROTOCOL_NAME: "network.protocol.name",
  NETWORK_TRANSPORT: "network.transport",
  RPC_METHOD: "rpc.method",
  RPC_RESPONSE_STATUS_CODE: "rpc.response.status_code",
  RPC_SYSTEM_NAME: "rpc.system.name",
  SERVER_ADDRESS: "server.address",
  SERVER_PORT: "server.port",
  URL_FULL: "url.full",
  URL_PATH: "url.path",
  URL_SCHEME: "url.scheme",
  URL_TEMPLATE: "url.template",
} as const;

export const METRIC = {
  HTTP_CLIENT_REQUEST_DURATION: "http.client.request.duration",
  HTTP_SERVER_REQUEST_DURATION: "http.server.request.duration",
  MCP_CLIENT_OPERATION_DURATION: "mcp.client.operation.duration",
  MCP_SERVER_OPERATION_DURATION: "mcp.server.operation.duration",
  RPC_CLIENT_CALL_DURATION: "rpc.client.call.duration",
  RPC_SERVER_CALL_DURATION: "rpc.server.call.duration",
} as const;

export const EXECUTE_TOOL = "execute_tool";

/** Our own, for what the conventions have no name for. */
export const OWN = {
  ID: "operations.id",
  KIND: "operations.kind",
  REQUEST_ID: "operations.request_id",
  EVENTS: "operations.events",
  INPUT: "operations.input",
  OUTPUT: "operations.output",
  DURATION: "operations.call.duration",
  /** Of a program in code mode: `id`, `status`, `calls`. */
  RUN: "operations.run.",
  /** Of a decision about an approval: the name of its event or span, and what its attributes begin with. */
  APPROVAL: "operations.approval",
  SYSTEM: "alkdev.operations",
} as const;
