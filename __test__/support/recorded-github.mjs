// GitHub as it was recorded: the requests and responses of `@octokit/fixtures`, replayed by a server on this machine.

import { readFileSync } from "node:fs";
import { createServer } from "node:http";
import { createRequire } from "node:module";
import { isDeepStrictEqual } from "node:util";

const require = createRequire(import.meta.url);
const SCENARIOS = ["labels", "errors", "paginate-issues"];

/** Query parameters have no order. */
function keyOf(method, path) {
  const url = new URL(path, "http://recorded");
  url.searchParams.sort();
  return `${method.toUpperCase()} ${url.pathname}${url.search}`;
}

function recordings() {
  return SCENARIOS.flatMap((name) => {
    const file = require.resolve(
      `@octokit/fixtures/scenarios/api.github.com/${name}/normalized-fixture.json`,
    );
    return JSON.parse(readFileSync(file, "utf8"));
  }).map(({ method, path, body, status, response, headers }) => ({
    // The links to further pages name the repository by its number. By its name, it is the same.
    key: keyOf(method, path.replace("/repositories/1000/", "/repos/octokit-fixture-org/paginate-issues/")),
    body: body || undefined,
    status,
    response,
    headers,
  }));
}

/** Answers what was recorded, and 501 otherwise. */
export async function startRecordedGitHub() {
  const recorded = recordings();
  const server = createServer(async (request, response) => {
    let text = "";
    for await (const chunk of request.setEncoding("utf8")) text += chunk;
    const body = text === "" ? undefined : JSON.parse(text);
    const key = keyOf(request.method, request.url);
    const found = recorded.find((each) => each.key === key && isDeepStrictEqual(each.body, body));
    if (found === undefined || request.headers.authorization === undefined) {
      response.writeHead(501, { "content-type": "application/json" });
      response.end(JSON.stringify({ message: `This was not recorded: ${key} ${text}` }));
      return;
    }
    const { "content-type": type, link } = found.headers;
    response.writeHead(found.status, {
      ...(type !== undefined && { "content-type": type }),
      ...(link !== undefined && { link }),
    });
    response.end(found.response === "" ? undefined : JSON.stringify(found.response));
  });
  await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    url: `http://127.0.0.1:${server.address().port}`,
    stop: () => new Promise((resolve) => server.close(resolve)),
  };
}
