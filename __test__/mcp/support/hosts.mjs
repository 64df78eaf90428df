// Programs of a user's, in processes of their own: to be ended in all the ways in which programs end.

import { spawn } from "node:child_process";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { defer } from "./defer.mjs";

const folder = fileURLToPath(new URL(".", import.meta.url));

/**
 * Starts a module that has `config` at hand. `line()` resolves with the next line that it prints, `ended`
 * with its exit code, signal and what it wrote to standard error.
 */
export function startHost(test, config, source) {
  const program = `import * as operations from "@alkdev/operations";
    const { createMCPClient, closeMCPClient, MCPClientLoader, OperationRegistry } = operations;
    const config = ${JSON.stringify(config)};
    ${source}`;
  const child = spawn(process.execPath, ["--input-type=module", "--eval", program], {
    cwd: folder,
    stdio: ["pipe", "pipe", "pipe"],
  });
  let stderr = "";
  child.stderr.setEncoding("utf8").on("data", (text) => {
    stderr += text;
  });
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  const ended = new Promise((resolve, reject) => {
    child.once("error", reject);
    child.once("close", (code, signal) => resolve({ code, signal, stderr }));
  });
  defer(test, () => child.exitCode ?? child.signalCode ?? child.kill("SIGKILL"));
  return {
    pid: child.pid,
    ended,
    async line() {
      const { value, done } = await lines.next();
      if (done) throw new Error(`The host ended without a line: ${stderr}`);
      return value;
    },
    write: (text) => child.stdin.write(text),
    kill: (signal) => child.kill(signal),
  };
}
