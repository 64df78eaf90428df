// What the spans of a call are called, and what is in them before it has begun.

import { type Attributes, SpanKind } from "@opentelemetry/api";
import type { Via } from "../registry/call.js";
import type { SourceAbout } from "../registry/handler-traits.js";
import type { MiddlewareCall } from "../registry/observer-types.js";
import { ATTR, EXECUTE_TOOL, METRIC, OWN } from "./conventions.js";
import { answeredStatus } from "./status.js";

/** A span that is about to begin. */
export interface Described {
  readonly name: string;
  readonly kind: SpanKind;
  readonly attributes: Attributes;
  /** The metric that its duration goes to. */
  readonly metric: string;
  /** Where an input and an output go, if they are recorded. */
  readonly content: readonly [input: string, output: string];
  /** For what is answered over HTTP: the status of the answer. */
  readonly status?: (ended: Ended) => number | undefined;
}

/** How a call has ended, for those who answer it. */
export interface Ended {
  readonly error?: { readonly code: string; readonly message: string; readonly details?: unknown };
  readonly isToolError?: boolean;
  /** Of an answer that came over HTTP. */
  readonly statusCode?: number | undefined;
  readonly hasData?: boolean;
  /** Of a stream: how many events there were. */
  readonly events?: number | undefined;
}

const TOOL_CONTENT = [ATTR.GEN_AI_TOOL_CALL_ARGUMENTS, ATTR.GEN_AI_TOOL_CALL_RESULT] as const;
const CONTENT = [OWN.INPUT, OWN.OUTPUT] as const;

/** The spans of a call, the outer one first: what came in, and what goes out or is done here. */
export function describe(call: MiddlewareCall, about: SourceAbout | undefined): Described[] {
  const spans: Described[] = [];
  const { via } = call;
  if (call.isServed && via?.door !== "tool") spans.push(served(call, via));
  if (about !== undefined) spans.push(about.source === "http" ? sentHttp(call, about) : sentMcp(call, about));
  else if (spans.length === 0) spans.push(local(call, via));
  return spans;
}

function common({ operationId, operation, context }: MiddlewareCall): Attributes {
  const { requestId } = context;
  return {
    [OWN.ID]: operationId,
    [OWN.KIND]: operation.type,
    ...(requestId !== undefined && { [OWN.REQUEST_ID]: requestId }),
  };
}

function served(call: MiddlewareCall, via: Via | undefined): Described {
  const base = { kind: SpanKind.SERVER, content: CONTENT };
  const { namespace, name } = call.operation;
  if (via?.door === "http") {
    const method = via.method ?? "_OTHER";
    const route = via.route ?? `/${namespace}/${name}`;
    return {
      ...base,
      name: `${method} ${route}`,
      metric: METRIC.HTTP_SERVER_REQUEST_DURATION,
      attributes: {
        ...common(call),
        [ATTR.HTTP_REQUEST_METHOD]: method,
        [ATTR.HTTP_ROUTE]: route,
        [ATTR.URL_SCHEME]: via.scheme ?? "http",
        ...(via.path !== undefined && { [ATTR.URL_PATH]: via.path }),
      },
      status: (ended) => answeredStatus(call, via, ended),
    };
  }
  if (via?.door === "mcp") {
    const tool = via.tool ?? `${namespace}_${name}`;
    const method = via.method ?? "tools/call";
    return {
      ...base,
      content: TOOL_CONTENT,
      name: `${method} ${tool}`,
      metric: METRIC.MCP_SERVER_OPERATION_DURATION,
      attributes: {
        ...common(call),
        [ATTR.MCP_METHOD_NAME]: method,
        ...(method === "tools/call" && {
          [ATTR.GEN_AI_OPERATION_NAME]: EXECUTE_TOOL,
          [ATTR.GEN_AI_TOOL_NAME]: tool,
        }),
        ...(via.transport !== undefined && { [ATTR.NETWORK_TRANSPORT]: via.transport }),
      },
    };
  }
  const method = `${namespace}/${name}`;
  return {
    ...base,
    name: method,
    metric: METRIC.RPC_SERVER_CALL_DURATION,
    attributes: {
      ...common(call),
      [ATTR.RPC_SYSTEM_NAME]: OWN.SYSTEM,
      [ATTR.RPC_METHOD]: method,
      ...(via?.door === "nats" && { [ATTR.NETWORK_PROTOCOL_NAME]: "nats" }),
    },
  };
}

/** The spans of a call that is sent to others through a call map, or by a hub to its spoke. */
export function sentRpc(operationId: string, protocol: string | undefined): Described {
  const dot = operationId.lastIndexOf(".");
  const method = dot < 0 ? operationId : `${operationId.slice(0, dot)}/${operationId.slice(dot + 1)}`;
  return {
    name: method,
    kind: SpanKind.CLIENT,
    content: CONTENT,
    metric: METRIC.RPC_CLIENT_CALL_DURATION,
    attributes: {
      [OWN.ID]: operationId,
      [ATTR.RPC_SYSTEM_NAME]: OWN.SYSTEM,
      [ATTR.RPC_METHOD]: method,
      ...(protocol !== undefined && { [ATTR.NETWORK_PROTOCOL_NAME]: protocol }),
    },
  };
}

function sentHttp(call: MiddlewareCall, about: SourceAbout & { source: "http" }): Described {
  return {
    name: `${about.method} ${about.template}`,
    kind: SpanKind.CLIENT,
    content: CONTENT,
    metric: METRIC.HTTP_CLIENT_REQUEST_DURATION,
    attributes: {
      ...common(call),
      [ATTR.HTTP_REQUEST_METHOD]: about.method,
      [ATTR.URL_TEMPLATE]: about.template,
      ...serverOf(about.url),
    },
  };
}

function sentMcp(call: MiddlewareCall, about: SourceAbout & { source: "mcp" }): Described {
  return {
    name: `tools/call ${about.tool}`,
    kind: SpanKind.CLIENT,
    content: TOOL_CONTENT,
    metric: METRIC.MCP_CLIENT_OPERATION_DURATION,
    attributes: {
      ...common(call),
      [ATTR.MCP_METHOD_NAME]: "tools/call",
      [ATTR.GEN_AI_OPERATION_NAME]: EXECUTE_TOOL,
      [ATTR.GEN_AI_TOOL_NAME]: about.tool,
      [ATTR.NETWORK_TRANSPORT]: about.url === undefined ? "pipe" : "tcp",
      ...serverOf(about.url),
    },
  };
}

function local(call: MiddlewareCall, via: Via | undefined): Described {
  const { operationId } = call;
  const base = { kind: SpanKind.INTERNAL, metric: OWN.DURATION };
  if (via?.door !== "tool") {
    return { ...base, name: operationId, content: CONTENT, attributes: common(call) };
  }
  // What the model calls it, which is not our id.
  const tool = via.tool ?? operationId;
  return {
    ...base,
    name: `${EXECUTE_TOOL} ${tool}`,
    content: TOOL_CONTENT,
    attributes: {
      ...common(call),
      [ATTR.GEN_AI_OPERATION_NAME]: EXECUTE_TOOL,
      [ATTR.GEN_AI_TOOL_NAME]: tool,
    },
  };
}

/** Where a service is: its name and its port. */
function serverOf(url: string | undefined): Attributes {
  if (url === undefined || !URL.canParse(url)) return {};
  const { hostname, port, protocol } = new URL(url);
  const usual = protocol === "https:" ? 443 : 80;
  return { [ATTR.SERVER_ADDRESS]: hostname, [ATTR.SERVER_PORT]: port === "" ? usual : Number(port) };
}
