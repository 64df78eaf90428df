// No process is left behind, however it ends; and none is ended that is still needed.

import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { closeMCPClient } from "@alkdev/operations";
import { notOn, onlyOn } from "../support/skips.mjs";
import { startHost } from "./support/hosts.mjs";
import { groupOf, isAlive, startsFile, until, untilDead } from "./support/processes.mjs";
import { connected, failure, stdio } from "./support/servers.mjs";

/** A server with a child and a grandchild, and the file in which they note themselves. */
function family(test, traits = [], more = {}) {
  const starts = startsFile(test);
  return { starts, config: stdio(["family", ...traits], { env: { STARTS_FILE: starts.path }, ...more }) };
}

/** Elsewhere nobody tells who left a group. */
const onlyLinux = onlyOn("linux");

// All at once: most of them wait for something.
describe("processes", { concurrency: true }, () => {
  describe("neither child nor grandchild is alive", { concurrency: true }, () => {
    for (const [how, traits] of Object.entries({
      "a server that ends with its input": [],
      "a server that stays when its input ends": ["ignores-end"],
      "a server that ignores SIGTERM": ["stubborn"],
    })) {
      it(`no child or grandchild is alive after closing ${how}`, async (t) => {
        const { starts, config } = family(t, traits);
        const { wrapper } = await connected(t, config);
        const pids = await starts.family();
        for (const pid of pids) assert.ok(isAlive(pid));
        await closeMCPClient(wrapper);
        for (const pid of pids) assert.equal(isAlive(pid), false, `process ${pid}`);
      });
    }

    for (const [how, traits] of Object.entries({
      "ends with its input": [],
      "ignores SIGTERM": ["stubborn"],
    })) {
      it(`no child or grandchild is alive after closing a server that ${how} and whose children left its group`, {
        skip: onlyLinux,
      }, async (t) => {
        const { starts, config } = family(t, ["runaway", ...traits]);
        const { wrapper } = await connected(t, config);
        const pids = await starts.family();
        assert.equal(new Set(pids.map(groupOf)).size, 3, "three groups");
        await closeMCPClient(wrapper);
        for (const pid of pids) assert.equal(isAlive(pid), false, `process ${pid}`);
      });
    }

    it("no child or grandchild is alive after closing a server that left its group itself and ignores SIGTERM", {
      skip: onlyLinux,
    }, async (t) => {
      const { starts, config } = family(t, ["stubborn"]);
      const { command, args } = config;
      const { wrapper } = await connected(t, { ...config, command: "setsid", args: [command, ...args] });
      const pids = await starts.family();
      assert.equal(
        groupOf(starts.pids("server")[0]),
        starts.pids("server")[0],
        "it leads a group of its own",
      );
      await closeMCPClient(wrapper);
      for (const pid of pids) assert.equal(isAlive(pid), false, `process ${pid}`);
    });

    for (const [how, command] of [
      ["whose children left its group", []],
      ["that left its group itself", ["setsid"]],
    ]) {
      it(`no child or grandchild is alive after SIGKILL of the host of a server ${how}`, {
        skip: onlyLinux,
      }, async (t) => {
        const { starts, config } = family(t, ["stubborn", "runaway"]);
        const [program, ...args] = [...command, config.command, ...config.args];
        const host = startHost(
          t,
          { ...config, command: program, args },
          `await createMCPClient("s", config); console.log("ready"); setInterval(() => {}, 1 << 30);`,
        );
        assert.equal(await host.line(), "ready");
        const pids = await starts.family();
        host.kill("SIGKILL");
        await host.ended;
        await untilDead(pids);
      });
    }

    /** A server with a daemon, whose parent is gone before anything could look for it. */
    async function withDaemon(t, start) {
      const starts = startsFile(t);
      const started = await start(stdio(["daemon"], { env: { STARTS_FILE: starts.path }, reconnect: false }));
      const [pid] = await until(
        () => starts.pids("daemon").length > 0 && starts.pids("daemon"),
        "the daemon",
      );
      return { ...started, pid };
    }

    it("no daemon of a server is alive after closing it", { skip: onlyLinux }, async (t) => {
      const { wrapper, pid } = await withDaemon(t, (config) => connected(t, config));
      assert.ok(isAlive(pid));
      await closeMCPClient(wrapper);
      assert.equal(isAlive(pid), false, `process ${pid}`);
    });

    it("no daemon of a server is alive after the server crashed", { skip: onlyLinux }, async (t) => {
      const { call, pid } = await withDaemon(t, (config) => connected(t, config));
      await failure(call("die"));
      await untilDead([pid]);
    });

    it("no daemon of a server is alive after SIGKILL of the host", { skip: onlyLinux }, async (t) => {
      const { host, pid } = await withDaemon(t, async (config) => {
        const program = `await createMCPClient("s", config); console.log("ready"); setInterval(() => {}, 1 << 30);`;
        const host = startHost(t, config, program);
        assert.equal(await host.line(), "ready");
        return { host };
      });
      host.kill("SIGKILL");
      await host.ended;
      await untilDead([pid]);
    });

    it("a server that shuts down on request is not killed when it is closed", async (t) => {
      const { starts, config } = family(t);
      const { wrapper } = await connected(t, config);
      await starts.family();
      await closeMCPClient(wrapper);
      assert.equal(starts.pids("end").length, 1, "it saw the end of its input");
    });

    it("no child or grandchild is alive after closing a server behind a shell", {
      skip: notOn("win32"),
    }, async (t) => {
      const { starts, config } = family(t, ["stubborn"]);
      // Without the last word a shell would give way to the server, and not stay above it.
      const line = [config.command, ...config.args].map((word) => `'${word}'`).join(" ");
      const { wrapper } = await connected(t, { ...config, command: "sh", args: ["-c", `${line}; true`] });
      const pids = await starts.family();
      assert.ok(!pids.includes(wrapper.getStatus().pid), "the shell is another process");
      await closeMCPClient(wrapper);
      for (const pid of pids) assert.equal(isAlive(pid), false, `process ${pid}`);
    });

    it("no child or grandchild is alive after the server crashed", async (t) => {
      const { starts, config } = family(t, [], { reconnect: false });
      const { call } = await connected(t, config);
      const pids = await starts.family();
      const error = await failure(call("die"));
      assert.equal(error.details.exitCode, 7);
      await untilDead(pids);
    });

    it("no child or grandchild is alive after the server was killed", async (t) => {
      const { starts, config } = family(t);
      const { call } = await connected(t, config);
      const pids = await starts.family();
      const pending = failure(call("never"));
      process.kill(starts.pids("server")[0], "SIGKILL");
      assert.equal((await pending).code, "EXECUTION_ERROR");
      await untilDead(pids);
    });

    it("no child or grandchild is alive after a start that failed", async (t) => {
      const { starts, config } = family(t, ["refuses", "stubborn"]);
      await failure(connected(t, config));
      await untilDead(starts.all());
    });

    for (const signal of ["SIGKILL", "SIGTERM", "SIGINT"]) {
      it(`no child or grandchild is alive after ${signal} of the host`, {
        skip: notOn("win32"),
      }, async (t) => {
        const { starts, config } = family(t, ["stubborn"]);
        const host = startHost(
          t,
          config,
          'await createMCPClient("a", config); console.log("ready"); setInterval(() => {}, 1e6);',
        );
        await host.line();
        const pids = await starts.family();
        host.kill(signal);
        await host.ended;
        await untilDead(pids);
      });
    }

    for (const [how, source] of Object.entries({
      "process.exit": "process.exit(0);",
      "an uncaught exception": 'throw new Error("that was it");',
      "an abort": "process.abort();",
    })) {
      it(`no child or grandchild is alive after ${how} in the host`, async (t) => {
        const { starts, config } = family(t, ["stubborn"]);
        const host = startHost(
          t,
          config,
          `await createMCPClient("a", config); console.log("ready"); for await (const _ of process.stdin) { ${source} }`,
        );
        await host.line();
        const pids = await starts.family();
        host.write("now\n");
        await host.ended;
        await untilDead(pids);
      });
    }

    it("no child or grandchild is alive after the host was killed while the server started", async (t) => {
      const { starts, config } = family(t, ["silent", "stubborn"]);
      const host = startHost(t, config, 'createMCPClient("a", config); setInterval(() => {}, 1e6);');
      const pids = await starts.family();
      host.kill("SIGKILL");
      await host.ended;
      await untilDead(pids);
    });
  });

  describe("the host", { concurrency: true }, () => {
    it("the host ends by itself after closeMCPClient, and prints nothing", async (t) => {
      const { config } = family(t);
      const host = startHost(
        t,
        config,
        `const wrapper = await createMCPClient("a", config);
       await wrapper.tools.find(({ name }) => name === "echo").handler({ text: "x" }, {});
       await closeMCPClient(wrapper);`,
      );
      assert.deepEqual(await host.ended, { code: 0, signal: null, stderr: "" });
    });

    it("the host ends by itself after closeAll", async (t) => {
      const { config } = family(t);
      const host = startHost(
        t,
        { a: config, b: config },
        "const loader = new MCPClientLoader(); await loader.load(config); await loader.closeAll();",
      );
      assert.deepEqual(await host.ended, { code: 0, signal: null, stderr: "" });
    });

    it("the host ends by itself after a connection that failed", async (t) => {
      const host = startHost(t, stdio(["crash"]), 'await createMCPClient("a", config).catch(() => {});');
      assert.deepEqual(await host.ended, { code: 0, signal: null, stderr: "" });
    });

    it("the host stays alive while a call runs, and gets its result", async (t) => {
      const host = startHost(
        t,
        stdio(),
        `const wrapper = await createMCPClient("a", config);
       const { data } = await wrapper.tools.find(({ name }) => name === "wait").handler({ steps: 5, pause: 100 }, {});
       console.log(data[0].text);
       await closeMCPClient(wrapper);`,
      );
      assert.equal(await host.line(), "done after 5");
      assert.equal((await host.ended).code, 0);
    });
  });

  describe("a server that is still needed", { concurrency: true }, () => {
    it("a server in use responds after 12 seconds of silence", async (t) => {
      const { ask } = await connected(t, stdio());
      const { pid } = await ask("about-me");
      await new Promise((resolve) => setTimeout(resolve, 12_000));
      assert.equal((await ask("about-me")).pid, pid);
    });

    it("a server has a process group of its own, so that Ctrl-C in the terminal is ours alone", {
      skip: notOn("win32"),
    }, async (t) => {
      const { ask } = await connected(t, stdio());
      const { pid } = await ask("about-me");
      assert.notEqual(groupOf(pid), groupOf(process.pid));
    });
  });

  it("a hundred clients opened and closed leave nothing", async (t) => {
    const starts = startsFile(t);
    const config = stdio([], { env: { STARTS_FILE: starts.path } });
    for (let round = 0; round < 10; round++) {
      const clients = await Promise.all(Array.from({ length: 10 }, () => connected(t, config)));
      await Promise.all(clients.map(({ wrapper }) => closeMCPClient(wrapper)));
    }
    assert.equal(starts.pids("server").length, 100);
    await until(() => starts.all().every((pid) => !isAlive(pid)));
  });
});
