// Real brokers for tests: a server of our own on a free loopback port, with its data in a folder of its own,
// which is gone when the test is over, however it ends.

import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { connect, createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { uncounted } from "./own-time.mjs";

/** How long a broker may take to answer. Generous: reaching it is a failure, not a measurement. */
const PATIENCE = 30_000;
const ATTEMPTS = 5;

export { missingBroker } from "./skips.mjs";

/**
 * Starts a `nats-server`.
 *
 * @param {{ user?: string, password?: string, args?: string[] }} options
 */
export function startNats({ user, password, args = [] } = {}) {
  const account = user === undefined ? [] : ["--user", user, "--pass", password];
  return start({
    program: "nats-server",
    arguments: (port, folder) => [
      ...["--addr", "127.0.0.1", "--port", String(port), "--store_dir", folder],
      ...account,
      ...args,
    ],
    // A NATS server speaks first.
    greeting: "",
    answers: (text) => text.startsWith("INFO "),
    url: (port) => `nats://127.0.0.1:${port}`,
  });
}

/**
 * Starts a `redis-server`.
 *
 * @param {{ password?: string, args?: string[] }} options
 */
export function startRedis({ password, args = [] } = {}) {
  const secret = password === undefined ? [] : ["--requirepass", password];
  return start({
    program: "redis-server",
    arguments: (port, folder) => [
      ...["--bind", "127.0.0.1", "--port", String(port), "--dir", folder],
      ...["--save", "", "--appendonly", "no", "--daemonize", "no"],
      ...secret,
      ...args,
    ],
    greeting: "PING\r\n",
    answers: (text) => /^(\+PONG|-NOAUTH)/.test(text),
    url: (port) => `redis://127.0.0.1:${port}`,
  });
}

async function start(kind) {
  const folder = mkdtempSync(join(tmpdir(), `operations-${kind.program}-`));
  for (let attempt = 1; ; attempt++) {
    const broker = new Broker(kind, await freePort(), folder);
    try {
      await broker.start();
      return broker;
    } catch (error) {
      await broker.kill();
      // Somebody else may have taken the port in the meantime.
      if (attempt === ATTEMPTS) throw error;
    }
  }
}

/** A running broker. */
class Broker {
  #kind;
  #folder;
  #child;
  #watchdog;
  #removeAtExit = () => {
    this.#child?.kill("SIGKILL");
    rmSync(this.#folder, { recursive: true, force: true });
  };

  constructor(kind, port, folder) {
    this.#kind = kind;
    this.#folder = folder;
    this.port = port;
    /** Without credentials. */
    this.url = kind.url(port);
  }

  get pid() {
    return this.#child?.pid;
  }

  /** Starts it (again) on its port, and waits until it answers. */
  async start() {
    const options = { cwd: this.#folder, stdio: ["ignore", "pipe", "pipe"] };
    const args = this.#kind.arguments(this.port, this.#folder);
    const child = uncounted(() => spawn(this.#kind.program, args, options));
    this.#child = child;
    this.#watchdog = startWatchdog(child.pid, this.#folder);
    atExit.add(this.#removeAtExit);
    let said = "";
    const listen = (text) => {
      said = (said + text).slice(-4096);
    };
    child.stdout.setEncoding("utf8").on("data", listen);
    child.stderr.setEncoding("utf8").on("data", listen);
    const ended = once(child, "exit").then(([code]) => {
      throw new Error(`${this.#kind.program} ended with ${code}:\n${said}`);
    });
    ended.catch(() => {});
    await Promise.race([this.#answers(), ended]);
    // The test process need not stay for a broker that it forgot: `atExit` stops that one.
    child.unref();
    child.stdout.unref();
    child.stderr.unref();
  }

  async #answers() {
    const end = Date.now() + PATIENCE;
    while (Date.now() < end) {
      if (await answers(this.port, this.#kind)) return;
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
    throw new Error(`${this.#kind.program} does not answer on port ${this.port}`);
  }

  /** Ends it at once, as `kill -9` would; `start()` brings it back. */
  async kill(signal = "SIGKILL") {
    const child = this.#child;
    this.#child = undefined;
    // First, so that it never ends another process that got the same id.
    this.#watchdog?.kill("SIGKILL");
    if (child === undefined || child.exitCode !== null || child.signalCode !== null) return;
    child.ref();
    const ended = once(child, "exit");
    child.kill(signal);
    await ended;
  }

  /** Stops and starts it on the same port. */
  async restart() {
    await this.kill();
    await this.start();
  }

  /** Ends it for good. */
  async stop() {
    await this.kill();
    atExit.delete(this.#removeAtExit);
    rmSync(this.#folder, { recursive: true, force: true });
  }
}

/** Ends the broker when this process is gone, even if it was killed: then its end of the pipe closes. */
function startWatchdog(pid, folder) {
  if (pid === undefined || process.platform === "win32") return undefined;
  const script = 'read -r _; kill -9 "$1"; rm -rf "$2"';
  const options = { stdio: ["pipe", "ignore", "ignore"], detached: true };
  const watchdog = uncounted(() => spawn("sh", ["-c", script, "watchdog", String(pid), folder], options));
  watchdog.on("error", () => {});
  watchdog.stdin.on("error", () => {});
  watchdog.unref();
  watchdog.stdin.unref?.();
  return watchdog;
}

/** What is still there when this process ends, by itself, by a failure or by a signal. */
const atExit = new Set();
process.on("exit", () => {
  for (const remove of atExit) remove();
});
for (const [signal, number] of [
  ["SIGINT", 2],
  ["SIGTERM", 15],
]) {
  process.once(signal, () => process.exit(128 + number));
}

export function freePort() {
  return new Promise((resolve, reject) => {
    const server = createServer();
    server.once("error", reject);
    server.listen(0, "127.0.0.1", () => {
      const { port } = server.address();
      server.close(() => resolve(port));
    });
  });
}

/** Whether the expected broker answers on a port. */
function answers(port, { greeting, answers: isAnswer }) {
  return new Promise((resolve) => {
    const socket = connect(port, "127.0.0.1");
    const done = (answer) => {
      socket.destroy();
      resolve(answer);
    };
    socket.setTimeout(1000, () => done(false));
    socket.on("error", () => done(false));
    socket.on("close", () => done(false));
    socket.on("connect", () => socket.write(greeting));
    socket.once("data", (data) => done(isAnswer(data.toString("latin1"))));
  });
}
