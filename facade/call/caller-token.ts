// The token of a served call, for sources that trade it for one of their own. A context carries it, and so do copies of it, so that what a
// handler calls has it too. It is in no text that is made of a context.

import type { OperationContext } from "../types.js";

const TOKEN = Symbol("@alkdev/operations: the token of the caller");

class CallerToken {
  readonly #text: string;

  constructor(text: string) {
    this.#text = text;
  }

  get text(): string {
    return this.#text;
  }
}

interface WithToken {
  [TOKEN]?: CallerToken;
}

export function setCallerToken(context: OperationContext, text: string | undefined): void {
  if (text !== undefined) (context as WithToken)[TOKEN] = new CallerToken(text);
}

export function callerTokenIn(context: OperationContext | undefined): string | undefined {
  return (context as WithToken | undefined)?.[TOKEN]?.text;
}
