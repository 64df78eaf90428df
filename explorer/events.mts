// Server-sent events, read as they arrive. No DOM: tested without a browser.

/** An event of a stream. */
export interface StreamEvent {
  readonly event: string;
  readonly id: string;
  readonly data: string;
}

/** A text that comes in pieces, as events. */
export class EventReader {
  #rest = "";
  #event = "";
  #id = "";
  #data: string[] = [];
  /** A line feed that follows a carriage return belongs to it, even in the next piece. */
  #afterReturn = false;

  /** The events that a piece completes. */
  read(piece: string): StreamEvent[] {
    const text = this.#afterReturn && piece.startsWith("\n") ? piece.slice(1) : piece;
    if (piece !== "") this.#afterReturn = piece.endsWith("\r");
    const lines = (this.#rest + text).split(/\r\n|\r|\n/);
    this.#rest = lines.pop() ?? "";
    const events: StreamEvent[] = [];
    for (const line of lines) {
      if (line === "") this.#finish(events);
      else this.#take(line);
    }
    return events;
  }

  #take(line: string): void {
    const at = line.indexOf(":");
    const name = at === -1 ? line : line.slice(0, at);
    const value = at === -1 ? "" : line.slice(at + 1).replace(/^ /, "");
    if (name === "event") this.#event = value;
    else if (name === "data") this.#data.push(value);
    else if (name === "id" && !value.includes("\0")) this.#id = value;
  }

  #finish(events: StreamEvent[]): void {
    if (this.#data.length > 0) {
      events.push({ event: this.#event || "message", id: this.#id, data: this.#data.join("\n") });
    }
    this.#event = "";
    this.#data = [];
  }
}
