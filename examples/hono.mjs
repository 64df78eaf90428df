// A registry as a part of a Hono application: node examples/hono.mjs

import { OperationRegistry } from "@alkdev/operations";
import { createHandler } from "@alkdev/operations/serve";
import { serve } from "@hono/node-server";
import { Type } from "@sinclair/typebox";
import { Hono } from "hono";

const registry = new OperationRegistry();
registry.register({
  namespace: "demo",
  name: "greet",
  version: "1.0.0",
  type: "query",
  description: "Greets somebody",
  inputSchema: Type.Object({ name: Type.String() }),
  outputSchema: Type.Object({ text: Type.String() }),
  accessControl: { requiredScopes: [] },
  handler: ({ name }) => ({ text: `Hello ${name}` }),
});

const handler = createHandler(registry, { doors: { http: true } });

const app = new Hono();
app.get("/", (context) => context.text("This application has operations, too: /api/openapi.json"));
app.all("/api/*", (context) => handler.fetch(context.req.raw));

const server = serve(
  { fetch: app.fetch, hostname: "127.0.0.1", port: Number(process.env.PORT ?? 0) },
  ({ port }) => {
    console.log(`http://127.0.0.1:${port}/api/demo/greet?name=Ada`);
  },
);

process.once("SIGINT", async () => {
  await handler.close();
  server.close();
});
