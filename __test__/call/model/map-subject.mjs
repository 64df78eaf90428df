// Runs a history on a `PendingRequestMap`, and tells what its callers, its consumers and its bus see.

import { localEnvelope, PendingRequestMap } from "@alkdev/operations";

const OPERATION = "t.op";
const TYPES = {
  responded: "call.responded",
  malformed: "call.responded",
  completed: "call.completed",
  aborted: "call.aborted",
};

/** Records what the map publishes, and counts who listens. */
class RecordingTarget extends EventTarget {
  listeners = 0;
  recorder;

  addEventListener(...args) {
    this.listeners += 1;
    super.addEventListener(...args);
  }

  removeEventListener(...args) {
    this.listeners -= 1;
    super.removeEventListener(...args);
  }

  dispatchEvent(event) {
    this.recorder(event.type, event.detail.payload);
    return super.dispatchEvent(event);
  }

  /** An event from the other side. */
  inject(type, payload) {
    super.dispatchEvent(new CustomEvent(type, { detail: payload }));
  }
}

export class MapSubject {
  #clock;
  #target;
  #map;
  #number = 0;
  /** Ids of the history, and those that the map gave. */
  #sent = new Map();
  #names = new Map();
  #asked;
  #streams = new Map();
  #controllers = new Map();
  #outcomes = [];
  #published = [];
  #isInjecting = false;

  constructor(clock, maxWaitingEvents, { isLocal }) {
    this.#clock = clock;
    this.#target = isLocal ? undefined : new RecordingTarget();
    this.#map = new PendingRequestMap(this.#target, { maxWaitingEvents });
    if (isLocal) {
      for (const type of [
        "call.requested",
        "call.responded",
        "call.completed",
        "call.aborted",
        "call.error",
      ]) {
        this.#map[type].subscribe((payload) => this.#record(type, payload));
      }
    } else {
      this.#target.recorder = (type, payload) => this.#record(type, payload);
    }
  }

  async run(step) {
    this.#outcomes = [];
    this.#published = [];
    this[step.step](step);
    await new Promise(setImmediate);
    return { outcomes: this.#outcomes, published: this.#published, pending: this.#map.getPendingCount() };
  }

  /** What is still held, when everything is over. */
  get held() {
    return { timers: this.#clock.timers, listeners: this.#target?.listeners ?? 0 };
  }

  #record(type, { requestId }) {
    // On the local bus the other side's events pass here too. They are not what the map has to say.
    if (this.#isInjecting) {
      this.#isInjecting = false;
      return;
    }
    if (type === "call.requested") {
      this.#sent.set(this.#asked, requestId);
      this.#names.set(requestId, this.#asked);
    }
    this.#published.push([type, this.#names.get(requestId) ?? requestId]);
  }

  #idOf(name) {
    return this.#sent.get(name) ?? name;
  }

  #watch(id, promise, read) {
    promise.then(
      (value) => this.#outcomes.push(read(value)),
      ({ code, message, details = null }) => {
        let text = JSON.stringify([code, message, details]);
        for (const [sent, name] of this.#names) text = text.replaceAll(sent, name);
        this.#outcomes.push(["error", id, ...JSON.parse(text)]);
      },
    );
  }

  #options({ id, parent, isAborted }) {
    const controller = new AbortController();
    if (isAborted) controller.abort();
    this.#controllers.set(id, controller);
    this.#asked = id;
    return {
      signal: controller.signal,
      parentRequestId: parent === undefined ? undefined : this.#idOf(parent),
    };
  }

  call(step) {
    const { id, limit } = step;
    const deadline = limit === undefined ? undefined : this.#clock.now + limit;
    const call = this.#map.call(OPERATION, null, { ...this.#options(step), deadline });
    this.#watch(id, call, ({ data }) => ["value", id, data]);
  }

  subscribe(step) {
    const { id, limit } = step;
    const options = { ...this.#options(step), idleTimeout: limit };
    this.#streams.set(id, this.#map.subscribe(OPERATION, null, options));
    this.next(step);
  }

  next({ id }) {
    this.#watch(id, this.#streams.get(id).next(), ({ done, value }) =>
      done ? ["done", id] : ["value", id, value.data],
    );
  }

  leave({ id }) {
    void this.#streams.get(id).return();
  }

  answer({ id, event }) {
    this.#number += 1;
    const requestId = this.#idOf(id);
    const type = TYPES[event] ?? "call.error";
    const payload = {
      "call.responded": {
        requestId,
        output: event === "malformed" ? 5 : localEnvelope(this.#number, OPERATION),
      },
      "call.error": { requestId, code: "FAILED", message: event },
    }[type] ?? { requestId };
    if (this.#target !== undefined) {
      this.#target.inject(type, payload);
      return;
    }
    // A map without a target refuses to send what is no envelope; there the malformed answer is an error of ours.
    this.#isInjecting = true;
    if (type === "call.error") this.#map.emitError(requestId, payload.code, payload.message);
    else if (type === "call.responded") this.#map.respond(requestId, payload.output);
    else if (type === "call.completed") this.#map.complete(requestId);
    else this.#map.abort(requestId);
  }

  abort({ id }) {
    this.#map.abort(this.#idOf(id));
  }

  cancel({ id }) {
    this.#controllers.get(id)?.abort();
  }

  garbage() {
    for (const detail of [undefined, null, 7, "x", {}, { requestId: 7 }, { payload: {} }]) {
      for (const type of ["call.responded", "call.error", "call.aborted"]) this.#target?.inject(type, detail);
    }
  }

  advance({ duration }) {
    this.#clock.advance(duration);
  }
}
