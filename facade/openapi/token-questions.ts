// What native code needs from the program for its tokens: the token store, and a page shown to the user.

import { CallError, failed } from "../errors.js";
import { Inbox } from "../interop/inbox.js";
import { messageOf } from "../interop/text.js";
import { logger } from "../logging.js";
import type { HttpService } from "../native-binding.js";
import type { HTTPOAuth } from "./config.js";

const log = logger("openapi");

interface Question {
  readonly kind: "authorize" | "loadTokens" | "saveTokens";
  // biome-ignore lint/suspicious/noExplicitAny: JSON from the native side, in the shape that the callback declares
  readonly question: any;
}

/** Takes questions, and answers them through the service that `serviceOf` returns. */
export function tokenQuestions(oauth: HTTPOAuth, serviceOf: () => HttpService): Inbox {
  return new Inbox({
    asked(id: number, question: Question) {
      answerTo(oauth, question).then(
        (answer) => serviceOf().answer(id, JSON.stringify(answer ?? null)),
        (error) => serviceOf().answer(id, undefined, forCaller(error, question)),
      );
    },
  });
}

async function answerTo(
  { tokenStore, onAuthorize }: HTTPOAuth,
  { kind, question }: Question,
): Promise<unknown> {
  switch (kind) {
    case "loadTokens":
      return tokenStore?.load();
    case "saveTokens":
      return tokenStore?.save(question);
    case "authorize":
      if (onAuthorize === undefined) throw failed("needs a login, and there is no `onAuthorize`");
      return onAuthorize(question);
  }
}

/** An exception of the program's own code may hold a password or a path: its message is for the log, without the tokens. */
function forCaller(error: unknown, { kind, question }: Question): string {
  if (error instanceof CallError) return error.message;
  let message = messageOf(error);
  if (kind === "saveTokens") {
    for (const token of [question.accessToken, question.refreshToken]) {
      if (typeof token === "string") message = message.replaceAll(token, "[secret]");
    }
  }
  log.error(`${kind === "authorize" ? "onAuthorize" : "tokenStore"} failed: ${message}`);
  return "the log of the program says why";
}
