// The typed client in a page.

import { CallError, createClient } from "@alkdev/operations/client";

globalThis.callFrom = async (url) => {
  const client = createClient(url, { token: "secret" });
  const failure = (promise) =>
    promise.then(
      () => undefined,
      (error) => error,
    );
  const { data } = await client.page.echo({ text: "\u{1f600}", bytes: Uint8Array.of(0, 255) });
  const events = [];
  for await (const event of client.$subscribe("page.count", {})) {
    events.push(event.data);
    if (event.data === 3) break;
  }
  const denied = await failure(client.page.secret({}));
  const late = await failure(client.page.hang({}, { timeout: 200 }));
  const controller = new AbortController();
  const aborting = failure(client.page.hang({}, { signal: controller.signal }));
  controller.abort();
  return {
    echo: { text: data.text, bytes: [...data.bytes] },
    events,
    denied: [denied.code, denied instanceof CallError],
    late: [late.code, late.details.delivery],
    aborted: (await aborting).code,
    anonymous: (await failure(createClient(url).page.echo({}))).code,
  };
};
