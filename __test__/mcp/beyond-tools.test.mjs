// Resources and prompts.

import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { CallError } from "@alkdev/operations";
import { startHTTPServer } from "./support/http-server.mjs";
import { connected, failure, stdio } from "./support/servers.mjs";

for (const [transport, start] of Object.entries({
  stdio: () => stdio(),
  HTTP: (t) => startHTTPServer(t).then(({ url }) => ({ url })),
})) {
  describe(`over ${transport}`, () => {
    it(`resources are listed and read over ${transport}`, async (t) => {
      const { wrapper } = await connected(t, await start(t));
      const resources = await wrapper.listResources();
      assert.deepEqual(resources[0], { uri: "test://notes/1", name: "First note", mimeType: "text/plain" });
      assert.equal(resources.length, 2);
      const { contents } = await wrapper.readResource("test://notes/2");
      assert.deepEqual(contents, [
        { uri: "test://notes/2", mimeType: "text/plain", text: "the text of Second note" },
      ]);
    });

    it(`prompts are listed and filled in over ${transport}`, async (t) => {
      const { wrapper } = await connected(t, await start(t));
      const prompts = await wrapper.listPrompts();
      assert.equal(prompts[0].name, "greet");
      assert.equal(prompts[0].arguments[0].required, true);
      const { messages } = await wrapper.getPrompt("greet", { who: "Ada" });
      assert.deepEqual(messages, [{ role: "user", content: { type: "text", text: "Say hello to Ada" } }]);
    });

    it(`an unknown resource or prompt is an error that names it, over ${transport}`, async (t) => {
      const { wrapper } = await connected(t, await start(t));
      const missing = await failure(wrapper.readResource("test://nothing"));
      assert.ok(missing instanceof CallError);
      assert.equal(missing.code, "EXECUTION_ERROR");
      assert.match(missing.message, /test:\/\/nothing/);
      assert.equal(missing.details.rpcCode, -32002);
      const unknown = await failure(wrapper.getPrompt("curse"));
      assert.match(unknown.message, /curse/);
    });
  });
}

it("a server without resources and prompts has empty lists of them", async (t) => {
  const { wrapper } = await connected(t, stdio(["no-resources"]));
  assert.deepEqual(await wrapper.listResources(), []);
  assert.deepEqual(await wrapper.listPrompts(), []);
});

it("lists of resources and prompts end when a cursor repeats", async (t) => {
  const { wrapper } = await connected(t, stdio(["repeating-resources"]));
  assert.equal((await wrapper.listResources()).length, 2);
});
