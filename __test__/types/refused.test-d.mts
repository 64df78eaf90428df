// Code that must not compile: each line has one mistake that somebody has made.

import {
  buildCallHandler,
  buildEnv,
  createMCPClient,
  FromOpenAPI,
  type MCPClientConfig,
  type MCPClientCredentials,
  MCPClientLoader,
  type OpenAPISpec,
  OperationRegistry,
  PendingRequestMap,
} from "@alkdev/operations";
import { serve, serveStdio } from "@alkdev/operations/serve";
import { toTools } from "@alkdev/operations/tools";
import { connectNats } from "@alkdev/operations/transport-nats";
import { createRedisEventTarget } from "@alkdev/operations/transport-redis";
import { Type } from "@sinclair/typebox";

declare const document: OpenAPISpec;
const registry = new OperationRegistry();
const callMap = new PendingRequestMap();

// `register` refuses what `defineOperation` refuses.
const draft = {
  namespace: "t",
  name: "a",
  version: "1",
  description: "",
  accessControl: { requiredScopes: [] },
  inputSchema: Type.Object({ id: Type.Integer() }),
  outputSchema: Type.Object({ name: Type.String() }),
};
registry.register({ ...draft, type: "query", handler: ({ id }) => ({ name: String(id) }) });
// @ts-expect-error the name is a text
registry.register({ ...draft, type: "query", handler: async ({ id }) => ({ name: id }) });
// @ts-expect-error the input has no such property
registry.register({ ...draft, type: "query", handler: ({ nme }) => ({ name: nme }) });
// @ts-expect-error a subscription needs an async generator function
registry.register({ ...draft, type: "subscription", handler: ({ id }) => ({ name: String(id) }) });
registry.register({
  ...draft,
  type: "mutation",
  // @ts-expect-error and nothing else does
  handler: async function* ({ id }) {
    yield { name: String(id) };
  },
});
// @ts-expect-error without a handler there is registerSpec
registry.register({ ...draft, type: "query" });
// @ts-expect-error types are written in small letters
registry.register({ ...draft, type: "QUERY", handler: () => ({ name: "" }) });
const plain = { type: "object" };
// @ts-expect-error a plain JSON Schema goes through FromSchema
registry.register({ ...draft, type: "query", inputSchema: plain, handler: () => ({ name: "" }) });
// @ts-expect-error misspelt
registry.register({ ...draft, type: "query", handler: () => ({ name: "" }), descripton: "" });

// Misspelt options, everywhere.
// @ts-expect-error misspelt
new OperationRegistry({ outputs: "keep" });
// @ts-expect-error misspelt
registry.execute("t.a", {}, { dedline: 1 });
// @ts-expect-error misspelt
buildEnv({ registry, context: { identiy: undefined } });
// @ts-expect-error misspelt
callMap.call("t.a", {}, { dedline: 1 });
// @ts-expect-error misspelt
callMap.subscribe("t.a", {}, { idleTimeOut: 1 });
// @ts-expect-error misspelt
buildCallHandler({ registry, callMap, concurency: 1 });
// @ts-expect-error misspelt
FromOpenAPI(document, { namespace: "a", baseURL: "https://api.example" });
// @ts-expect-error misspelt
createMCPClient("files", { comand: "files" });
// @ts-expect-error misspelt
new MCPClientLoader().load({ files: { command: "files", arg: [] } });
// @ts-expect-error misspelt
connectNats({ servers: "nats://127.0.0.1", name: "n", tokn: "" });
// @ts-expect-error misspelt
createRedisEventTarget({ url: "redis://127.0.0.1", chanels: [] });
// @ts-expect-error misspelt
serve(registry, { prt: 1 });
// @ts-expect-error misspelt
serveStdio(registry, { name: "n", versoin: "1" });
// @ts-expect-error misspelt
toTools(registry, { target: "openai", includes: [] });

// A program has a secret or a key, not neither and not both.
const url = "https://tools.example/mcp";
const own = (clientCredentials: MCPClientCredentials) =>
  createMCPClient("a", { url, oauth: { clientCredentials } });
own({ clientId: "c", privateKey: "", algorithm: "RS256" });
// @ts-expect-error neither
own({ clientId: "c" });
// @ts-expect-error both
own({ clientId: "c", clientSecret: "", privateKey: "" });

// What a file of another program has besides is not in the way.
const file = { files: { type: "stdio", command: "files", autoApprove: ["read"] } };
new MCPClientLoader().load(file);
export const entry: MCPClientConfig = file.files;
