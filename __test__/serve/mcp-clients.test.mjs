// One server, and the clients that people have: both generations of the official SDK, over HTTP and standard streams.

import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import { after, before, describe, it } from "node:test";
import { fileURLToPath } from "node:url";
import * as newer from "@modelcontextprotocol/client";
import * as newerStdio from "@modelcontextprotocol/client/stdio";
import * as older from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";

const program = fileURLToPath(new URL("../../conformance/server.mjs", import.meta.url));
const capabilities = { elicitation: {}, sampling: {}, roots: {} };
const info = { name: "test", version: "1" };
const server = spawn(process.execPath, [program], { stdio: ["pipe", "pipe", "inherit"] });
const ended = once(server, "close");
const [url] = await once(createInterface(server.stdout), "line");

after(async () => {
  server.stdin.end();
  await ended;
});

const stdio = { command: process.execPath, args: [program, "--stdio"] };
const CLIENTS = {
  "the SDK 1.x over HTTP": () => [
    new older.Client(info, { capabilities }),
    new StreamableHTTPClientTransport(new URL(url)),
  ],
  "the SDK 1.x over standard streams": () => [
    new older.Client(info, { capabilities }),
    new StdioClientTransport(stdio),
  ],
  "the SDK 2.x over HTTP": () => [
    new newer.Client(info, { capabilities }),
    new newer.StreamableHTTPClientTransport(new URL(url)),
  ],
  "the SDK 2.x over standard streams": () => [
    new newer.Client(info, { capabilities }),
    new newerStdio.StdioClientTransport(stdio),
  ],
};

for (const [name, make] of Object.entries(CLIENTS)) {
  describe(name, () => {
    let client;

    before(async () => {
      const [made, transport] = make();
      client = made;
      const answer = () => ({ action: "accept", content: { username: "ada", email: "a@b.c" } });
      if (client instanceof newer.Client) client.setRequestHandler("elicitation/create", answer);
      else {
        const { ElicitRequestSchema } = await import("@modelcontextprotocol/sdk/types.js");
        client.setRequestHandler(ElicitRequestSchema, answer);
      }
      await client.connect(transport);
    });
    after(() => client.close());

    it(`${name} lists and calls tools`, async () => {
      const { tools } = await client.listTools();
      assert.ok(tools.some((tool) => tool.name === "test_simple_text"));
      const result = await client.callTool({ name: "test_simple_text", arguments: {} });
      assert.deepEqual(result.content, [
        { type: "text", text: "This is a simple text response for testing." },
      ]);
      const failed = await client.callTool({ name: "test_error_handling", arguments: {} });
      assert.equal(failed.isError, true);
    });

    it(`${name} reads resources`, async () => {
      const { resources } = await client.listResources();
      assert.ok(resources.some(({ uri }) => uri === "test://static-text"));
      const { contents } = await client.readResource({ uri: "test://template/7/data" });
      assert.equal(JSON.parse(contents[0].text).id, "7");
    });

    it(`${name} gets prompts, and completions for them`, async () => {
      const { prompts } = await client.listPrompts();
      assert.ok(prompts.some((prompt) => prompt.name === "test_simple_prompt"));
      const { messages } = await client.getPrompt({
        name: "test_prompt_with_arguments",
        arguments: { arg1: "one", arg2: "two" },
      });
      assert.match(messages[0].content.text, /arg1='one', arg2='two'/);
      const { completion } = await client.complete({
        ref: { type: "ref/prompt", name: "test_prompt_with_arguments" },
        argument: { name: "arg1", value: "te" },
      });
      assert.deepEqual(completion.values, ["test1", "test2"]);
    });

    it(`${name} answers the elicitation of a handler`, async () => {
      const result = await client.callTool({ name: "test_elicitation", arguments: { message: "Who?" } });
      assert.match(result.content[0].text, /action=accept.*"username":"ada"/);
    });

    it(`${name} gets the progress of a call`, async () => {
      const heard = [];
      const onprogress = ({ progress, total }) => heard.push([progress, total]);
      const call = { name: "test_tool_with_progress", arguments: {} };
      if (client instanceof newer.Client) await client.callTool(call, { onprogress });
      else await client.callTool(call, undefined, { onprogress });
      assert.deepEqual(heard, [
        [0, 100],
        [50, 100],
        [100, 100],
      ]);
    });
  });
}
