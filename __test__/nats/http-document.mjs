// An API for the tests of operations that are served without JavaScript.

const json = (schema) => ({ 200: { description: "", content: { "application/json": { schema } } } });
const text = { type: "string" };

export const DOCUMENT = {
  openapi: "3.1.0",
  info: { title: "test", version: "1" },
  paths: {
    "/items/{id}": {
      get: {
        operationId: "item",
        parameters: [
          { name: "id", in: "path", required: true, schema: text },
          { name: "tags", in: "query", schema: { type: "array", items: text } },
        ],
        responses: json({
          type: "object",
          required: ["id", "count"],
          properties: { id: text, count: { type: "integer" } },
        }),
      },
    },
    "/items": {
      post: {
        operationId: "create",
        requestBody: { content: { "application/json": { schema: { type: "object" } } } },
        responses: json({}),
      },
    },
    "/anything": { get: { operationId: "anything", responses: json({}) } },
    "/slow": { get: { operationId: "slow", responses: json({}) } },
    "/events": {
      get: {
        operationId: "events",
        parameters: [{ name: "count", in: "query", schema: { type: "integer" } }],
        responses: { 200: { description: "", content: { "text/event-stream": {} } } },
      },
    },
  },
};
