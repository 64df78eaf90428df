// Large binary bodies of imported operations pass through a server: piece by piece, no faster than the client reads, and not through
// memory. `OPERATIONS_PASS_MB=500` makes them larger.

import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { createHash } from "node:crypto";
import { once } from "node:events";
import { createInterface } from "node:readline";
import { after, describe, it } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { FromOpenAPI } from "@alkdev/operations";
import { documentOf, serve as upstream } from "../http/support.mjs";
import { serving } from "./support.mjs";

const MEGABYTE = 1_000_000;
const megabytes = Number(process.env.OPERATIONS_PASS_MB ?? 100);
const piece = Buffer.alloc(MEGABYTE, "0123456789abcdef");

const download = (mediaType = "application/octet-stream") => ({
  get: {
    operationId: "download",
    parameters: [{ in: "path", name: "what", required: true, schema: { type: "string" } }],
    responses: { 200: { description: "", content: { [mediaType]: {} } } },
  },
});
const document = documentOf({ "/files/{what}": download() });

/** Sends as many pieces as the name of the file says, as fast as they are taken; counts them. */
async function fileServer() {
  const sent = { pieces: 0, closed: 0 };
  const api = await upstream(async ({ url }, response) => {
    const [, count, isAnnounced] = /(\d+)(-announced)?$/.exec(url);
    const length = isAnnounced ? { "content-length": Number(count) * MEGABYTE } : {};
    response.writeHead(200, { "content-type": "application/octet-stream", etag: '"1"', ...length });
    const closed = once(response, "close").then(() => {
      sent.closed += 1;
    });
    for (let n = 0; n < Number(count) && !response.destroyed; n++) {
      sent.pieces += 1;
      if (!response.write(piece)) await Promise.race([once(response, "drain"), closed]);
    }
    response.end();
  });
  return { url: api.url, sent };
}

/** A server in a process of its own, which says how much memory it has. */
async function serverProcess(baseUrl) {
  const script = `
    import { FromOpenAPI, OperationRegistry } from "@alkdev/operations";
    import { serve } from "@alkdev/operations/serve";
    const registry = new OperationRegistry();
    const config = { namespace: "files", baseUrl: "${baseUrl}", maxResponseBytes: 2_000_000_000 };
    registry.registerAll(FromOpenAPI(${JSON.stringify(document)}, config));
    const served = await serve(registry, { doors: { http: true } });
    console.log(served.url);
    process.stdin.on("data", () => console.log(process.memoryUsage.rss()));
    process.stdin.on("end", () => served.close({ drain: 0 }));
  `;
  const cwd = new URL(".", import.meta.url);
  const child = spawn(process.execPath, ["--input-type=module", "--eval", script], { cwd });
  child.stderr.pipe(process.stderr);
  after(() => child.stdin.end());
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  const { value: url } = await lines.next();
  const rss = async () => {
    child.stdin.write("?");
    return Number((await lines.next()).value);
  };
  return { url, rss };
}

/** Reads a download, with a pause after each piece, and says what it was and the most memory that the server had meanwhile. */
async function read(server, file, pause) {
  const before = await server.rss();
  let [bytes, most] = [0, before];
  const [hash, expected] = [createHash("sha256"), createHash("sha256")];
  const response = await fetch(`${server.url}/api/files/${file}`);
  assert.equal(response.status, 200);
  for await (const part of response.body) {
    bytes += part.length;
    hash.update(part);
    await pause(bytes);
    if (bytes % 7 === 0) most = Math.max(most, await server.rss());
  }
  most = Math.max(most, await server.rss());
  for (let n = 0; n < bytes / MEGABYTE; n++) expected.update(piece);
  assert.equal(hash.digest("hex"), expected.digest("hex"));
  return { bytes, grown: (most - before) / MEGABYTE, headers: response.headers };
}

