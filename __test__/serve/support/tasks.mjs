// Clients and servers for the tests of tasks.

import { spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { operation } from "../support.mjs";

export const PREFIX = "io.modelcontextprotocol/";
export const EXTENSION = `${PREFIX}tasks`;

/** An operation that can be a task. */
export const job = (name, handler, more = {}) =>
  operation({ namespace: "x", name, type: "mutation", _meta: { mcp: { task: true } }, handler, ...more });

/** A request of revision 2026-07-28, of a client that knows tasks. */
export async function ask(url, method, params, { capabilities = {}, headers = {}, declares = true } = {}) {
  const name = params.name ?? params.taskId;
  const all = { ...capabilities, ...(declares && { extensions: { [EXTENSION]: {} } }) };
  const response = await fetch(`${url}/mcp`, {
    method: "POST",
    headers: {
      "content-type": "application/json",
      accept: "application/json, text/event-stream",
      "mcp-protocol-version": "2026-07-28",
      "mcp-method": method,
      ...(name !== undefined && { "mcp-name": name }),
      ...headers,
    },
    body: JSON.stringify({
      jsonrpc: "2.0",
      id: 1,
      method,
      params: {
        ...params,
        _meta: { [`${PREFIX}protocolVersion`]: "2026-07-28", [`${PREFIX}clientCapabilities`]: all },
      },
    }),
  });
  return response.json();
}

export const call = (url, name, args = {}, more = {}) =>
  ask(url, "tools/call", { name, arguments: args }, more);
export const get = async (url, taskId, more) => (await ask(url, "tasks/get", { taskId }, more)).result;

/** Asks until a task is something. */
export async function until(url, taskId, wanted, more) {
  for (;;) {
    const task = await get(url, taskId, more);
    if (wanted(task)) return task;
    await sleep(20);
  }
}

export const isOver = ({ status }) => ["completed", "failed", "cancelled"].includes(status);

const program = fileURLToPath(new URL("task-server.mjs", import.meta.url));

/** A server with tasks in a process of its own. */
export async function startTaskServer(tasks, port = 0) {
  const child = spawn(process.execPath, [program, JSON.stringify(tasks), String(port)], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  const [url] = await once(createInterface(child.stdout), "line");
  const kill = async () => {
    if (child.exitCode !== null || child.signalCode !== null) return;
    const ended = once(child, "exit");
    child.kill("SIGKILL");
    await ended;
  };
  return { url, kill };
}
