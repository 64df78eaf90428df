// Random histories: what callers, consumers, the other side and time do, in any order.

/** @param {import("../../schema/support/random.mjs").Random} random */
export function history(random, length) {
  const made = [];
  const streams = [];
  /** Any request, finished or not, or one that nobody has made. */
  const anyone = () => (made.length === 0 || random.chance(0.05) ? "nobody" : random.pick(made));
  /** More often one of the last few: events for the same stream have to come together. */
  const lately = () => (made.length > 0 && random.chance(0.8) ? random.pick(made.slice(-3)) : anyone());
  const someStream = () => (streams.length === 0 ? undefined : random.pick(streams));
  const request = (step) => {
    const id = `r${made.length}`;
    const options = {
      id,
      parent: random.chance(0.5) ? anyone() : undefined,
      isAborted: random.chance(0.03),
      // No two times are the same, so that there is no question of which comes first.
      limit: random.chance(0.6)
        ? random.between(step === "call" ? -2 : 1, 60) + made.length / 1000
        : undefined,
    };
    made.push(id);
    if (step === "subscribe") streams.push(id);
    return { step, ...options };
  };
  const make = {
    call: () => request("call"),
    subscribe: () => request("subscribe"),
    next: () => ({ step: "next", id: someStream() }),
    leave: () => ({ step: "leave", id: someStream() }),
    responded: () => ({ step: "answer", id: lately(), event: "responded" }),
    malformed: () => ({ step: "answer", id: anyone(), event: "malformed" }),
    failed: () => ({ step: "answer", id: anyone(), event: "it failed" }),
    completed: () => ({ step: "answer", id: anyone(), event: "completed" }),
    aborted: () => ({ step: "answer", id: anyone(), event: "aborted" }),
    abort: () => ({ step: "abort", id: anyone() }),
    cancel: () => ({ step: "cancel", id: anyone() }),
    garbage: () => ({ step: "garbage", id: "nobody" }),
    advance: () => ({ step: "advance", duration: random.between(0, 25) }),
  };
  const weights = [
    [10, "call"],
    [8, "subscribe"],
    [12, "next"],
    [2, "leave"],
    [25, "responded"],
    [1, "malformed"],
    [2, "failed"],
    [3, "completed"],
    [2, "aborted"],
    [2, "abort"],
    [2, "cancel"],
    [1, "garbage"],
    [8, "advance"],
  ];
  const steps = [];
  while (steps.length < length) {
    const step = make[random.weighted(weights)]();
    if (step.id !== undefined || step.step === "advance") steps.push(step);
  }
  return steps;
}
