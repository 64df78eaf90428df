// How much memory something takes.

/** What `work` resolves to, and by how many bytes the memory of the process had grown at the most. */
export async function memoryWhile(work) {
  globalThis.gc?.();
  const before = process.memoryUsage.rss();
  let most = 0;
  const watch = setInterval(() => {
    most = Math.max(most, process.memoryUsage.rss() - before);
  }, 5);
  try {
    return { result: await work(), most };
  } finally {
    clearInterval(watch);
  }
}

/** Bytes, as a message has them. */
export const mebibytes = (bytes) => `${(bytes / 2 ** 20).toFixed(0)} MiB`;
