// Runs the command line as users do: as a process of its own, in a folder of its own.

import { spawn } from "node:child_process";
import { once } from "node:events";
import { writeFileSync } from "node:fs";
import { createServer } from "node:http";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { defer } from "../../mcp/support/defer.mjs";
import { isAlive, temporaryFolder } from "../../mcp/support/processes.mjs";

const root = fileURLToPath(new URL("../../..", import.meta.url));
export const bin = join(root, "dist", "cli", "main.js");

/** A reference to a variable, as a configuration has it. */
export const env = (name) => `\${env:${name}}`;

/** A folder with some files; what is an object is written as JSON. */
export function folderWith(test, files = {}) {
  const folder = temporaryFolder(test);
  for (const [name, content] of Object.entries(files)) {
    writeFileSync(join(folder, name), typeof content === "string" ? content : JSON.stringify(content));
  }
  return folder;
}

/** A process of the command line. It is ended after the test, if it is still there. */
export function start(test, args, { cwd, env = {}, input } = {}) {
  const child = spawn(process.execPath, [bin, ...args], {
    cwd,
    env: { ...process.env, ...env },
    stdio: [input === undefined ? "ignore" : "pipe", "pipe", "pipe"],
  });
  const output = { stdout: "", stderr: "" };
  for (const name of ["stdout", "stderr"]) {
    child[name].setEncoding("utf8").on("data", (text) => {
      output[name] += text;
    });
  }
  if (input !== undefined && input !== "open") child.stdin.end(input);
  const ended = once(child, "close").then(([code, signal]) => ({ code, signal, ...output }));
  defer(test, async () => {
    if (isAlive(child.pid)) child.kill("SIGKILL");
    await ended;
  });
  return { child, output, ended };
}

/** Runs a command to its end. */
export function run(test, args, options) {
  return start(test, args, options).ended;
}

/** The same, and reads what it printed as JSON. */
export async function runJson(test, args, options) {
  const outcome = await run(test, [...args, "--json"], options);
  return { ...outcome, value: outcome.stdout === "" ? undefined : JSON.parse(outcome.stdout) };
}

/** A hub that says where it is. */
export async function startHub(test, args, options) {
  const hub = start(test, ["serve", ...args, "--json"], options);
  const line = await Promise.race([
    once(hub.child.stdout, "data").then(([text]) => text),
    hub.ended.then(({ code, stderr }) => Promise.reject(new Error(`It ended with ${code}: ${stderr}`))),
  ]);
  return { ...hub, told: JSON.parse(line) };
}

export const KEY = "the-key-of-the-pet-shop";

/** A pet shop with an OpenAPI document, which wants a key. */
export async function startShop(test) {
  const requests = [];
  const server = createServer(async (request, response) => {
    const { pathname } = new URL(request.url, "http://shop");
    requests.push(`${request.method} ${pathname} ${request.headers.authorization ?? "nobody"}`);
    const json = (status, body) =>
      response.writeHead(status, { "content-type": "application/json" }).end(JSON.stringify(body));
    if (pathname === "/openapi.json") return json(200, shopDocument());
    if (pathname === "/slow") return;
    if (request.headers.authorization !== `Bearer ${KEY}`) {
      return json(401, { reason: `not ${request.headers.authorization}` });
    }
    if (pathname === "/arrivals") {
      response.writeHead(200, { "content-type": "text/event-stream" });
      for (let id = 1; id <= 3; id++) response.write(`data: ${JSON.stringify({ id })}\n\n`);
      // The stream stays open: the shop has more to tell, some day.
      return;
    }
    const found = /^\/pets\/(\d+)$/.exec(pathname);
    if (found?.[1] === "1") return json(200, { id: 1, name: "Ada" });
    json(404, { reason: "sold out" });
  });
  await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
  defer(test, () => {
    server.closeAllConnections();
    return new Promise((resolve) => server.close(resolve));
  });
  return { url: `http://127.0.0.1:${server.address().port}`, requests };
}

export function shopDocument() {
  const json = (schema) => ({ "application/json": { schema } });
  const pet = {
    type: "object",
    required: ["id", "name"],
    properties: { id: { type: "integer" }, name: { type: "string" } },
  };
  const id = { name: "petId", in: "path", required: true, schema: { type: "integer" } };
  return {
    openapi: "3.1.0",
    info: { title: "Pet shop", version: "1.0.0" },
    paths: {
      "/pets/{petId}": {
        get: {
          operationId: "getPet",
          summary: "A pet by its number",
          parameters: [id],
          responses: { 200: { description: "The pet", content: json(pet) } },
        },
      },
      "/arrivals": {
        get: {
          operationId: "watchArrivals",
          summary: "Pets as they arrive",
          responses: {
            200: { description: "Pets", content: { "text/event-stream": { schema: { type: "object" } } } },
          },
        },
      },
      "/slow": { get: { operationId: "wait", responses: { 200: { description: "Never" } } } },
      "/broken": { get: { operationId: "broken", parameters: [{ $ref: "#/nowhere" }], responses: {} } },
    },
  };
}
