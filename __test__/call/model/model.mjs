// The rules of the protocol in their plainest form: a list of requests, gone through at each step. Slow, and short
// enough to be read against the contract.

export class Model {
  #requests = [];
  #maxWaiting;

  constructor(maxWaiting) {
    this.#maxWaiting = maxWaiting;
  }

  #find(id) {
    return this.#requests.find((request) => request.id === id);
  }

  #take(id) {
    const request = this.#find(id);
    this.#requests = this.#requests.filter((each) => each !== request);
    return request;
  }

  count() {
    return this.#requests.length;
  }

  /** The requests that have no final answer. */
  ids() {
    return this.#requests.map(({ id }) => id);
  }

  open(now, id, operationId, parent, isStream, limit) {
    if (!isStream && limit <= now) return [["fail", id, ...timedOut(operationId, limit, "before it began")]];
    this.#requests.push({ id, operationId, parent, isStream, limit, heard: now, waiting: 0, asking: 0 });
    return [];
  }

  ask(_now, id) {
    const request = this.#find(id);
    if (request?.waiting > 0) request.waiting -= 1;
    else if (request !== undefined) request.asking += 1;
    return [];
  }

  answer(now, id, event) {
    const request = this.#find(id);
    if (event === "aborted") return this.#abortTree(id);
    if (request === undefined) return [];
    if (event === "completed" && request.isStream) return this.#end(id);
    if (event === "completed") {
      this.#take(id);
      return [["fail", id, ...withoutResponse(request.operationId)]];
    }
    if (event !== "responded") {
      this.#take(id);
      return [["fail", id, ...(event === "malformed" ? malformed(id) : ["FAILED", event, null])]];
    }
    if (!request.isStream) {
      this.#take(id);
      return [["resolve", id]];
    }
    request.heard = now;
    if (request.asking > 0) request.asking -= 1;
    else if (request.waiting < this.#maxWaiting) request.waiting += 1;
    else return this.#giveUp(id, tooSlow(request.operationId, this.#maxWaiting));
    return [["deliver", id]];
  }

  abort(id) {
    return [["abort", id], ...this.#abortTree(id)];
  }

  cancel(id) {
    const request = this.#find(id);
    return request === undefined ? [] : this.#giveUp(id, aborted(request.operationId));
  }

  leave(id) {
    return this.#take(id) === undefined ? [] : this.abort(id);
  }

  #due({ isStream, limit, heard }) {
    if (limit === undefined) return Number.POSITIVE_INFINITY;
    return isStream ? heard + limit : limit;
  }

  nextDue() {
    const due = Math.min(...this.#requests.map((request) => this.#due(request)));
    return due === Number.POSITIVE_INFINITY ? null : due;
  }

  tick(now) {
    const request = this.#requests.find((each) => this.#due(each) <= now);
    if (request === undefined) return [];
    const { id, operationId, isStream, limit, heard } = request;
    const error = isStream
      ? silent(operationId, limit)
      : timedOut(operationId, limit, `after ${Math.round(now - heard)} ms`);
    return this.#giveUp(id, error);
  }

  /** Without an answer a call was aborted, and a stream is over. */
  #end(id) {
    const request = this.#take(id);
    if (request === undefined) return [];
    return [request.isStream ? ["end", id] : ["fail", id, ...aborted(request.operationId)]];
  }

  #giveUp(id, error) {
    this.#take(id);
    return [["fail", id, ...error], ...this.abort(id)];
  }

  #abortTree(id) {
    const effects = this.#end(id);
    const children = this.#requests.filter(({ parent }) => parent === id);
    for (const child of children) if (this.#find(child.id) === child) effects.push(...this.abort(child.id));
    return effects;
  }
}

const aborted = (operationId) => ["ABORTED", `The call of ${operationId} was aborted`, { operationId }];
const withoutResponse = (operationId) => [
  "ABORTED",
  `The call of ${operationId} completed without response`,
  { operationId },
];
const timedOut = (operationId, deadline, when) => [
  "TIMEOUT",
  `The call of ${operationId} timed out ${when}: its deadline was ${deadline}`,
  { deadline },
];
const silent = (operationId, idleTimeout) => [
  "TIMEOUT",
  `The subscription to ${operationId} timed out: nothing arrived for ${idleTimeout} ms`,
  { idleTimeout },
];
const tooSlow = (operationId, maxWaitingEvents) => [
  "EXECUTION_ERROR",
  `The subscription to ${operationId} was ended: ${maxWaitingEvents} events wait for a consumer that is too slow. Read faster, or raise maxWaitingEvents`,
  { maxWaitingEvents },
];
const malformed = (requestId) => [
  "EXECUTION_ERROR",
  `The answer to request ${requestId} is not a ResponseEnvelope: the other side does not follow the call protocol`,
  { requestId },
];
