// Who sends the requests of an imported operation: the native client, unless a user has chosen `fetch` or a dispatcher of undici.

import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { describe, it } from "node:test";
import { promisify } from "node:util";
import { failureOf, single } from "./support.mjs";

const run = promisify(execFile);
const root = new URL("../..", import.meta.url);

/** Runs a program in a process of its own, because dispatchers are global. It has `ask(config)`: who sent a request, or what failed. */
async function sender(program) {
  const source = `
    import { createServer } from "node:http";
    import { configure } from "@logtape/logtape";
    import { FromOpenAPI } from "@alkdev/operations";
    const lines = [];
    await configure({
      sinks: { all: (record) => lines.push(record.message.join("")) },
      loggers: [
        { category: ["logtape", "meta"], sinks: [] },
        { category: "operations", lowestLevel: "info", sinks: ["all"] },
      ],
    });
    const server = createServer((request, response) => {
      const agent = request.headers["user-agent"] ?? "nothing";
      response.setHeader("content-type", "text/plain").end(agent.startsWith("alkdev-operations") ? "native" : "fetch");
    });
    await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
    const baseUrl = "http://127.0.0.1:" + server.address().port;
    const document = { openapi: "3.1.0", info: { title: "t", version: "1" },
      paths: { "/": { get: { operationId: "it", responses: { 200: { description: "", content: { "text/plain": {} } } } } } } };
    const ask = (config = {}) => FromOpenAPI(document, { namespace: "t", baseUrl, ...config })[0]
      .handler({}, {}).then(({ data }) => data, (error) => error.code);
    const undici = await import("undici");
    ${program}
    server.close();
    server.closeAllConnections();`;
  const { stdout } = await run(process.execPath, ["--input-type=module", "-e", source], { cwd: root });
  return JSON.parse(stdout);
}

describe("undici", () => {
  it("importing undici does not send calls through fetch", async () => {
    assert.deepEqual(await sender("console.log(JSON.stringify([await ask(), lines]));"), ["native", []]);
  });

  it("a plain undici Agent that a program sets does not send calls through fetch", async () => {
    const program =
      "undici.setGlobalDispatcher(new undici.Agent()); console.log(JSON.stringify(await ask()));";
    assert.equal(await sender(program), "native");
  });

  const chosen = {
    "an Agent with options": ["new undici.Agent({ connections: 3 })", "fetch"],
    "an Agent with a connector": [
      "new undici.Agent({ connect: undici.buildConnector({ timeout: 999 }) })",
      "fetch",
    ],
    "an Agent with a factory": [
      "new undici.Agent({ factory: (origin, options) => new undici.Pool(origin, options) })",
      "fetch",
    ],
    "composed interceptors": ["new undici.Agent().compose(undici.interceptors.retry())", "fetch"],
    "a subclass with the name Agent": ["new (class Agent extends undici.Agent {})()", "fetch"],
    "an Agent whose dispatch was replaced": [
      "Object.assign(new undici.Agent(), { dispatch: undici.Agent.prototype.dispatch })",
      "fetch",
    ],
    "an EnvHttpProxyAgent": ["new undici.EnvHttpProxyAgent()", "fetch"],
    // Nothing is allowed and nothing listens there, so a call that follows them fails.
    "a MockAgent": [
      "(() => { const mock = new undici.MockAgent(); mock.disableNetConnect(); return mock; })()",
      "EXECUTION_ERROR",
    ],
    "a ProxyAgent": ['new undici.ProxyAgent("http://127.0.0.1:1")', "EXECUTION_ERROR"],
  };
  for (const [title, [dispatcher, expected]] of Object.entries(chosen)) {
    it(`${title}, set as undici's global dispatcher, is used, and one log line says so and how to choose`, async () => {
      const [first, second, lines] = await sender(`
        undici.setGlobalDispatcher(${dispatcher});
        console.log(JSON.stringify([await ask(), await ask(), lines]));`);
      assert.deepEqual([first, second], [expected, expected]);
      const about = lines.filter((text) => text.includes("global dispatcher"));
      assert.equal(about.length, 1, lines.join("\n"));
      assert.match(about[0], /transport: "native"/);
    });
  }
});

describe("transport", () => {
  it("transport: native sends natively although the global fetch was replaced", async () => {
    const program = `
      globalThis.fetch = async () => new Response("mock", { headers: { "content-type": "text/plain" } });
      console.log(JSON.stringify([await ask(), await ask({ transport: "native" }), lines.length]));`;
    assert.deepEqual(await sender(program), ["mock", "native", 1]);
  });

  it("transport: fetch sends through the runtime's own fetch, without a log line", async () => {
    const program = 'console.log(JSON.stringify([await ask({ transport: "fetch" }), lines]));';
    assert.deepEqual(await sender(program), ["fetch", []]);
  });

  it("transport: native beside a fetch is refused, and so is any other word", async () => {
    const baseUrl = "https://api.example.com";
    const refused = async (config) => failureOf((async () => single("get", {}, { baseUrl, ...config }))());
    const both = await refused({ transport: "native", fetch: async () => new Response() });
    assert.equal(both.code, "VALIDATION_ERROR");
    assert.match(both.message, /config\.transport is "native", but a fetch is given too/);
    assert.equal((await refused({ transport: "undici" })).code, "VALIDATION_ERROR");
  });
});
