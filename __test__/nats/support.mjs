// What the tests of the NATS transport share: a broker, connections that are closed afterwards, workers and callers
// in processes of their own.

import { spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import { after, before } from "node:test";
import { fileURLToPath } from "node:url";
import { OperationRegistry } from "@alkdev/operations";
import { connectNats } from "@alkdev/operations/transport-nats";
import { missingBroker, startNats } from "../support/brokers.mjs";
import { uncounted } from "../support/own-time.mjs";

export { query, settled, sleep, subscription } from "../call/support.mjs";
export { deferred, until } from "../support/waiting.mjs";

export const skip = missingBroker("nats-server");

/** A broker for the tests of a `describe`, and what connects to it. */
export function useNats(options) {
  const made = [];
  const nats = {
    broker: undefined,
    async connect(extra = {}) {
      const connection = await connectNats({ servers: nats.broker.url, name: "test", ...extra });
      made.push(() => connection.close({ drain: 0 }));
      return connection;
    },
    /** A connection that serves these operations. */
    async worker(operations, { concurrency, overrun, verifyIdentity, registryOptions, ...extra } = {}) {
      const registry = new OperationRegistry(registryOptions);
      registry.registerAll(operations);
      const connection = await nats.connect({ name: "worker", ...extra });
      await connection.serve(registry, { concurrency, overrun, verifyIdentity });
      return Object.assign(connection, { registry });
    },
    /** A Node process that runs a script of this folder; `lines` are the JSON values that it writes. */
    async process(script, settings = {}) {
      const child = new Child(script, { servers: nats.broker.url, ...settings });
      made.push(() => child.kill());
      await child.ready;
      return child;
    },
  };
  before(async () => {
    nats.broker = await startNats(options);
  });
  after(async () => {
    await Promise.all(made.splice(0).map((end) => end()));
    await nats.broker?.stop();
  });
  return nats;
}

class Child {
  lines = [];
  #waiting = new Set();
  #child;

  constructor(script, settings) {
    const file = fileURLToPath(new URL(script, import.meta.url));
    const args = [file, JSON.stringify(settings)];
    const stdio = ["pipe", "pipe", "inherit"];
    this.#child = uncounted(() => spawn(process.execPath, args, { stdio }));
    // Everything that it has written was read by then.
    this.exited = once(this.#child, "close");
    createInterface({ input: this.#child.stdout }).on("line", (line) => {
      this.lines.push(JSON.parse(line));
      for (const look of [...this.#waiting]) look();
    });
    this.ready = this.until((line) => line.ready === true);
  }

  get pid() {
    return this.#child.pid;
  }

  /** The first line that fits, now or later. */
  until(fits) {
    return new Promise((resolve, reject) => {
      const look = () => {
        const line = this.lines.find(fits);
        if (line === undefined) return;
        this.#waiting.delete(look);
        resolve(line);
      };
      this.#waiting.add(look);
      this.exited.then(() => {
        look();
        reject(new Error(`process ${this.pid} has ended`));
      });
      look();
    });
  }

  /** Asks a process to do something. */
  tell(command) {
    this.#child.stdin.write(`${JSON.stringify(command)}\n`);
  }

  async kill(signal = "SIGKILL") {
    if (this.#child.exitCode === null && this.#child.signalCode === null) this.#child.kill(signal);
    await this.exited;
  }
}

/** Notes which calls pass through the JavaScript registry. */
export function watch(registry) {
  const seen = [];
  for (const method of ["execute", "openSubscription"]) {
    const original = registry[method];
    registry[method] = function (id, ...rest) {
      seen.push(id);
      return original.call(this, id, ...rest);
    };
  }
  return seen;
}
