// How the server is doing, and where its operations come from.

import { fill, h } from "./dom.mjs";
import type { Status } from "./server.mjs";
import { beginning, countText, visible } from "./text.mjs";

const COUNTS: readonly (readonly [name: string, label: string])[] = [
  ["connections", "open connections"],
  ["running", "requests being answered"],
  ["waiting", "calls that wait for a permit"],
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
        : [
            h("h2", {}, "Sources"),
            h(
              "ul",
              { class: "sources card", "aria-label": "Where operations come from" },
              sources.map(({ kind, name, state, isUsable }) =>
                h(
                  "li",
                  {},
                  h("span", { class: `dot ${isUsable ? "good" : "bad"}` }),
                  h("strong", {}, visible(beginning(name, 120))),
                  h("span", { class: "muted" }, visible(kind)),
                  h("span", { class: "spring" }),
                  h("span", { class: `badge ${isUsable ? "good" : "bad"}` }, visible(state)),
                ),
              ),
            ),
          ],
    );
  }
}
