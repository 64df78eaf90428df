// A program in code mode: written, run, watched call by call, and resumed when what it waits for is approved.

import { failureOf, unreachable } from "./advice.mjs";
import { type Child, fill, h } from "./dom.mjs";
import { type Actions, failureView } from "./failure-view.mjs";
import { jsonTree } from "./json-tree.mjs";
import { isRecord } from "./schema-root.mjs";
import type { Listed } from "./search.mjs";
import { Failed, type Server } from "./server.mjs";
import { durationText, visible } from "./text.mjs";

interface Call {
  readonly index: number;
  readonly operationId: string;
  readonly status: "running" | "completed" | "failed" | "waiting";
  readonly code?: string;
  readonly duration?: number;
}

interface Ended {
  readonly id: string;
  readonly status: "completed" | "failed" | "waiting";
  readonly data?: unknown;
  readonly error?: { readonly code: string; readonly message: string; readonly details?: unknown };
  readonly usage: { readonly cpu: number; readonly time: number; readonly calls: number };
  readonly approvals?: readonly {
    readonly id: string;
    readonly operationId: string;
    readonly input?: unknown;
  }[];
}

const BADGES = { running: "", completed: "good", failed: "bad", waiting: "warn" } as const;
const EXAMPLE =
  "// await <namespace>.<name>(input) calls an operation. What is returned is the result.\nreturn Object.keys(operations);";

