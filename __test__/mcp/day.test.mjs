// A hub with thirty servers, through a day in fast motion. Prints processes, memory and open files at each step.

import assert from "node:assert/strict";
import { fork } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { it } from "node:test";
import { onlyOn } from "../support/skips.mjs";
import { defer } from "./support/defer.mjs";
import { startHTTPServer } from "./support/http-server.mjs";
import { isAlive, temporaryFolder, until, untilDead } from "./support/processes.mjs";
import { packaged, stdio } from "./support/servers.mjs";

/** Long enough for several calls, short enough to wait for. */
const IDLE = 3_000;

function startHub(test) {
  const child = fork(new URL("./support/day-hub.mjs", import.meta.url));
  const waiting = new Map();
  child.on("message", ({ number, result, error }) => {
    const { resolve, reject } = waiting.get(number);
    if (error === undefined) resolve(result);
    else reject(new Error(error));
  });
  const ended = once(child, "exit");
  defer(test, async () => {
    if (isAlive(child.pid)) child.kill("SIGKILL");
    await ended;
  });
  const ask = (command, value) => {
    const number = waiting.size;
    return new Promise((resolve, reject) => {
      waiting.set(number, { resolve, reject });
      child.send({ number, command, value });
    });
  };
  return { child, ended, ask };
}

/** The children of a process, and theirs. */
function familyOf(pid) {
  const parents = new Map();
  for (const name of readdirSync("/proc").filter((name) => /^\d+$/.test(name))) {
    try {
      const stat = readFileSync(`/proc/${name}/stat`, "utf8");
      const parent = Number(stat.slice(stat.lastIndexOf(")") + 4).split(" ")[0]);
      parents.set(parent, [...(parents.get(parent) ?? []), Number(name)]);
    } catch {
      // It has ended.
    }
  }
  const found = parents.get(pid) ?? [];
  for (const each of found) found.push(...(parents.get(each) ?? []));
  return found.filter(isAlive);
}

function sizeOf(pid) {
  const [, kilobytes] = /VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, "utf8"));
  return { megabytes: Math.round(kilobytes / 1024), files: readdirSync(`/proc/${pid}/fd`).length };
}

