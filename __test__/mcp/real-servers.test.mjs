// Servers that people use, from npm.

import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { readFileSync, realpathSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { join } from "node:path";
import { describe, it } from "node:test";
import { CallError, MCPClientLoader } from "@alkdev/operations";
import { defer } from "./support/defer.mjs";
import { temporaryFolder, until } from "./support/processes.mjs";
import { connected, failure, packaged } from "./support/servers.mjs";

/** `server-everything` over HTTP, in a process of its own. It wants to be told its port. */
async function everythingOverHTTP(test) {
  const port = await freePort();
  const { command, args } = packaged("server-everything", ["streamableHttp"]);
  const child = spawn(command, args, {
    env: { ...process.env, PORT: String(port) },
    stdio: ["ignore", "pipe", "pipe"],
  });
  defer(test, () => child.kill("SIGKILL"));
  let output = "";
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding("utf8").on("data", (text) => {
      output += text;
    });
  }
  await until(() => /listening on port/i.test(output), "the server listens");
  return { url: `http://127.0.0.1:${port}/mcp` };
}

const freePort = () =>
  new Promise((resolve) => {
    const server = createServer().listen(0, "127.0.0.1", () => {
      const { port } = server.address();
      server.close(() => resolve(port));
    });
  });

for (const [transport, start] of Object.entries({
  stdio: (_, more) => packaged("server-everything", ["stdio"], more),
  HTTP: async (t, more) => ({ ...(await everythingOverHTTP(t)), ...more }),
})) {
  describe(`server-everything over ${transport}`, { concurrency: true }, () => {
    it(`server-everything over ${transport} has all its tools, with schemas and annotations`, async (t) => {
      const { wrapper, tool } = await connected(t, await start(t), "everything");
      assert.ok(wrapper.tools.length >= 10);
      assert.equal(tool("echo").inputSchema.properties.message.type, "string");
      assert.equal(tool("get-structured-content")._meta.annotations.readOnlyHint, true);
      assert.match(tool("echo").version, /^\d+\.\d+/);
    });

    it(`server-everything over ${transport} responds to calls`, async (t) => {
      const { call } = await connected(t, await start(t), "everything");
      assert.equal((await call("echo", { message: "hello" })).data[0].text, "Echo: hello");
      assert.match((await call("get-sum", { a: 2, b: 40 })).data[0].text, /42/);
      const image = await call("get-tiny-image");
      assert.ok(image.data.some(({ type, mimeType }) => type === "image" && mimeType === "image/png"));
      const weather = await call("get-structured-content", { location: "Chicago" });
      assert.deepEqual(Object.keys(weather.data).sort(), ["conditions", "humidity", "temperature"]);
      assert.deepEqual(weather.meta.structuredContent, weather.data);
      const links = await call("get-resource-links", { count: 3 });
      assert.equal(links.data.filter(({ type }) => type === "resource_link").length, 3);
    });

    it(`server-everything over ${transport} gets no input that its schemas refuse`, async (t) => {
      const { call } = await connected(t, await start(t), "everything");
      const error = await failure(call("get-structured-content", { location: "Atlantis" }));
      assert.ok(error instanceof CallError);
      assert.equal(error.code, "VALIDATION_ERROR");
      assert.match(error.message, /\/location/);
    });

    it(`server-everything over ${transport} reports its progress`, async (t) => {
      const { call } = await connected(t, await start(t), "everything");
      const seen = [];
      const onProgress = ({ progress, total }) => seen.push(`${progress}/${total}`);
      await call("trigger-long-running-operation", { duration: 0.2, steps: 4 }, { onProgress });
      assert.deepEqual(seen, ["1/4", "2/4", "3/4", "4/4"]);
    });

    it(`server-everything over ${transport} reaches the user and the model`, async (t) => {
      const config = await start(t, {
        onElicitation: () => ({ action: "accept", content: { name: "Ada", check: true } }),
        onSampling: () => ({ role: "assistant", content: { type: "text", text: "a joke" }, model: "none" }),
      });
      const { call, wrapper } = await connected(t, config, "everything");
      await until(
        () => wrapper.tools.some(({ name }) => name === "trigger-elicitation-request"),
        "the tool that needs our answers is there",
      );
      const elicited = wrapper.tools.find(({ name }) => name === "trigger-elicitation-request");
      assert.match(JSON.stringify((await elicited.handler({}, {})).data), /Ada/);
      const sampled = wrapper.tools.find(({ name }) => name === "trigger-sampling-request");
      assert.match(
        JSON.stringify((await sampled.handler({ prompt: "joke", maxTokens: 10 }, {})).data),
        /a joke/,
      );
      await call("echo", { message: "still there" });
    });

    it(`server-everything over ${transport} has resources and prompts`, async (t) => {
      const { wrapper } = await connected(t, await start(t), "everything");
      const resources = await wrapper.listResources();
      assert.ok(resources.length > 0);
      const { contents } = await wrapper.readResource(resources[0].uri);
      assert.equal(contents[0].uri, resources[0].uri);
      const prompts = await wrapper.listPrompts();
      assert.ok(prompts.length > 0);
      const simple = prompts.find((prompt) => !prompt.arguments?.length);
      assert.ok((await wrapper.getPrompt(simple.name)).messages.length > 0);
    });
  });
}

it("server-filesystem reads and writes in its folder, and nowhere else", async (t) => {
  const folder = realpathSync(temporaryFolder(t));
  writeFileSync(join(folder, "note.txt"), "water the plants");
  const { call } = await connected(t, packaged("server-filesystem", [folder]), "files");
  assert.match(
    JSON.stringify((await call("read_text_file", { path: join(folder, "note.txt") })).data),
    /water the plants/,
  );
  await call("write_file", { path: join(folder, "new.txt"), content: "done" });
  assert.equal(readFileSync(join(folder, "new.txt"), "utf8"), "done");
  const outside = await call("read_text_file", { path: "/etc/hostname" });
  assert.equal(outside.meta.isError, true);
});

it("server-memory stores and finds entities", async (t) => {
  const env = { MEMORY_FILE_PATH: join(temporaryFolder(t), "memory.json") };
  const { call } = await connected(t, packaged("server-memory", [], { env }), "memory");
  await call("create_entities", {
    entities: [{ name: "Ada", entityType: "person", observations: ["counts"] }],
  });
  assert.match(JSON.stringify((await call("read_graph")).data), /Ada/);
});

it("server-sequential-thinking counts its thoughts", async (t) => {
  const { call } = await connected(t, packaged("server-sequential-thinking"), "thinking");
  const input = { thought: "hm", nextThoughtNeeded: false, thoughtNumber: 1, totalThoughts: 1 };
  assert.match(JSON.stringify((await call("sequentialthinking", input)).data), /thoughtNumber/);
});

it("all the real servers work at once, through the loader", async (t) => {
  const loader = new MCPClientLoader();
  defer(t, () => loader.closeAll());
  const wrappers = await loader.load({
    everything: packaged("server-everything"),
    files: packaged("server-filesystem", [temporaryFolder(t)]),
    memory: packaged("server-memory"),
    thinking: packaged("server-sequential-thinking"),
  });
  assert.equal(wrappers.length, 4);
  assert.ok(loader.getAllOperations().length > 30);
});
