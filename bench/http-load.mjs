// Requests over plain sockets, for benchmarks of servers. A client library needs as much of a processor for a request as the server does,
// and on a machine with few cores that would be what is measured: here a request is bytes that are ready, and an answer is looked at just enough to find
// its status and its end.

import { once } from "node:events";
import { connect } from "node:net";

const HEAD_END = "\r\n\r\n";

/** A POST of JSON, as bytes. */
export function requestOf(url, body, headers = {}) {
  const { host, pathname } = new URL(url);
  const all = {
    host,
    "content-type": "application/json",
    "content-length": Buffer.byteLength(body),
    ...headers,
  };
  const lines = Object.entries(all).map(([name, value]) => `${name}: ${value}`);
  return Buffer.from(`POST ${pathname} HTTP/1.1\r\n${lines.join("\r\n")}${HEAD_END}${body}`);
}

/** Connections to a server, each of which has one request under way at a time. */
export class Load {
  #connections;

  constructor(connections) {
    this.#connections = connections;
  }

  static async open(url, count) {
    const { hostname, port } = new URL(url);
    const opening = Array.from({ length: count }, async () => {
      const socket = connect({ host: hostname, port: Number(port), noDelay: true });
      await once(socket, "connect");
      return new Connection(socket);
    });
    return new Load(await Promise.all(opening));
  }

  /** Sends these requests (`requestOf`), as fast as answers come. Fails if one of them is not 200. */
  async send(requests) {
    const left = requests.values();
    await Promise.all(this.#connections.map((connection) => connection.repeat(() => left.next().value)));
  }

  close() {
    for (const connection of this.#connections) connection.close();
  }
}

class Connection {
  #socket;
  /** What is there of an answer. */
  #text = "";
  #next;
  #ended;

  constructor(socket) {
    this.#socket = socket;
    socket.setEncoding("latin1");
    socket.on("data", (text) => this.#take(text));
    socket.on("error", (error) => this.#ended?.reject(error));
    socket.on("close", () => this.#ended?.reject(new Error("The server has closed a connection")));
  }

  /** Sends what `next` returns, one after the other, until it returns nothing. */
  repeat(next) {
    // A write to a closed socket says nothing, and would be waited for.
    if (this.#socket.destroyed) throw new Error("The server has closed a connection between two rounds");
    this.#next = next;
    return new Promise((resolve, reject) => {
      this.#ended = { resolve, reject };
      this.#send();
    });
  }

  close() {
    this.#ended = undefined;
    this.#socket.destroy();
  }

  #send() {
    const request = this.#next();
    if (request === undefined) this.#ended.resolve();
    else this.#socket.write(request);
  }

  #take(text) {
    this.#text = this.#text === "" ? text : this.#text + text;
    if (!isWhole(this.#text)) return;
    if (!this.#text.startsWith("HTTP/1.1 200 ")) this.#ended.reject(new Error(this.#text));
    this.#text = "";
    this.#send();
  }
}

/** Whether this is a whole answer: up to its length, or to the chunk that says that there are no more. */
function isWhole(text) {
  const end = text.indexOf(HEAD_END);
  if (end === -1) return false;
  const head = text.slice(0, end).toLowerCase();
  const at = head.indexOf("\r\ncontent-length:");
  if (at === -1) return text.endsWith(`0${HEAD_END}`);
  const length = Number.parseInt(head.slice(at + "\r\ncontent-length:".length), 10);
  return text.length >= end + HEAD_END.length + length;
}
