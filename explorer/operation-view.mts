// An operation: what it is, its input, and what comes of calling it.

import { unreachable } from "./advice.mjs";
import { copyButton, fill, h } from "./dom.mjs";
import { type Actions, failureView } from "./failure-view.mjs";
import { type Draft, InputPanel } from "./input-panel.mjs";
import { jsonTree } from "./json-tree.mjs";
import { resultView } from "./result-view.mjs";
import { sampleView } from "./sample-view.mjs";
import type { Sample } from "./samples.mjs";
import { type Described, Failed, type Server } from "./server.mjs";
import { StreamView } from "./stream-view.mjs";
import { beginning, visible } from "./text.mjs";

const LONG_DESCRIPTION = 700;

export class OperationView {
  readonly element: HTMLElement;
  readonly heading: HTMLHeadingElement;
  readonly #operation: Described;
  readonly #server: Server;
  readonly #actions: Actions;
  readonly #input: InputPanel;
  readonly #result = h("div", { class: "result-place" });
  readonly #call: HTMLButtonElement;
  readonly #samples = h("div", {});
  readonly #said = h("span", { class: "visually-hidden", role: "status" });
  #running: AbortController | undefined;

  constructor(operation: Described, draft: Draft, server: Server, actions: Actions) {
    this.#operation = operation;
    this.#server = server;
    this.#actions = actions;
    this.heading = h(
      "h1",
      { tabindex: "-1" },
      h("span", { class: "muted" }, `${visible(operation.namespace)}.`),
      visible(operation.name),
    );
    this.#input = new InputPanel(draft, () => {
      this.#input.clear();
      if (this.#samples.isConnected) this.#showSamples();
    });
    this.#call = h(
      "button",
      { type: "button", class: "primary", id: "call", onclick: () => this.call() },
      this.#verb,
    );
    fill(this.#result, this.#idle());
    this.element = h(
      "article",
      { class: "operation" },
      this.#head(),
      h(
        "div",
        { class: "work" },
        h(
          "section",
          { class: "card", "aria-labelledby": "input-title" },
          h(
            "div",
            { class: "card-head" },
            h("h2", { id: "input-title" }, "Input"),
            h("span", { class: "spring" }),
            this.#input.modes,
          ),
          this.#input.element,
          h(
            "div",
            { class: "card-foot" },
            this.#call,
            h("span", { class: "hint" }, h("kbd", {}, "Ctrl"), " ", h("kbd", {}, "Enter")),
          ),
        ),
        h(
          "section",
          { class: "card", "aria-labelledby": "result-title" },
          h(
            "div",
            { class: "card-head" },
            h("h2", { id: "result-title" }, this.#isStream ? "Events" : "Result"),
            this.#said,
          ),
          this.#result,
        ),
      ),
      this.#about(),
    );
  }

  /** Calls it, or ends the call that runs. */
  async call(): Promise<void> {
    if (this.#running !== undefined) {
      this.#running.abort();
      return;
    }
    this.#input.clear();
    const input = this.#input.read();
    if (input === undefined) return;
    const running = new AbortController();
    this.#running = running;
    this.#call.textContent = "Stop";
    this.#call.classList.add("stop");
    try {
      if (this.#isStream) await this.#stream(input.body, running.signal);
      else await this.#callOnce(input.body, running.signal);
    } finally {
      this.#running = undefined;
      this.#call.textContent = this.#verb;
      this.#call.classList.remove("stop");
    }
  }

  /** Another operation is shown. A call goes on, and its result is there when this one is shown again; a stream ends. */
  leave(): void {
    if (this.#isStream) this.#running?.abort();
  }

  /** It will not be shown again. */
  close(): void {
    this.#running?.abort();
  }

  get #isQuery(): boolean {
    return this.#operation.type === "query";
  }

  get #isStream(): boolean {
    return this.#operation.type === "subscription";
  }

  get #verb(): string {
    return this.#isStream ? "Subscribe" : "Call";
  }

  async #callOnce(body: string | undefined, signal: AbortSignal): Promise<void> {
    fill(this.#result, h("p", { class: "waiting" }, "Waiting for the response"));
    this.#said.textContent = "Calling";
    try {
      const outcome = await this.#server.call(this.#operation, body, signal);
      if (outcome.failure !== undefined) throw new Failed(outcome.failure);
      fill(this.#result, resultView(outcome, this.#sample(body)));
      this.#said.textContent = `The response has status ${outcome.status}`;
    } catch (error) {
      this.#failed(error, signal);
    }
  }

  async #stream(body: string | undefined, signal: AbortSignal): Promise<void> {
    const view = new StreamView();
    fill(this.#result, view.element);
    this.#said.textContent = "Subscribed";
    try {
      for await (const events of this.#server.stream(this.#operation, body, signal)) {
        const failure = view.add(events);
        if (failure !== undefined) throw new Failed(failure);
      }
      view.end("the stream is over");
      this.#said.textContent = "The stream is over";
    } catch (error) {
      if (signal.aborted) {
        view.end("stopped by you");
        this.#said.textContent = "Stopped";
        return;
      }
      view.end("failed");
      this.#result.prepend(this.#failure(error));
    }
  }

  #failed(error: unknown, signal: AbortSignal): void {
    if (signal.aborted) {
      fill(
        this.#result,
        h(
          "p",
          { class: "hint" },
          `You have stopped the call.${this.#isQuery ? "" : " It may have run all the same."}`,
        ),
      );
      this.#said.textContent = "Stopped";
      return;
    }
    fill(this.#result, this.#failure(error));
    this.#said.textContent = "Failed";
    const errors = error instanceof Failed ? error.failure.errors : [];
    if (errors.length > 0) this.#input.show(errors);
  }

  #failure(error: unknown): HTMLElement {
    const failure = error instanceof Failed ? error.failure : unreachable(error);
    const call = {
      hasToken: this.#server.token !== undefined,
      isQuery: this.#isQuery,
      hasForm: true,
    };
    return failureView(failure, call, { ...this.#actions, again: () => void this.call() });
  }

  #sample(body: string | undefined): Sample {
    const { namespace, name } = this.#operation;
    return {
      namespace,
      name,
      url: this.#server.urlOf(this.#operation).href,
      door: this.#server.door.href,
      body,
      isStream: this.#isStream,
      hasToken: this.#server.token !== undefined,
    };
  }

  #showSamples(): void {
    fill(this.#samples, sampleView(this.#sample(this.#input.current())));
  }

  #idle(): HTMLElement {
    const words = this.#isStream ? "Subscribe to see events as they arrive." : "Call it to see its result.";
    return h("p", { class: "empty" }, words);
  }

  #head(): HTMLElement {
    const { namespace, name, title, description, type, tags, deprecated, isOpen } = this.#operation;
    const isSaid = title === null || title === "" || title === description;
    return h(
      "header",
      { class: "operation-head" },
      h(
        "p",
        { class: "badges" },
        h("span", { class: `badge ${type}` }, type),
        deprecated && h("span", { class: "badge warn" }, "deprecated"),
        !isOpen && h("span", { class: "badge" }, "needs permission"),
        tags.slice(0, 8).map((tag) => h("span", { class: "badge tag" }, visible(beginning(tag, 40)))),
      ),
      h(
        "div",
        { class: "title-line" },
        this.heading,
        copyButton(() => `${namespace}.${name}`, "Copy id"),
      ),
      !isSaid && h("p", { class: "operation-title" }, visible(title ?? "")),
      descriptionView(description),
    );
  }

  #about(): HTMLElement {
    const { input, output, errors, method, path } = this.#operation;
    const section = (label: string, content: () => HTMLElement) => {
      const details = h("details", { class: "card fold" }, h("summary", {}, label));
      details.addEventListener("toggle", () => {
        if (details.open && details.childElementCount === 1) details.append(content());
      });
      return details;
    };
    return h(
      "div",
      { class: "about" },
      section("Schemas", () =>
        h(
          "div",
          { class: "schemas" },
          h("h3", {}, "Input"),
          jsonTree(input),
          h("h3", {}, this.#isStream ? "Each event" : "Output"),
          jsonTree(output),
        ),
      ),
      errors.length > 0 &&
        section(`Errors that it declares (${errors.length})`, () =>
          h(
            "ul",
            { class: "errors" },
            errors.map(({ code, description, httpStatus }) =>
              h(
                "li",
                {},
                h("code", {}, visible(code)),
                httpStatus !== null && ` ${httpStatus}`,
                description && ` ${visible(description)}`,
              ),
            ),
          ),
        ),
      section("Call it from your code", () => {
        this.#showSamples();
        const place = `${method} ${path}`;
        return h(
          "div",
          {},
          this.#samples,
          h("p", { class: "hint" }, "In the OpenAPI document: ", h("code", {}, visible(place))),
        );
      }),
    );
  }
}

function descriptionView(description: string): HTMLElement | undefined {
  const text = visible(description)
    .replaceAll("\\u000a", "\n")
    .replaceAll("\\u000d", "")
    .replaceAll("\\u0009", "\t")
    .trim();
  if (text === "") return undefined;
  const element = h("p", { class: "description" }, beginning(text, LONG_DESCRIPTION));
  if (text.length <= LONG_DESCRIPTION) return element;
  const more = h("button", { type: "button", class: "quiet small" }, "Show all");
  more.addEventListener("click", () => {
    element.textContent = text;
    more.remove();
  });
  return h("div", {}, element, more);
}
