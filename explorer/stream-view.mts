// A stream as it arrives. However many events come, only those in view are on the page.

import { type Failure, failureOf } from "./advice.mjs";
import { fill, h } from "./dom.mjs";
import type { StreamEvent } from "./events.mjs";
import { jsonTree } from "./json-tree.mjs";
import { isRecord } from "./schema-root.mjs";
import { counted, countText, visible } from "./text.mjs";
import { WindowedList } from "./windowed-list.mjs";

/** Events that are kept. The oldest go first, many at a time. */
const MOST = 50_000;
const GOING = 10_000;
const ROW = 28;

interface Kept extends StreamEvent {
  /** When it arrived. */
  readonly at: number;
}

export class StreamView {
  readonly element: HTMLElement;
  readonly #count = h("span", { role: "status" }, "Waiting for events");
  readonly #detail = h("div", { class: "event-detail" });
  readonly #list: WindowedList;
  #events: Kept[] = [];
  #gone = 0;
  #isDrawing = false;
  #state = "live";

  constructor() {
    this.#list = new WindowedList({
      id: "events",
      label: "Events",
      rowHeight: ROW,
      render: (row, index) => this.#row(row, index),
      onpick: (index) => this.#show(index),
    });
    this.#list.element.classList.add("events");
    this.element = h(
      "div",
      { class: "stream" },
      h("p", { class: "result-line" }, this.#count),
      this.#list.element,
      this.#detail,
    );
  }

  /** Takes events that have arrived. Returns the failure that ended the stream, if there was one. */
  add(events: readonly StreamEvent[]): Failure | undefined {
    const at = Date.now();
    let failure: Failure | undefined;
    for (const event of events) {
      if (event.event === "error") failure = failureOf(parsed(event.data), 500);
      else this.#events.push({ ...event, at });
    }
    if (this.#events.length > MOST) {
      this.#events.splice(0, GOING);
      this.#gone += GOING;
      this.#list.update(this.#events.length, { isSame: false });
    }
    this.#drawSoon();
    return failure;
  }

  /** It is over. */
  end(words: string): void {
    this.#state = words;
    this.#drawSoon();
  }

  get #total(): number {
    return this.#gone + this.#events.length;
  }

  /** Once for each frame, however many events there are. */
  #drawSoon(): void {
    if (this.#isDrawing) return;
    this.#isDrawing = true;
    requestAnimationFrame(() => {
      this.#isDrawing = false;
      const gone = this.#gone === 0 ? "" : ` · the first ${countText(this.#gone)} are not kept`;
      if (this.#total > 0 || this.#state !== "live") {
        this.#count.textContent = `${counted(this.#total, "event")} · ${this.#state}${gone}`;
      }
      this.#list.update(this.#events.length, { follow: true });
    });
  }

  #row(row: HTMLElement, index: number): void {
    const event = this.#events[index];
    if (event === undefined) return;
    const time = new Date(event.at).toISOString().slice(11, 23);
    fill(
      row,
      h("span", { class: "event-number" }, countText(this.#gone + index + 1)),
      h("span", { class: "event-time" }, time),
      event.event !== "message" && h("span", { class: "badge" }, visible(event.event)),
      h("span", { class: "event-data" }, visible(dataText(event.data).slice(0, 300))),
    );
  }

  #show(index: number): void {
    const event = this.#events[index];
    if (event === undefined) return;
    const envelope = parsed(event.data);
    fill(
      this.#detail,
      h(
        "p",
        { class: "label" },
        `Event ${countText(this.#gone + index + 1)}${event.id === "" ? "" : ` · id ${visible(event.id)}`}`,
      ),
      jsonTree(envelope),
    );
  }
}

/** The data of an event, without the rest of its envelope, as one line. */
function dataText(text: string): string {
  const envelope = parsed(text);
  if (!isRecord(envelope) || !("data" in envelope)) return text;
  return typeof envelope.data === "string" ? envelope.data : JSON.stringify(envelope.data);
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}
