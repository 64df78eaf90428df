// Runs a script in a process of its own and waits for its end.

import { spawn } from "node:child_process";
import { uncounted } from "./own-time.mjs";
import { SLOWNESS } from "./slowness.mjs";

/**
 * `onOutput` is told what the script has printed so far.
 *
 * @returns {Promise<{ code: number | null, signal: string | null, stdout: string, stderr: string }>}
 */
export function runNode(args, { timeout = 30_000, onOutput, ...options } = {}) {
  return new Promise((resolve, reject) => {
    const child = uncounted(() =>
      spawn(process.execPath, args, { stdio: ["ignore", "pipe", "pipe"], ...options }),
    );
    const timer = setTimeout(() => child.kill("SIGKILL"), timeout * SLOWNESS);
    let stdout = "";
    let stderr = "";
    child.stdout.setEncoding("utf8").on("data", (text) => {
      stdout += text;
      onOutput?.(stdout);
    });
    child.stderr.setEncoding("utf8").on("data", (text) => {
      stderr += text;
    });
    child.on("error", reject);
    child.on("close", (code, signal) => {
      clearTimeout(timer);
      resolve({ code, signal, stdout, stderr });
    });
  });
}

/** Runs module source, as `node --input-type=module --eval` does. */
export function runModule(source, options) {
  return runNode(["--input-type=module", "--eval", source], {
    cwd: new URL(".", import.meta.url),
    ...options,
  });
}