it("thirty servers through a day: no process that is not needed, and none that stays", {
  skip: onlyOn("linux"),
  timeout: 600_000,
}, async (t) => {
  const folder = temporaryFolder(t);
  const marker = join(folder, "marker");
  let token = "first";
  const before = ({ headers }, response) => {
    const isRefused = headers.authorization !== `Bearer ${token}`;
    if (isRefused) response.writeHead(401).end();
    return isRefused;
  };
  const guarded = await startHTTPServer(t, { before });
  const shared = { start: "lazy", toolCache: join(folder, "lists"), idle: IDLE, connectTimeout: 120_000 };
  const numbers = Array.from({ length: 5 }, (_, index) => index);
  const several = (name, configOf) => numbers.map((index) => [`${name}${index}`, configOf(index)]);
  const servers = (now) =>
    Object.fromEntries([
      ...several("files", (index) => {
        mkdirSync(join(folder, `files${index}`), { recursive: true });
        return packaged("server-filesystem", [join(folder, `files${index}`)], shared);
      }),
      ...several("memory", (index) => {
        const env = { MEMORY_FILE_PATH: join(folder, `memory${index}.json`) };
        return packaged("server-memory", [], { ...shared, env });
      }),
      ...several("everything", () => packaged("server-everything", [], shared)),
      ...several("thinking", () => packaged("server-sequential-thinking", [], shared)),
      ...several("stand-in", (index) =>
        stdio(["family"], { ...shared, env: { STARTS_FILE: `${marker}${index}` } }),
      ),
      ...several("remote", () => ({
        url: guarded.url,
        headers: { authorization: `Bearer ${now}` },
        ...shared,
      })).slice(0, 4),
      ["news", stdio(["knows-news-when-restarted"], { ...shared, env: { MARKER: marker } })],
    ]);
  assert.equal(Object.keys(servers(token)).length, 30);

  const note = (step, { child }, more = "") => {
    const { megabytes, files } = sizeOf(child.pid);
    const family = familyOf(child.pid);
    t.diagnostic(`${step}: ${family.length} processes, ${megabytes} MB, ${files} files ${more}`);
    return family;
  };
  const quiet = (hub) => until(() => familyOf(hub.child.pid).length === 0, "nothing runs");

  let hub = startHub(t);
  let loaded = await hub.ask("load", servers(token));
  assert.deepEqual(loaded.failures, []);
  await quiet(hub);
  note("first start, lists read", hub, `${loaded.ms} ms, ${loaded.operations} operations`);
  await hub.ask("close");
  await hub.ended;

  hub = startHub(t);
  loaded = await hub.ask("load", servers(token));
  assert.deepEqual(loaded.failures, []);
  assert.deepEqual(note("start", hub, `${loaded.ms} ms`), []);
  const atFirst = sizeOf(hub.child.pid);
  assert.deepEqual([...new Set(Object.values(await hub.ask("status")))], ["stopped"]);

  const path = join(folder, "files1", "a.txt");
  await hub.ask("call", { id: "files1.write_file", input: { path, content: "a" } });
  await hub.ask("call", { id: "memory2.read_graph" });
  await hub.ask("call", { id: "everything3.echo", input: { message: "a" } });
  // Each has a guard, which ends it if the hub is killed.
  assert.equal(note("three used", hub).length, 6);
  assert.equal(Object.values(await hub.ask("pids")).filter((pid) => pid !== undefined).length, 3);

  await quiet(hub);
  note("idle", hub);
  assert.equal((await hub.ask("status")).files1, "idle");

  const five = [
    "files0.list_allowed_directories",
    "memory0.read_graph",
    "stand-in0.person",
    "stand-in1.person",
  ];
  for (const id of five) await hub.ask("call", { id });
  const pids = await hub.ask("pids");
  const killed = [pids.memory0, pids["stand-in0"]];
  const family = familyOf(pids["stand-in0"]);
  for (const pid of killed) process.kill(pid, "SIGKILL");
  await untilDead([...killed, ...family]);
  await until(async () => (await hub.ask("status")).memory0 === "failed", "it has failed");
  note("two killed", hub);
  for (const id of five) assert.equal(await hub.ask("call", { id }), false);
  note("called again", hub);

  await hub.ask("call", { id: "remote0.person" });
  token = "second";
  await assert.rejects(hub.ask("call", { id: "remote0.person" }), /401/);
  assert.equal((await hub.ask("status")).remote0, "needs-auth");
  loaded = await hub.ask("load", servers(token));
  assert.deepEqual(loaded.failures, []);
  await hub.ask("call", { id: "remote0.person" });
  note("token rotated, all loaded again", hub, `${loaded.ms} ms`);

  assert.ok(!(await hub.ask("ids")).includes("news.news"));
  writeFileSync(marker, "");
  await hub.ask("restart", "news");
  assert.ok((await hub.ask("ids")).includes("news.news"));
  note("a list has changed", hub);

  await quiet(hub);
  note("idle again", hub);
  const atLast = sizeOf(hub.child.pid);
  assert.ok(atLast.files <= atFirst.files + 10, `${atFirst.files} open files became ${atLast.files}`);

  for (const id of five) await hub.ask("call", { id });
  const orphans = familyOf(hub.child.pid);
  assert.ok(orphans.length >= 4);
  hub.child.kill("SIGKILL");
  await hub.ended;
  await untilDead(orphans);
  t.diagnostic(`hub killed (kill -9): 0 of ${orphans.length} processes are left`);

  hub = startHub(t);
  loaded = await hub.ask("load", servers(token));
  for (const id of five) await hub.ask("call", { id });
  const last = note("hub started again", hub, `${loaded.ms} ms`);
  await hub.ask("close");
  await hub.ended;
  assert.deepEqual(last.filter(isAlive), []);
});
