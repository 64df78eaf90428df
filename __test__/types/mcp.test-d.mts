import {
  type CallError,
  closeMCPClient,
  createMCPClient,
  type MCPClientConfig,
  MCPClientLoader,
  type MCPClientWrapper,
  type MCPLoadReport,
  type MCPServerReport,
  type OperationContext,
  OperationRegistry,
  type ResponseEnvelope,
} from "@alkdev/operations";
import { createMCPClient as fromSubPath } from "@alkdev/operations/from-mcp";
import { expectTypeOf } from "expect-type";

// A configuration is either way of reaching a server, and what else such files hold is allowed.
const stdio: MCPClientConfig = {
  command: "npx",
  args: ["-y", "a-server"],
  env: { TOKEN: "x" },
  type: "stdio",
};
const http: MCPClientConfig = { url: "https://mcp.example/", headers: { Authorization: "x" } };
// @ts-expect-error arguments are texts
const wrong: MCPClientConfig = { command: "npx", args: [1] };
// @ts-expect-error there is no such way to tell a failure
const wrongToo: MCPClientConfig = { command: "npx", onToolError: "explode" };
void [wrong, wrongToo];

// Tools can be protected: all by the same rules, or each by its own.
const closed: MCPClientConfig = { command: "npx", accessControl: { requiredScopes: ["files"] } };
const each: MCPClientConfig = {
  command: "npx",
  accessControl: ({ name }) => ({ requiredScopes: [name] }),
};
// @ts-expect-error a scope alone is no rule
const open: MCPClientConfig = { command: "npx", accessControl: "files" };
void [closed, each, open];

// A wrapper's tools go into a registry as they are.
const wrapper = await createMCPClient("files", stdio);
expectTypeOf(wrapper).toEqualTypeOf<MCPClientWrapper>();
expectTypeOf(fromSubPath).toEqualTypeOf(createMCPClient);
const registry = new OperationRegistry();
registry.registerAll(wrapper.tools);
expectTypeOf(registry.execute("files.read", {}, {})).resolves.toExtend<ResponseEnvelope<unknown>>();
const stop = wrapper.onToolsChanged((tools, { added, removed }) => {
  expectTypeOf(tools).toEqualTypeOf(wrapper.tools);
  expectTypeOf(added).toEqualTypeOf(removed);
});
expectTypeOf(stop).toEqualTypeOf<() => void>();
await closeMCPClient(wrapper);

// What a call is given besides its input is typed.
registry.execute("files.read", {}, { signal: new AbortController().signal, metadata: { timeout: 1_000 } });

// The report of a loader is asked for.
const loader = new MCPClientLoader();
expectTypeOf(await loader.load({ files: stdio, remote: http })).toEqualTypeOf<MCPClientWrapper[]>();
const report = await loader.load({ mcpServers: { files: stdio } }, { partial: true });
expectTypeOf(report).toEqualTypeOf<MCPLoadReport>();
expectTypeOf(report.failures[0]?.error).toEqualTypeOf<CallError | undefined>();
expectTypeOf(loader.getClient("files")).toEqualTypeOf<MCPClientWrapper | undefined>();
expectTypeOf(loader.getStatus().files?.state).toEqualTypeOf<
  "stopped" | "connecting" | "connected" | "idle" | "lost" | "failed" | "closed" | undefined
>();
expectTypeOf(loader.status()).toEqualTypeOf<Record<string, MCPServerReport>>();
loader.on("status", ({ name, status, error }) => {
  expectTypeOf(name).toEqualTypeOf<string>();
  expectTypeOf(error).toEqualTypeOf<CallError | undefined>();
  // @ts-expect-error there is no such status
  return status === "asleep";
});
// @ts-expect-error there is no such event
loader.on("tools", () => {});
// A view is by name, or a function of the tool.
await createMCPClient("view", {
  ...http,
  tools: { include: ["a*"], rename: { a: "b" }, trustAnnotations: true },
});
await createMCPClient("view", { ...http, tools: { exclude: ({ name }) => name.startsWith("delete") } });
// @ts-expect-error a name is a string
await createMCPClient("view", { ...http, tools: { rename: { a: 1 } } });
// @ts-expect-error there is no such start
await createMCPClient("lazy", { ...http, start: "later" });

// Callbacks know what they are asked, and what they may answer.
await createMCPClient("asks", {
  ...http,
  onElicitation: ({ message }) => {
    expectTypeOf(message).toEqualTypeOf<string>();
    return { action: "accept", content: { name: "Ada" } };
  },
  onSampling: async ({ maxTokens }) => {
    expectTypeOf(maxTokens).toEqualTypeOf<number>();
    return { role: "assistant", content: { type: "text", text: "x" }, model: "none" };
  },
  oauth: {
    onAuthorize: ({ url, redirectUrl }) => {
      expectTypeOf(url).toEqualTypeOf<string>();
      expectTypeOf(redirectUrl).toEqualTypeOf<string>();
      return undefined;
    },
  },
});
// @ts-expect-error there is no such answer
await createMCPClient("asks", { ...http, onElicitation: () => ({ action: "dance" }) });
// @ts-expect-error a function shows the page
await createMCPClient("asks", { ...http, oauth: { onAuthorize: "a page" } });

declare function openBrowser(url: string): void;
await createMCPClient("asks", { ...http, oauth: { onAuthorize: ({ url }) => openBrowser(url) } });
await createMCPClient("asks", { ...http, oauth: { onAuthorize: async ({ url }) => openBrowser(url) } });
// The status says that a login is needed.
await createMCPClient("asks", { ...http, oauth: {} });
await createMCPClient("own", { ...http, oauth: { clientCredentials: { clientId: "c", clientSecret: "s" } } });

// A caller is told how far a call is; a handler tells it, in either form.
await registry.execute(
  "files.read",
  {},
  { onProgress: ({ progress, total }) => console.log(progress / (total ?? 1)) },
);
export const tell = (context: OperationContext) => {
  context.onProgress?.(1, 2, "half");
  context.onProgress?.({ progress: 2, total: 2 });
  // @ts-expect-error how far is a number
  context.onProgress?.("half");
  return registry.execute("files.read", {}, context);
};
