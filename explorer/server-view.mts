// How the server is doing, and who is connected.

import { fill, h } from "./dom.mjs";
import type { Status } from "./server.mjs";
import { countText, visible } from "./text.mjs";

const COUNTS: readonly (readonly [name: string, label: string])[] = [
  ["connections", "open connections"],
  ["running", "requests being answered"],
  ["waiting", "calls that wait for a place"],
  ["requests", "requests so far"],
  ["refused", "refused (4XX)"],
  ["failed", "failed (5XX)"],
];

export class ServerView {
  readonly element: HTMLElement;
  readonly heading = h("h1", { tabindex: "-1" }, "Server");
  readonly #place = h("div", {});

  constructor() {
    this.element = h(
      "article",
      { class: "operation" },
      h("header", { class: "operation-head" }, this.heading),
      this.#place,
    );
  }

  show(status: Status | undefined): void {
    if (status === undefined) {
      fill(this.#place, h("p", { class: "empty" }, "The server does not answer."));
      return;
    }
    const { stats, caller, sources = [] } = status;
    fill(
      this.#place,
      h(
        "p",
        { class: "description" },
        caller === null ? "You call it anonymously." : `You call it as ${visible(caller)}.`,
      ),
      h(
        "dl",
        { class: "counts" },
        COUNTS.filter(([name]) => stats?.[name] !== undefined).map(([name, label]) =>
          h("div", { class: "card count" }, h("dt", {}, label), h("dd", {}, countText(stats?.[name] ?? 0))),
        ),
      ),
      sources.length === 0
        ? []
        : h(
            "ul",
            { class: "sources", "aria-label": "Servers that operations come from" },
            sources.map(({ kind, name, state, isUsable }) =>
              h(
                "li",
                { class: isUsable ? "" : "bad" },
                `${visible(name)} (${visible(kind)}): ${visible(state)}`,
              ),
            ),
          ),
    );
  }
}
