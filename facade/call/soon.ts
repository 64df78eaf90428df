import { onNextTurn } from "../border/host.js";

/** Does something once the event loop comes round, however often it is asked to before. Requests that follow each other
 * closely would otherwise start and stop listening for each. */
export function soon(work: () => void): () => void {
  let isScheduled = false;
  const run = () => {
    isScheduled = false;
    work();
  };
  return () => {
    if (isScheduled) return;
    isScheduled = true;
    onNextTurn(run);
  };
}
