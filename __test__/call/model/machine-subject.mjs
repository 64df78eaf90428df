// Runs a history on a machine that says what is to be done (the model, or the one in Rust), and tells what callers
// and consumers then see.

const OPERATION = "t.op";
const ABORTED = ["ABORTED", `The call of ${OPERATION} was aborted`, { operationId: OPERATION }];

export class MachineSubject {
  #machine;
  #now = 1_000_000;
  #number = 0;
  /** Streams: what has arrived, how many wait for it, and how it ended. */
  #streams = new Map();
  #outcomes = [];
  #published = [];

  constructor(machine) {
    this.#machine = machine;
  }

  run(step) {
    this.#outcomes = [];
    this.#published = [];
    this[step.step](step);
    return { outcomes: this.#outcomes, published: this.#published, pending: this.#machine.count() };
  }

  #apply(told) {
    const effects = typeof told === "string" ? JSON.parse(told) : told;
    for (const [effect, id, ...rest] of effects) {
      const stream = this.#streams.get(id);
      if (effect === "abort") this.#published.push(["call.aborted", id]);
      else if (effect === "resolve") this.#outcomes.push(["value", id, this.#number]);
      else if (effect === "deliver") {
        stream.arrived.push(this.#number);
        this.#settle(id);
      } else if (stream !== undefined) {
        stream.end = effect === "fail" ? ["error", id, ...rest] : ["done", id];
        this.#settle(id);
      } else this.#outcomes.push(["error", id, ...rest]);
    }
    return effects;
  }

  /** Who waits is served, with what has arrived and then with the end, an error being told once. */
  #settle(id) {
    const stream = this.#streams.get(id);
    while (stream.asking > 0 && (stream.arrived.length > 0 || stream.end !== undefined)) {
      stream.asking -= 1;
      if (stream.arrived.length > 0) {
        this.#outcomes.push(["value", id, stream.arrived.shift()]);
      } else {
        this.#outcomes.push(stream.end);
        stream.end = ["done", id];
      }
    }
  }

  #open({ id, parent, limit, isAborted }, isStream) {
    if (isAborted) return this.#apply([["fail", id, ...ABORTED]]);
    const time = limit !== undefined && !isStream ? this.#now + limit : limit;
    const effects = this.#apply(this.#machine.open(this.#now, id, OPERATION, parent, isStream, time));
    if (effects.length === 0) this.#published.push(["call.requested", id]);
  }

  call(step) {
    this.#open(step, false);
  }

  subscribe(step) {
    this.#streams.set(step.id, { arrived: [], asking: 1, end: undefined });
    this.#open(step, true);
    this.#apply(this.#machine.ask(this.#now, step.id));
  }

  next({ id }) {
    this.#streams.get(id).asking += 1;
    this.#apply(this.#machine.ask(this.#now, id));
    this.#settle(id);
  }

  leave({ id }) {
    const stream = this.#streams.get(id);
    stream.arrived = [];
    stream.end = ["done", id];
    this.#settle(id);
    this.#apply(this.#machine.leave(id));
  }

  answer({ id, event }) {
    this.#number += 1;
    this.#apply(this.#machine.answer(this.#now, id, event));
  }

  abort({ id }) {
    this.#apply(this.#machine.abort(id));
  }

  cancel({ id }) {
    this.#apply(this.#machine.cancel(id));
  }

  garbage() {}

  advance({ duration }) {
    const end = this.#now + duration;
    for (;;) {
      const due = this.#machine.nextDue();
      if (due === null || due > end) break;
      this.#now = Math.max(this.#now, due);
      this.#apply(this.#machine.tick(this.#now));
    }
    this.#now = end;
  }
}
