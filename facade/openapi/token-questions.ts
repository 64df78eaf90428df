// What native code needs from the program for its tokens: the token store, and a page shown to the user.

import { Inbox } from "../interop/inbox.js";
import { messageOf } from "../interop/text.js";
import type { HttpService } from "../native-binding.js";
import type { HTTPOAuth } from "./config.js";

interface Question {
  readonly kind: "authorize" | "loadTokens" | "saveTokens" | "clearTokens";
  // biome-ignore lint/suspicious/noExplicitAny: JSON from the native side, in the shape that the callback declares
  readonly question: any;
}

/** Takes questions, and answers them through the service that `serviceOf` returns. */
export function tokenQuestions(oauth: HTTPOAuth, serviceOf: () => HttpService): Inbox {
  return new Inbox({
    asked(id: number, question: Question) {
      answerTo(oauth, question).then(
        (answer) => serviceOf().answer(id, JSON.stringify(answer ?? null)),
        (error) => serviceOf().answer(id, undefined, messageOf(error)),
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
    case "clearTokens":
      return tokenStore?.clear();
    case "authorize":
      if (onAuthorize === undefined) throw new Error("needs a login, and there is no `onAuthorize`");
      return onAuthorize(question);
  }
}
