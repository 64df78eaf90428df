// What a hostile server could say: messages that are nearly those of the protocol.

const METHODS = [
  "notifications/progress",
  "notifications/message",
  "notifications/cancelled",
  "notifications/tools/list_changed",
  "notifications/resources/updated",
  "elicitation/create",
  "sampling/createMessage",
  "roots/list",
  "ping",
  "tools/call",
  "initialize",
  "",
];

/** A JSON text, valid or not, and its place in the protocol. `id` is that of the request which is being answered. */
export function hostileMessage(random, id) {
  const below = (end) => random.below(end);
  const oneOf = (list) => random.pick(list);
  const ids = () =>
    oneOf([
      String(id),
      `"${id}"`,
      "null",
      "-1",
      "1.5",
      "1e400",
      "{}",
      "[]",
      '"x"',
      "true",
      String(id + below(5)),
    ]);
  const value = (depth = 0) =>
    oneOf([
      () => "null",
      () => oneOf(["0", "-0", "1e400", "9007199254740993", "true", '"\\ud800"', '"x"']),
      () => "[".repeat(300) + "]".repeat(300),
      () => `"${"x".repeat(below(20_000))}"`,
      () => (depth > 3 ? "[]" : `[${value(depth + 1)},${value(depth + 1)}]`),
      () =>
        depth > 3
          ? "{}"
          : `{"${oneOf(["content", "type", "text", "__proto__", "isError", "resultType", "constructor"])}":${value(depth + 1)}}`,
    ])();
  const member = (name) => `,"${name}":${value()}`;
  const written = oneOf([
    () => `{"jsonrpc":"2.0","id":${ids()},"result":${value()}}`,
    () => `{"jsonrpc":"2.0","id":${ids()},"error":${value()}}`,
    () =>
      `{"jsonrpc":"2.0","id":${ids()},"error":{"code":${value()},"message":${value()},"data":${value()}}}`,
    () => `{"jsonrpc":${value()},"id":${ids()}${member("result")}${member("error")}}`,
    () => `{"jsonrpc":"2.0","method":"${oneOf(METHODS)}","params":${value()}}`,
    () => `{"jsonrpc":"2.0","id":${ids()},"method":"${oneOf(METHODS)}","params":${value()}}`,
    () =>
      `{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":${ids()},"progress":${value()}}}`,
    () =>
      `{"jsonrpc":"2.0","id":${ids()},"result":{"resultType":"input_required","inputRequests":${value()}}}`,
    () => `{"jsonrpc":"2.0","id":${ids()},"result":{"content":[${value()}],"structuredContent":${value()}}}`,
    () => value(),
    () => "",
  ])();
  if (random.chance(0.1)) return written.slice(0, below(written.length + 1));
  if (random.chance(0.1)) return `[${written},${written}]`;
  return written;
}
