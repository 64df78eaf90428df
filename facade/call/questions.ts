// Questions about the other end of a wire, and their answers: frames of type `hub.*` that belong together by an id.

import { newId } from "../border/host.js";
import { isRecord, isString } from "../border/options.js";
import { callAt } from "../border/timer.js";
import { CallError, failed } from "../errors.js";

/** How long the other end may take to answer. */
const PATIENCE = 30_000;

interface Question {
  readonly parts: unknown[];
  readonly answered: (operations: unknown[]) => void;
  readonly failed: (error: CallError) => void;
}

/** What was asked and is not answered yet. */
export class Questions {
  readonly #open = new Map<string, Question>();

  /** Asks for a list. `send` is given the id of the question. */
  ask(send: (id: string) => void): Promise<unknown[]> {
    const id = newId();
    return new Promise<unknown[]>((resolve, reject) => {
      const cancel = callAt(Date.now() + PATIENCE, () => this.failed(id, unanswered(SILENT)), true);
      const settle = () => {
        cancel();
        this.#open.delete(id);
      };
      this.#open.set(id, {
        parts: [],
        answered: (operations) => {
          settle();
          resolve(operations);
        },
        failed: (error) => {
          settle();
          reject(error);
        },
      });
      try {
        send(id);
      } catch (error) {
        this.failed(id, error as CallError);
      }
    });
  }

  /** A part of a list that was asked for. */
  listed(id: string, payload: unknown): void {
    const question = this.#open.get(id);
    if (question === undefined || !isRecord(payload) || !Array.isArray(payload.operations)) return;
    for (const operation of payload.operations) question.parts.push(operation);
    if (payload.more !== true) question.answered(question.parts);
  }

  failed(id: string, error: CallError): void {
    this.#open.get(id)?.failed(error);
  }

  /** Nobody is there to answer. */
  end(why: string): void {
    for (const question of [...this.#open.values()]) question.failed(unanswered(why));
  }
}

const SILENT = "the other side says nothing. It may not know this question";

export function unanswered(why: string): CallError {
  return failed(`The question what is served there has no answer: ${why}`, {
    reason: "peer-lost",
    delivery: "unknown",
  });
}

/** The error in a frame of type `hub.error`. */
export function errorIn(payload: unknown): CallError {
  if (!isRecord(payload) || !isString(payload.code) || !isString(payload.message)) {
    return unanswered("the other side refuses it, and does not say why");
  }
  return new CallError(payload.code, payload.message, payload.details);
}
