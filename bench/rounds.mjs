// Contestants in processes of their own, measured in turns.

import { fork } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import { median } from "./support.mjs";

export const option = (name, usual) =>
  Number(process.argv.find((argument) => argument.startsWith(`--${name}=`))?.split("=")[1] ?? usual);

/** Starts a contestant. `measure` sends it one task and waits for the result. */
export async function contestant(file, ...args) {
  const child = fork(fileURLToPath(new URL(file, import.meta.url)), args, { execArgv: ["--expose-gc"] });
  const [ready] = await once(child, "message");
  return {
    ready,
    async measure(task) {
      child.send(task);
      const [result] = await once(child, "message");
      if (result.error !== undefined) throw new Error(result.error);
      return result;
    },
    stop: () => child.disconnect(),
  };
}

/** The contestant's side: answers each task with what `work` returns. */
export function answer(work, ready = {}) {
  process.on("message", async (task) => {
    try {
      process.send(await work(task));
    } catch (error) {
      process.send({ error: String(error?.stack ?? error) });
    }
  });
  process.on("disconnect", () => process.exit());
  process.send(ready);
}

/** The results of each contestant, in turns. The first round warms up. */
export async function inTurns(contestants, rounds, task) {
  const results = Object.fromEntries(Object.keys(contestants).map((name) => [name, []]));
  for (let round = -1; round < rounds; round++) {
    for (const [name, { measure }] of Object.entries(contestants)) {
      const result = await measure(task);
      if (round >= 0) results[name].push(result);
    }
  }
  return results;
}

/** Medians of a field for two contestants, and how far the ratio of single rounds goes. */
export function compared(results, ours, reference, field) {
  const of = (name) => results[name].map((result) => result[field]);
  const ratios = of(ours).map((figure, round) => figure / of(reference)[round]);
  return {
    ours: median(of(ours)),
    reference: median(of(reference)),
    low: Math.min(...ratios),
    high: Math.max(...ratios),
  };
}
