// A server that takes every request, and the comparison of what it got with what it had to get.

import { createServer } from "node:http";
import { isDeepStrictEqual } from "node:util";
import { formPairs, multipartParts } from "./expected-request.mjs";

/** Starts the server: `take(key)` is the request that had this `x-case` header. Every answer is 204. */
export async function receiver() {
  const requests = new Map();
  const server = createServer({ maxHeaderSize: 1 << 20 }, async (request, response) => {
    const chunks = [];
    for await (const chunk of request) chunks.push(chunk);
    const { method, url, headers, rawHeaders } = request;
    requests.set(headers["x-case"], { method, url, headers, rawHeaders, body: Buffer.concat(chunks) });
    response.writeHead(204).end();
  });
  // A connection that is closed while it is being used again would be a failure of neither side.
  server.keepAliveTimeout = 0;
  await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    baseUrl: `http://127.0.0.1:${server.address().port}`,
    take(key) {
      const request = requests.get(key);
      requests.delete(key);
      return request;
    },
    close() {
      server.close();
      server.closeAllConnections();
    },
  };
}

/** What differs between the request that was to be made and the one that was, in words. */
export function differences(expected, received) {
  const found = [];
  const compare = (what, actual, wanted) => {
    if (!isDeepStrictEqual(actual, wanted)) {
      found.push(`${what}: expected ${short(wanted)}, got ${short(actual)}`);
    }
  };
  const url = new URL(`http://host${received.url}`);
  compare("method", received.method, expected.method);
  compare("path", url.pathname, new URL(`http://host${expected.path}`).pathname);
  compare("query", sorted(queryPairs(url)), sorted(expected.query));
  for (const [name, value] of Object.entries(expected.headers)) {
    // Node reads headers as Latin-1, which is how they are sent.
    compare(`header ${name}`, headerOf(received, name), value.trim());
  }
  // A document may describe the whole header, too.
  if (!expected.hasCookieHeader)
    compare(
      "cookies",
      sorted(cookiePairs(received)),
      sorted(expected.cookies.map(([name, value]) => [name, value])),
    );
  found.push(...bodyDifferences(expected.body, received));
  return found;
}

/** Percent-encoding undone, and nothing else: a plus sign in a query of ours is one. */
const queryPairs = (url) =>
  url.search === ""
    ? []
    : url.search
        .slice(1)
        .split("&")
        .map((pair) => {
          const at = pair.indexOf("=");
          const decode = (text) => decodeURIComponent(text);
          return at < 0 ? [decode(pair), ""] : [decode(pair.slice(0, at)), decode(pair.slice(at + 1))];
        });

const headerOf = ({ rawHeaders }, name) => {
  const found = [];
  for (let index = 0; index < rawHeaders.length; index += 2) {
    if (rawHeaders[index].toLowerCase() === name) found.push(rawHeaders[index + 1]);
  }
  return found.join(", ");
};

const cookiePairs = ({ headers }) =>
  headers.cookie === undefined
    ? []
    : headers.cookie.split("; ").map((pair) => {
        const at = pair.indexOf("=");
        return [pair.slice(0, at), decodeURIComponent(pair.slice(at + 1))];
      });

const sorted = (pairs) =>
  [...pairs].sort((left, right) => (JSON.stringify(left) < JSON.stringify(right) ? -1 : 1));

function short(value) {
  const text = JSON.stringify(value) ?? String(value);
  return text.length > 300 ? `${text.slice(0, 300)}...` : text;
}

function bodyDifferences(expected, { headers, body }) {
  const type = headers["content-type"];
  if (expected === undefined) {
    const none = [];
    if (body.length > 0) none.push(`body: expected none, got ${body.length} bytes`);
    if (type !== undefined) none.push(`content-type: expected none, got ${type}`);
    return none;
  }
  const { value, encoding } = expected;
  const essence = (text) => text?.split(";")[0].trim().toLowerCase();
  const found = [];
  if (/^[^*]+$/.test(expected.type) && essence(type) !== essence(expected.type)) {
    found.push(`content-type: expected ${expected.type}, got ${type}`);
  }
  const [wanted, actual] = contents(essence(type), type, body, value, encoding);
  if (!isDeepStrictEqual(actual, wanted)) found.push(`body: expected ${short(wanted)}, got ${short(actual)}`);
  return found;
}

/** The content that was to come and the one that came, read by the type. */
function contents(essence, type, body, value, encoding) {
  const text = body.toString();
  if (value instanceof Uint8Array) return [Buffer.from(value), body];
  if (/json$/.test(essence)) return [JSON.parse(JSON.stringify(value)), JSON.parse(text)];
  if (essence === "application/x-www-form-urlencoded" && typeof value === "object") {
    return [sorted(formPairs(value, encoding)), sorted([...new URLSearchParams(text)])];
  }
  if (essence?.startsWith("multipart/")) {
    const plain = (parts) =>
      sorted(parts.map(([name, content]) => [name, Buffer.from(content).toString("latin1")]));
    return [plain(multipartParts(value, encoding)), plain(readMultipart(body, type))];
  }
  return [typeof value === "object" ? JSON.stringify(value) : String(value), text];
}

function readMultipart(body, type) {
  const boundary = /boundary="?([^";]+)"?/.exec(type)[1];
  const text = body.toString("latin1");
  return text
    .split(`--${boundary}`)
    .slice(1, -1)
    .map((part) => {
      const end = part.indexOf("\r\n\r\n");
      const [, name] = /name="((?:[^"])*)"/.exec(part.slice(0, end));
      const utf8 = Buffer.from(name, "latin1").toString();
      const decoded = utf8.replace(/%22|%0D|%0A/g, (code) => decodeURIComponent(code));
      return [decoded, Buffer.from(part.slice(end + 4, -2), "latin1")];
    });
}
