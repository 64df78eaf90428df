// Access is decided before a task exists: whoever may not call a tool gets 401 or 403, and nothing is stored.

import assert from "node:assert/strict";
import { existsSync, mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, describe, it } from "node:test";
import { setTimeout as wait } from "node:timers/promises";
import { EXTENSION, job, PREFIX } from "./support/tasks.mjs";
import { deferred, operation, serving } from "./support.mjs";

const root = mkdtempSync(join(tmpdir(), "operations-test-task-access-"));
after(() => {
  if (process.platform !== "win32") rmSync(root, { recursive: true, force: true });
});
let folders = 0;

/** A server with tasks, and how many of them are stored. */
async function withTasks(operations, options, registryOptions) {
  const dir = join(root, String(folders++));
  const doors = { http: true, mcp: { tasks: { dir } } };
  const served = await serving(operations, { doors, ...options }, registryOptions);
  const stored = () =>
    existsSync(dir) ? readdirSync(dir).filter((name) => name.endsWith(".json")).length : 0;
  return Object.assign(served, { stored });
}

const send = async (url, version, params, headers = {}) => {
  const response = await fetch(`${url}/mcp`, {
    method: "POST",
    headers: {
      "content-type": "application/json",
      accept: "application/json, text/event-stream",
      "mcp-protocol-version": version,
      "mcp-method": "tools/call",
      "mcp-name": params.name,
      ...headers,
    },
    body: JSON.stringify({ jsonrpc: "2.0", id: 1, method: "tools/call", params }),
  });
  return { status: response.status, body: await response.json() };
};

const stateless = (url, name, headers) => {
  const _meta = {
    [`${PREFIX}protocolVersion`]: "2026-07-28",
    [`${PREFIX}clientCapabilities`]: { extensions: { [EXTENSION]: {} } },
  };
  return send(url, "2026-07-28", { name, arguments: {}, _meta }, headers);
};
const handshake = (url, name, headers) => send(url, "2025-11-25", { name, arguments: {}, task: {} }, headers);

const onlyAdmins = { accessControl: { requiredScopes: ["admin"] } };

describe("a caller who may not call a tool", () => {
  for (const [version, call] of [
    ["2026-07-28", stateless],
    ["2025-11-25", handshake],
  ]) {
    it(`a caller without an identity gets 401 and no task of a protected tool, in ${version}`, async () => {
      const { url, stored } = await withTasks([job("secret", () => "ran", onlyAdmins), job("open", () => 1)]);
      const denied = await call(url, "x_secret");
      assert.equal(denied.status, 401);
      assert.equal(denied.body.result, undefined);
      assert.equal(stored(), 0);
      assert.equal((await call(url, "x_open")).status, 200);
      assert.ok(stored() > 0, "a permitted call is a task, and stored");
    });

    it(`a caller who lacks the scope gets 403 and no task, in ${version}`, async () => {
      const tokens = { ada: { id: "ada", scopes: [] }, root: { id: "root", scopes: ["admin"] } };
      const { url, stored } = await withTasks([job("secret", () => "ran", onlyAdmins)], { tokens });
      const denied = await call(url, "x_secret", { authorization: "Bearer ada" });
      assert.equal(denied.status, 403);
      assert.equal(stored(), 0);
      assert.equal((await call(url, "x_secret", { authorization: "Bearer root" })).status, 200);
    });

    it(`a caller whom customAuth refuses gets no task, in ${version}`, async () => {
      const asked = [];
      const customAuth = {
        owner: (identity, { operationId, input, context }) => {
          asked.push({ id: identity?.id, operationId, input, same: context.identity === identity });
          return false;
        },
      };
      const rule = { accessControl: { requiredScopes: [], customAuth: "owner" } };
      const { url, stored } = await withTasks([job("owned", () => "ran", rule)], {}, { customAuth });
      assert.equal((await call(url, "x_owned")).status, 401);
      assert.equal(stored(), 0);
      // Once before a task would be stored, and once by the call that is then denied.
      const decided = { id: undefined, operationId: "x.owned", input: {}, same: true };
      assert.deepEqual(asked, [decided, decided]);
    });

    it(`a caller gets nothing through a call that a customAuth function makes with the caller's context, in ${version}`, async () => {
      const outcomes = [];
      let registry;
      const customAuth = {
        nested: async (_, { context }) => {
          outcomes.push(
            await registry.execute("x.secret", {}, context).then(
              () => "ran",
              ({ code }) => code,
            ),
          );
          return true;
        },
      };
      const rule = { accessControl: { requiredScopes: [], customAuth: "nested" } };
      const operations = [job("secret", () => "ran", onlyAdmins), job("nesting", () => "ran", rule)];
      const served = await withTasks(operations, {}, { customAuth, trustDirectCalls: true });
      registry = served.registry;
      assert.equal((await call(served.url, "x_nesting")).status, 200);
      assert.ok(outcomes.length > 0);
      assert.deepEqual(new Set(outcomes), new Set(["ACCESS_DENIED"]));
    });
  }

  it("a refused call that waits long enough to become a task gets none", async () => {
    const go = deferred();
    const began = deferred();
    const later = { ...onlyAdmins, _meta: { mcp: { task: { after: 50 } } } };
    const busy = operation({
      name: "busy",
      handler: () => {
        began.resolve();
        return go.promise;
      },
    });
    const { url, post, stored, stats } = await withTasks([busy, job("secret", () => "ran", later)], {
      concurrency: 1,
    });
    const running = post("test/busy", {});
    await began.promise;
    const denied = stateless(url, "x_secret");
    while (stats().waiting === 0) await wait(5);
    // Longer than a call that may be a task would wait.
    await wait(200);
    go.resolve();
    assert.equal((await denied).status, 401);
    assert.equal(stored(), 0);
    await running;
  });

  it("a caller who may not call a tool leaves room for others, however often it tries", async () => {
    const { url, stored } = await withTasks([job("secret", () => "ran", onlyAdmins), job("open", () => 1)]);
    // More than the tasks that one caller may have.
    for (let round = 0; round < 21; round++) {
      await Promise.all(Array.from({ length: 50 }, () => stateless(url, "x_secret")));
    }
    assert.equal(stored(), 0);
    const { body } = await stateless(url, "x_open");
    assert.equal(body.result?.resultType, "task");
  });
});
