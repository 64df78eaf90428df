// Runs a history on a call map whose other side is at the end of a WebSocket, and tells what its callers, its consumers and the
// other side see. The test is the other side: it answers only what the history says.

import { localEnvelope } from "@alkdev/operations";

const OPERATION = "t.op";
/** A call that is answered at once. When its answer is here, so is everything that was sent before it, in both directions. */
const SYNC = "t.sync";
const GARBAGE = [
  "",
  "{",
  "[]",
  '{"type":"call.responded"}',
  '{"type":"call.error","payload":{"requestId":7}}',
];
const TYPES = {
  responded: "call.responded",
  malformed: "call.responded",
  completed: "call.completed",
  aborted: "call.aborted",
};

export class WebSocketSubject {
  #map;
  #socket;
  #number = 0;
  /** Ids of the history, and those that the map gave. */
  #sent = new Map();
  #names = new Map();
  #asked;
  #streams = new Map();
  #controllers = new Map();
  #outcomes = [];
  #published = [];

  /** `socket` is the other side's, of the package `ws`. */
  constructor(map, socket) {
    this.#map = map;
    this.#socket = socket;
    socket.on("message", (data) => this.#heard(JSON.parse(String(data))));
  }

  async run(step) {
    this.#outcomes = [];
    this.#published = [];
    this[step.step](step);
    await this.#map.call(SYNC, null);
    // What was answered to that has arrived with the next one.
    await this.#map.call(SYNC, null);
    // Who waits for a stream is told in the turn after its event has arrived.
    await new Promise(setImmediate);
    const pending = this.#map.getPendingCount();
    return { outcomes: this.#outcomes, published: this.#published, pending };
  }

  #heard({ type, payload }) {
    if (!type.startsWith("call.")) return;
    const { requestId, operationId } = payload;
    if (operationId === SYNC) {
      this.#send("call.responded", { requestId, output: localEnvelope(null, SYNC) });
      return;
    }
    if (type === "call.requested") {
      this.#sent.set(this.#asked, requestId);
      this.#names.set(requestId, this.#asked);
    }
    this.#published.push([type, this.#names.get(requestId) ?? requestId]);
  }

  #send(type, payload) {
    this.#socket.send(JSON.stringify({ type, id: "", payload }));
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
    const parentRequestId = parent === undefined ? undefined : this.#idOf(parent);
    return { signal: controller.signal, ...(parentRequestId !== undefined && { parentRequestId }) };
  }

  call(step) {
    const { id } = step;
    this.#watch(id, this.#map.call(OPERATION, null, this.#options(step)), ({ data }) => ["value", id, data]);
  }

  subscribe(step) {
    this.#streams.set(step.id, this.#map.subscribe(OPERATION, null, this.#options(step)));
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
    if (type === "call.responded") {
      const output = event === "malformed" ? 5 : localEnvelope(this.#number, OPERATION);
      this.#send(type, { requestId, output });
    } else if (type === "call.error") this.#send(type, { requestId, code: "FAILED", message: event });
    else this.#send(type, { requestId });
  }

  abort({ id }) {
    this.#map.abort(this.#idOf(id));
  }

  cancel({ id }) {
    this.#controllers.get(id)?.abort();
  }

  garbage() {
    for (const text of GARBAGE) this.#socket.send(text);
  }
}
