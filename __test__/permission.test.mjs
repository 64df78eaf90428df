// Node's permission model: native code does not do what the process may not.

import assert from "node:assert/strict";
import { mkdtempSync, realpathSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, it } from "node:test";
import { fileURLToPath } from "node:url";
import { runNode } from "./support/run-node.mjs";

const root = fileURLToPath(new URL("..", import.meta.url));
const flag = process.allowedNodeEnvironmentFlags.has("--permission")
  ? "--permission"
  : "--experimental-permission";

/** What a program prints that may load the addon and read the package, and nothing else unless `more` says so. */
async function permitted(source, more = []) {
  const flags = [flag, "--allow-addons", `--allow-fs-read=${realpathSync(root)}/*`, "--no-warnings", ...more];
  const { stdout, stderr } = await runNode([...flags, "--eval", source], { cwd: root });
  assert.equal(stderr, "");
  return JSON.parse(stdout);
}

const failure = (work) => `
  const told = ({ code, message, details }) => ({ code, message, ...details });
  Promise.resolve().then(() => ${work}).then(
    () => console.log("null"),
    (error) => console.log(JSON.stringify(told(error))),
  );`;

describe("with --permission and --allow-addons", () => {
  it("local operations run with --permission and --allow-addons", async () => {
    const source = `
      const { OperationRegistry } = require("@alkdev/operations");
      const { Type } = require("@sinclair/typebox");
      const registry = new OperationRegistry();
      registry.register({
        name: "greet", namespace: "demo", version: "1.0.0", type: "query", description: "Greets",
        inputSchema: Type.Object({ name: Type.String() }), outputSchema: Type.String(),
        accessControl: { requiredScopes: [] }, handler: ({ name }) => "Hello " + name,
      });
      registry.execute("demo.greet", { name: "Ada" }).then(({ data }) => console.log(JSON.stringify(data)));`;
    assert.equal(await permitted(source), "Hello Ada");
  });

  it("no MCP server is started without --allow-child-process", async () => {
    const source = failure(
      `require("@alkdev/operations").createMCPClient("demo", { command: "node", args: ["--version"] })`,
    );
    const { code, message, flag, delivery } = await permitted(source);
    assert.deepEqual(
      { code, flag, delivery },
      { code: "ACCESS_DENIED", flag: "--allow-child-process", delivery: "none" },
    );
    assert.match(message, /^MCP server 'demo': .*Start Node with --allow-child-process$/);
    const allowed = await permitted(source, ["--allow-child-process"]);
    assert.notEqual(allowed?.code, "ACCESS_DENIED");
  });

  it("no file is read or written for an option without --allow-fs-read and --allow-fs-write", async (t) => {
    const folder = realpathSync(mkdtempSync(join(tmpdir(), "operations-permission-")));
    t.after(() => rmSync(folder, { recursive: true, force: true }));
    const file = join(folder, "ca.pem");
    const name = (path) => JSON.stringify(path);
    const reads = [
      `require("@alkdev/operations/transport-websocket").connectHub("wss://127.0.0.1:1", { name: "a", caFile: ${name(file)} })`,
      `require("@alkdev/operations/transport-nats").connectNats({ servers: "nats://127.0.0.1:1", name: "a", auth: { credentialsFile: ${name(file)} } })`,
      `require("@alkdev/operations/serve").serve(new (require("@alkdev/operations").OperationRegistry)(),
        { doors: { http: true }, tls: { certFile: ${name(file)}, keyFile: ${name(file)} } })`,
    ];
    for (const source of reads) {
      const { code, flag } = await permitted(failure(source));
      assert.deepEqual({ code, flag }, { code: "ACCESS_DENIED", flag: `--allow-fs-read=${file}` });
    }
    const spill = `new (require("@alkdev/operations").OperationRegistry)({ spill: { over: 1, dir: ${name(folder)} } })`;
    const written = await permitted(failure(spill), [`--allow-fs-read=${folder}`]);
    assert.equal(written.flag, `--allow-fs-write=${folder}`);
  });

  const opening = {
    serve: `require("@alkdev/operations/serve").serve(registry, { doors: { http: true } }).then((served) => served.close())`,
    connectHub: `require("@alkdev/operations/transport-websocket").connectHub("ws://127.0.0.1:1", { name: "a", reconnect: false })`,
    connectNats: `require("@alkdev/operations/transport-nats").connectNats({ servers: "nats://127.0.0.1:1", name: "a" })`,
    createRedisEventTarget: `require("@alkdev/operations/transport-redis").createRedisEventTarget({ url: "redis://127.0.0.1:1" }).close()`,
    "MCP server 'a'": `require("@alkdev/operations").createMCPClient("a", { url: "http://127.0.0.1:1" })`,
    "An HTTP request": `require("@alkdev/operations").FromOpenAPIUrl("http://127.0.0.1:1/a.json", { namespace: "a" })`,
  };
  const knowsSockets = process.allowedNodeEnvironmentFlags.has("--allow-net");
  for (const [what, source] of Object.entries(opening)) {
    it(`${what} opens no socket without --allow-net, where Node has it`, async () => {
      const tried = `const registry = new (require("@alkdev/operations").OperationRegistry)(); ${failure(source)}`;
      const { code, message, flag } = (await permitted(tried)) ?? {};
      assert.equal(code === "ACCESS_DENIED", knowsSockets);
      if (!knowsSockets) return;
      assert.equal(flag, "--allow-net");
      assert.ok(message.includes(what), message);
      assert.notEqual((await permitted(tried, ["--allow-net"]))?.code, "ACCESS_DENIED");
    });
  }
});
