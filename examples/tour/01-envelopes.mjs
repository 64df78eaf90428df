// Whatever produced a result, it arrives in the same wrapper.

import {
  httpEnvelope,
  isResponseEnvelope,
  localEnvelope,
  mcpEnvelope,
  ResponseEnvelopeSchema,
  unwrap,
} from "@alkdev/operations";
import { Value } from "@sinclair/typebox/value";
import { say, show } from "./show.mjs";

export default function envelopes() {
  say("A local function, an HTTP call and an MCP tool give back the same thing:");
  const results = [
    localEnvelope({ id: 7, title: "Water the plants" }, "tasks.get"),
    httpEnvelope(
      { temperature: 21 },
      {
        statusCode: 200,
        headers: { "content-type": "application/json", etag: '"a1"' },
        contentType: "application/json",
      },
    ),
    mcpEnvelope([{ type: "text", text: "no such file" }], {
      isError: true,
      content: [{ type: "text", text: "no such file" }],
    }),
  ];
  for (const envelope of results) show(describe(envelope), unwrap(envelope));

  say("An envelope is plain data: it survives a wire, and is recognised on the other side.");
  const received = JSON.parse(JSON.stringify(results[0]));
  show("isResponseEnvelope(received)", isResponseEnvelope(received));
  show("TypeBox's own check", Value.Check(ResponseEnvelopeSchema, received));
  show("isResponseEnvelope({ data: 1 })", isResponseEnvelope({ data: 1 }));
}

/** `meta` narrows on its source. */
function describe({ meta }) {
  switch (meta.source) {
    case "local":
      return `local  ${meta.operationId}`;
    case "http":
      return `http   ${meta.statusCode} ${meta.contentType}`;
    case "mcp":
      return `mcp    ${meta.isError ? "the tool says that it failed" : "ok"}`;
  }
}
