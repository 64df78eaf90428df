// The examples are documentation, and documentation must run.

import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { describe, it } from "node:test";
import { fileURLToPath } from "node:url";
import { runNode } from "./support/run-node.mjs";

const root = fileURLToPath(new URL("..", import.meta.url));

describe("the tour", () => {
  it("the tour runs to its end and shows each chapter's point", async () => {
    const { code, stdout, stderr } = await runNode(["examples/tour/index.mjs"], { cwd: root });
    assert.deepEqual({ code, stderr }, { code: 0, stderr: "" });
    for (const line of [
      /local {2}tasks\.get +\{ id: 7/,
      /the tool says that it failed/,
      /TASK_NOT_FOUND +TASK_NOT_FOUND: no task 8/,
      /UNKNOWN_ERROR +a string, of all things/,
      /ACCESS_DENIED .*missing required scopes: tasks:write/,
      /ACCESS_DENIED .*identity required/,
      /tasks\.create +\{ id: 1, title: 'Water the plants', done: false \}/,
      /undeclared property is gone +true/,
      /VALIDATION_ERROR +Validation failed for input of operation tasks\.create/,
      /ACCESS_DENIED +Access denied to operation tasks\.clear/,
      /progress +100 %/,
      /cleanup ran +1 time/,
      /reports\.summary +\{ open: 2, first: 'Water the plants' \}/,
      /- \/email: Expected string to match 'email' format/,
      /JSON is unchanged +true/,
      /weather\.now \(south\) +\{ station: 'south', temperature: 21 \}/,
      /TIMEOUT +The call of weather\.never timed out/,
      /pending calls +0/,
      /the hub calls it +\[ .laptop\.read. \]/,
      /over HTTP +\{ path: .\/b., readBy: .ada. \}/,
      /after the spoke has left +\[\]/,
      /shop\.watchArrivals +subscription, GET \/arrivals/,
      /shop\.getPet +\{ id: 1, name: 'Ada' \}/,
      /shop\.addPet +\{ id: 2, name: 'Alan' \}/,
      /shop\.watchArrivals \(arrival 1\) +\{ id: 11, name: 'Edsger' \}/,
      /EXECUTION_ERROR +HTTP 404: Not Found, in shop\.getPet \(GET \/pets\/\{id\} at [^)]+\) \{"reason":"sold out"\}/,
      /notes\.find_notes +Notes that contain a text/,
      /notes\.find_notes +\{ id: 1, text: 'Water the plants', done: false \}/,
      /isError true +There is no note 99/,
      /printing 3\/3 +Post the letter/,
      /TIMEOUT +delivery: unknown/,
      /another process +true/,
      /after closeAll +0 servers/,
      /GET \/api\/tasks\/find +\{ titles: \[ 'Water the plants' \] \}/,
      /401 ACCESS_DENIED +mayHaveRun: false/,
      /400 VALIDATION_ERROR +mayHaveRun: false/,
      /id: 3, data: 1/,
      /tasks\.find +query, GET \/tasks\/find/,
      /tasks\.find, from afar +\{ titles: \[ 'Post the letter' \] \}/,
      /NO_TITLE +A task needs a title/,
      /tools +tasks_find, tasks_add/,
      /the program's value +1/,
      /typeof process +undefined/,
      /PROGRAM_ERROR .*Did you mean tasks\.list\?/,
      /LIMIT_EXCEEDED .*its limit calls is 100/,
      /the run is waiting +tasks\.remove \{"id":1\}/,
      /the run is completed +\{ left: 1 \}/,
      /`npm run hub` starts an agent hub/,
    ]) {
      assert.match(stdout, line);
    }
  });
});

describe("a registry in somebody else's server", () => {
  for (const example of ["hono.mjs", "express.mjs"]) {
    it(`a registry in another server answers in ${example}`, async () => {
      const child = spawn(process.execPath, [`examples/${example}`], {
        cwd: root,
        stdio: ["ignore", "pipe", "inherit"],
      });
      const ended = once(child, "exit");
      try {
        const [line] = await once(child.stdout.setEncoding("utf8"), "data");
        const url = line.trim();
        assert.deepEqual(await (await fetch(url)).json(), { text: "Hello Ada" });
        const { paths } = await (await fetch(new URL("/api/openapi.json", url))).json();
        assert.deepEqual(Object.keys(paths), ["/demo/greet"]);
        const page = await fetch(new URL("/", url));
        assert.match(await page.text(), /^This application/);
      } finally {
        child.kill();
        await ended;
      }
    });
  }
});
