// A registry as a part of an Express application: node examples/express.mjs

import { OperationRegistry } from "@alkdev/operations";
import { createHandler, toNodeListener } from "@alkdev/operations/serve";
import { Type } from "@sinclair/typebox";
import express from "express";

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

const app = express();
app.get("/", (_, response) => response.send("This application has operations, too: /api/openapi.json"));
app.use("/api", toNodeListener(handler));

const server = app.listen(Number(process.env.PORT ?? 0), "127.0.0.1", () => {
  console.log(`http://127.0.0.1:${server.address().port}/api/demo/greet?name=Ada`);
});

process.once("SIGINT", async () => {
  await handler.close();
  server.close();
});
