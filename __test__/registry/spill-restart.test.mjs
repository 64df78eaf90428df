// Files of large results whose process was killed before it could remove them.

import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdtempSync, readdirSync, rmSync, statSync, utimesSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { createInterface } from "node:readline";
import { after, describe, it } from "node:test";
import { OperationRegistry } from "@alkdev/operations";
import { uncounted } from "../support/own-time.mjs";

const folder = mkdtempSync(join(tmpdir(), "spill-restart-"));
const children = [];
after(async () => {
  for (const child of children) child.kill("SIGKILL");
  rmSync(folder, { recursive: true, force: true });
});

const SCRIPT = `
  import { OperationRegistry, OperationType } from "@alkdev/operations";
  import { Type } from "@sinclair/typebox";
  const registry = new OperationRegistry({ spill: JSON.parse(process.argv[1]) });
  registry.register({
    namespace: "a", name: "b", version: "1", type: OperationType.QUERY, description: "",
    inputSchema: Type.Unknown(), outputSchema: Type.Unknown(), accessControl: { requiredScopes: [] },
    handler: () => "x".repeat(10_000),
  });
  const { meta } = await registry.execute("a.b", {});
  console.log(meta.spill.path);
  setInterval(() => {}, 1_000);
`;

/** A process that has spilled a result, and where to. */
async function spilling(options = {}, env = {}) {
  const spill = JSON.stringify({ over: 1_000, ...options });
  const child = uncounted(() =>
    spawn(process.execPath, ["--input-type=module", "-e", SCRIPT, spill], {
      cwd: new URL("../..", import.meta.url),
      env: { ...process.env, ...env },
      stdio: ["ignore", "pipe", "inherit"],
    }),
  );
  children.push(child);
  const [path] = await once(createInterface({ input: child.stdout }), "line");
  return { path, kill: () => Promise.all([once(child, "exit"), child.kill("SIGKILL")]) };
}

describe("spilled files of a process that was killed", { timeout: 120_000 }, () => {
  it("spilled files of a killed process are gone when the next one starts in the same folder, and those of a running process stay", async () => {
    const dir = join(folder, "shared");
    const running = await spilling({ dir });
    const killed = await spilling({ dir });
    if (process.platform !== "win32") assert.equal(statSync(killed.path).mode & 0o777, 0o600);
    await killed.kill();
    assert.ok(existsSync(killed.path));
    const next = await spilling({ dir });
    assert.deepEqual(
      [killed, running, next].map(({ path }) => existsSync(path)),
      [false, true, true],
    );
  });

  it("spilled files of a killed process are gone without a configured folder, too", async () => {
    const temporary = mkdtempSync(join(folder, "tmp-"));
    const env = { TMPDIR: temporary, TEMP: temporary, TMP: temporary };
    const running = await spilling({}, env);
    const killed = await spilling({}, env);
    await killed.kill();
    const next = await spilling({}, env);
    assert.deepEqual(
      [killed, running, next].map(({ path }) => existsSync(dirname(path))),
      [false, true, true],
    );
    assert.equal(readdirSync(temporary).length, 2);
  });

  it("spilled files of another host are removed when their time is over, and nothing else in the folder is", async () => {
    const dir = mkdtempSync(join(folder, "mixed-"));
    const long = new Date(Date.now() - 3 * 24 * 3_600_000);
    const files = {
      "00000000-7-7-0123456789abcdef0123456789abcdef": true,
      "00000001-7-7-0123456789abcdef0123456789abcdef": false,
      "0123456789abcdef0123456789abcdef": true,
      "notes.txt": true,
    };
    for (const [name, isOld] of Object.entries(files)) {
      writeFileSync(join(dir, name), "x");
      if (isOld) utimesSync(join(dir, name), long, long);
    }
    await spilling({ dir });
    const left = readdirSync(dir).filter((name) => name in files);
    assert.deepEqual(left.sort(), Object.keys(files).sort().slice(1));
  });

  it("new spilled files of another host stay if a mocked clock is years ahead", (t) => {
    const dir = mkdtempSync(join(folder, "mocked-"));
    const name = "00000001-7-7-0123456789abcdef0123456789abcdef";
    writeFileSync(join(dir, name), "x");
    t.mock.timers.enable({ apis: ["Date"], now: Date.UTC(2040, 0, 1) });
    new OperationRegistry({ spill: { over: 1, dir } });
    assert.deepEqual(readdirSync(dir), [name]);
  });
});