export class ProgramView {
  readonly element: HTMLElement;
  readonly heading = h("h1", { tabindex: "-1" }, "Program");
  readonly #server: Server;
  readonly #actions: Actions;
  readonly #code = h("textarea", { class: "code", rows: 16, spellcheck: false, "aria-label": "Program" });
  readonly #input = h("textarea", {
    class: "code",
    rows: 2,
    spellcheck: false,
    "aria-label": "Input (JSON)",
  });
  readonly #signatures = h("pre", { class: "code signatures", tabindex: 0, "aria-label": "Signatures" });
  readonly #calls = h("ol", { class: "calls", "aria-label": "Calls" });
  readonly #logs = h("pre", { class: "code", tabindex: 0, "aria-label": "Log", hidden: true });
  readonly #result = h(
    "div",
    { class: "result-place" },
    h("p", { class: "empty" }, "Run it to see its calls."),
  );
  readonly #said = h("span", { class: "visually-hidden", role: "status" });
  readonly #run = h(
    "button",
    { type: "button", class: "primary", id: "call", onclick: () => void this.call() },
    "Run",
  );
  #running: AbortController | undefined;
  #operations: readonly Listed[] = [];

  constructor(server: Server, actions: Actions) {
    this.#server = server;
    this.#actions = actions;
    this.#code.value = EXAMPLE;
    const card = (title: string, ...children: Child[]) =>
      h(
        "section",
        { class: "card", "aria-label": title },
        h("div", { class: "card-head" }, h("h2", {}, title)),
        children,
      );
    const foot = h("div", { class: "card-foot" }, this.#run, h("span", { class: "hint" }, "Ctrl Enter"));
    this.element = h(
      "article",
      { class: "operation" },
      h("header", { class: "operation-head" }, this.heading),
      h(
        "div",
        { class: "work" },
        card("Code", this.#code, h("p", { class: "label" }, "Input (JSON, may be empty)"), this.#input, foot),
        card("What it can call", this.#signatures),
      ),
      card("Run", this.#said, this.#calls, this.#logs, this.#result),
    );
  }

  /** Whether programs can be run here: the server offers it, and the caller may. */
  set(operations: readonly Listed[]): boolean {
    this.#operations = operations.filter(({ namespace }) => namespace === "code");
    return this.#named("watch") !== undefined;
  }

  #named(name: string): Listed | undefined {
    return this.#operations.find((operation) => operation.name === name);
  }

  async open(): Promise<void> {
    this.heading.focus();
    const operation = this.#named("signatures");
    if (operation === undefined) return;
    try {
      const { envelope } = await this.#server.call(operation, "{}", new AbortController().signal);
      this.#signatures.textContent = isRecord(envelope)
        ? visible(String(envelope.data)).replaceAll("\\u000a", "\n")
        : "";
    } catch (error) {
      this.#signatures.textContent = String(error);
    }
  }

  /** Runs it, or ends the run. */
  async call(): Promise<void> {
    if (this.#running !== undefined) return this.#running.abort();
    const text = this.#input.value.trim();
    try {
      const input = text === "" ? {} : { input: JSON.parse(text) };
      fill(this.#calls);
      fill(this.#logs);
      await this.#watch({ code: this.#code.value, ...input });
    } catch (error) {
      fill(this.#result, h("p", { class: "failure-text" }, `The input is not JSON: ${String(error)}`));
    }
  }

  close(): void {
    this.#running?.abort();
  }

  async #watch(request: object): Promise<void> {
    const operation = this.#named("watch");
    if (operation === undefined) return;
    const running = new AbortController();
    this.#running = running;
    this.#run.textContent = "Stop";
    this.#said.textContent = "Running";
    fill(this.#result, h("p", { class: "waiting" }, "Running"));
    try {
      for await (const events of this.#server.stream(operation, JSON.stringify(request), running.signal)) {
        for (const { event, data } of events) {
          const envelope = JSON.parse(data);
          if (event === "error") throw new Failed(failureOf(envelope, 500));
          this.#show(envelope.data);
        }
      }
    } catch (error) {
      const failure = error instanceof Failed ? error.failure : unreachable(error);
      const words = h(
        "p",
        { class: "hint" },
        "You have stopped the run. Calls that were under way may have been made.",
      );
      const view = () =>
        failureView(failure, { hasToken: this.#server.token !== undefined, isQuery: false }, this.#actions);
      fill(this.#result, running.signal.aborted ? words : view());
    } finally {
      this.#running = undefined;
      this.#run.textContent = "Run";
    }
  }

  #show({ call, log, run }: { call?: Call; log?: { level: string; text: string }; run?: Ended }): void {
    if (call !== undefined) this.#showCall(call);
    if (log !== undefined) {
      this.#logs.hidden = false;
      this.#logs.append(`${visible(log.level)}: ${visible(log.text)}\n`);
    }
    if (run !== undefined) this.#showEnd(run);
  }

  #showCall({ index, operationId, status, code, duration }: Call): void {
    let row = this.#calls.querySelector(`[data-index="${Number(index)}"]`);
    if (row === null) {
      row = h("li", { "data-index": Number(index) });
      this.#calls.append(row);
    }
    fill(
      row,
      h("span", { class: `badge ${BADGES[status]}` }, status),
      " ",
      h("code", {}, visible(operationId)),
      code !== undefined && ` ${visible(code)}`,
      duration !== undefined && ` ${durationText(duration)}`,
    );
  }

  #showEnd({ id, status, data, error, usage, approvals = [] }: Ended): void {
    this.#said.textContent = `The run is ${status}`;
    const resume = () => {
      if (this.#running === undefined) void this.#watch({ resume: id });
    };
    fill(
      this.#result,
      h(
        "p",
        { class: "result-line" },
        h("span", { class: `badge ${BADGES[status]}` }, status),
        h("span", {}, `${durationText(usage.time)}, of which it computed ${durationText(usage.cpu)}`),
        h("code", {}, visible(id)),
      ),
      error !== undefined &&
        h("p", { class: "failure-text" }, `${visible(error.code)}: ${visible(error.message)}`),
      error?.details !== undefined && jsonTree(error.details),
      status === "completed" && jsonTree(data ?? null),
      status === "waiting" && [
        h("p", {}, "It waits for approvals, and goes on where it stands:"),
        approvals.map((each) =>
          h(
            "div",
            {},
            h("code", {}, visible(each.operationId)),
            ` (${visible(each.id)})`,
            jsonTree(each.input ?? null),
          ),
        ),
        h("button", { type: "button", class: "primary", id: "resume", onclick: resume }, "Resume"),
      ],
    );
  }
}
