// The same types through `require`.

import operations = require("@alkdev/operations");
import fromMcp = require("@alkdev/operations/from-mcp");

const envelope: operations.ResponseEnvelope<number> = operations.localEnvelope(1, "a.b");
export const data: number = operations.unwrap(envelope);
export const blocks: operations.MCPContentBlock[] = fromMcp.mapMCPContentBlocks([]);
export const type: operations.OperationType.QUERY = operations.OperationType.QUERY;