describe("a large body", () => {
  for (const [what, file, pause] of [
    ["passes through", `${megabytes}-announced`, async () => {}],
    ["whose length nobody knows passes through", `${megabytes}`, async () => {}],
    ["passes through to a slow client", `${megabytes}`, (bytes) => (bytes % 5 === 0 ? sleep(1) : undefined)],
  ]) {
    it(`a large body ${what}, and not through memory`, async (test) => {
      const { url } = await fileServer();
      const server = await serverProcess(url);
      // What a first call needs is not what is measured.
      await read(server, "1", async () => {});
      const { bytes, grown, headers } = await read(server, file, pause);
      test.diagnostic(`${bytes} bytes, the server grew by ${grown.toFixed(1)} MB`);
      assert.equal(bytes, megabytes * MEGABYTE);
      assert.equal(headers.get("content-type"), "application/octet-stream");
      assert.equal(headers.get("etag"), '"1"');
      const announced = file.endsWith("announced") ? `${megabytes * MEGABYTE}` : null;
      assert.equal(headers.get("content-length"), announced);
      assert.ok(grown < 50, `${grown} MB`);
    });
  }

  it("a large body that is not read waits at the upstream server, and ends when its client disconnects", async () => {
    const { url, sent } = await fileServer();
    const config = { namespace: "files", baseUrl: url, maxResponseBytes: 2_000_000_000 };
    const served = await serving(FromOpenAPI(document, config), { concurrency: 1, queue: 0 });
    const controller = new AbortController();
    const response = await fetch(`${served.url}/api/files/1000`, { signal: controller.signal });
    assert.equal(response.status, 200);
    // It goes on until every buffer on the way is full.
    for (let last = -1; last !== sent.pieces; await sleep(300)) last = sent.pieces;
    assert.ok(sent.pieces < 100, `${sent.pieces} MB were sent, and nobody reads`);
    // The body has the place of its call.
    assert.equal((await fetch(`${served.url}/api/files/1`)).status, 503);
    controller.abort();
    while (sent.closed === 0) await sleep(5);
    for (let status = 503; status !== 200; await sleep(5)) {
      const again = await fetch(`${served.url}/api/files/1`);
      status = again.status;
      await again.arrayBuffer();
    }
  });

  it("a large body is refused beyond the size limit", async () => {
    const { url } = await fileServer();
    const config = { namespace: "files", baseUrl: url, maxResponseBytes: 2 * MEGABYTE };
    const served = await serving(FromOpenAPI(document, config));
    const refused = await fetch(`${served.url}/api/files/3-announced`);
    assert.equal(refused.status, 502);
    assert.match((await refused.json()).detail, /larger than the limit of 2000000 bytes/);
    // What turns out to be too large breaks off, and cannot be taken for the whole.
    const broken = await fetch(`${served.url}/api/files/3`);
    await assert.rejects(broken.arrayBuffer());
    const whole = await (await fetch(`${served.url}/api/files/2`)).arrayBuffer();
    assert.equal(whole.byteLength, 2 * MEGABYTE);
  });

  it("a large body that breaks off is not mistaken for a complete one", async () => {
    const api = await upstream(async (_, response) => {
      response.writeHead(200, { "content-type": "application/octet-stream" });
      response.write(piece);
      await sleep(50);
      response.destroy();
    });
    const served = await serving(FromOpenAPI(document, { namespace: "files", baseUrl: api.url }));
    const response = await fetch(`${served.url}/api/files/x`);
    await assert.rejects(response.arrayBuffer());
  });
});

/** A problem, but for what differs from call to call. */
function problemOf(text) {
  const { requestId, ...problem } = JSON.parse(text);
  assert.equal(typeof requestId, "string");
  delete problem.details?.headers?.date;
  return problem;
}

describe("a binary body", () => {
  it("a binary body of any size is the same from native code and from JavaScript", async () => {
    const sizes = [0, 1, 1_000, 65_535, 65_536, 65_537, 300_000];
    const api = await upstream(({ url }, response) => {
      const [status, type, size] = url.split("/").at(-1).split("-");
      response.writeHead(Number(status), {
        "content-type": `${type.replace(".", "/")}`,
        "set-cookie": "a=b",
      });
      response.end(Buffer.alloc(Number(size), 7));
    });
    const operations = (accessControl, output) =>
      FromOpenAPI(documentOf({ "/files/{what}": download("image/png") }), {
        namespace: "files",
        baseUrl: api.url,
        accessControl,
        output,
        retry: 0,
      });
    for (const output of ["normalise", "strict"]) {
      const native = await serving(operations({ requiredScopes: [] }, output));
      const javascript = await serving(
        operations({ requiredScopes: [], customAuth: "everybody" }, output),
        {},
        { customAuth: { everybody: () => true } },
      );
      for (const status of [200, 201, 404]) {
        for (const type of ["image.png", "application.zip", "application.json"]) {
          for (const size of sizes) {
            const answers = [];
            for (const { url } of [native, javascript]) {
              const response = await fetch(`${url}/api/files/${status}-${type}-${size}`);
              const body = Buffer.from(await response.arrayBuffer()).toString("latin1");
              const headers = Object.fromEntries(response.headers);
              for (const name of ["date", "x-request-id", "content-length", "transfer-encoding"])
                delete headers[name];
              const isProblem = headers["content-type"] === "application/problem+json";
              answers.push({ status: response.status, headers, body: isProblem ? problemOf(body) : body });
            }
            assert.deepEqual(answers[0], answers[1], `${output}, ${status}, ${type}, ${size}`);
            if (status === 200 && type === "image.png") assert.equal(answers[0].body.length, size);
          }
        }
      }
    }
  });
});
