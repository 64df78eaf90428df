// Tasks in Redis: several processes, restarts, a Redis that goes away, and bounds. Each test has a Redis of its own.

import assert from "node:assert/strict";
import { once } from "node:events";
import { connect, createServer } from "node:net";
import { after, describe, it } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { missingBroker, startRedis } from "../support/brokers.mjs";
import { ask, call, get, isOver, job, startTaskServer, until } from "./support/tasks.mjs";
import { deferred, serving } from "./support.mjs";

const as = (token) => ({ headers: { authorization: `Bearer ${token}` } });

async function redisServer(options) {
  const redis = await startRedis(options);
  after(() => redis.stop());
  return redis;
}

const mcp = (operations, tasks, more = {}) =>
  serving(operations, { doors: { mcp: { name: "test", version: "1.2.3", tasks } }, ...more });

async function taskServer(url, more = {}) {
  const server = await startTaskServer({ redis: { url }, poll: 50, ...more });
  after(() => server.kill());
  return server;
}

/** Asks Redis something, in its own words. */
async function redisSays(port, ...words) {
  const socket = connect(port, "127.0.0.1");
  socket.write(`${words.join(" ")}\r\nQUIT\r\n`);
  let said = "";
  socket.setEncoding("utf8").on("data", (text) => {
    said += text;
  });
  await once(socket, "close");
  return said;
}

describe("tasks in Redis", { skip: missingBroker("redis-server") }, () => {
  it("a task's result in Redis outlives its server, and unfinished work is lost", async () => {
    const { url } = await redisServer();
    const first = await taskServer(url);
    const { result: short } = await call(first.url, "x_wait", { ms: 0 });
    const { result: long } = await call(first.url, "x_wait", { ms: 600_000 });
    await until(first.url, short.taskId, isOver);
    const second = await taskServer(url);
    assert.equal((await get(second.url, long.taskId)).status, "working");
    const refused = await ask(second.url, "tasks/cancel", { taskId: long.taskId });
    assert.match(refused.error.message, /Another process/);
    await first.kill();
    const done = await get(second.url, short.taskId);
    assert.equal(done.status, "completed");
    assert.deepEqual(done.result.structuredContent, { waited: 0 });
    const lost = await until(second.url, long.taskId, isOver);
    assert.equal(lost.status, "failed");
    assert.match(lost.error.message, /has ended/);
    const third = await taskServer(url);
    assert.equal((await get(third.url, long.taskId)).status, "failed");
  });

  it("a task in Redis belongs to the caller who began it, at every process", async () => {
    const { url } = await redisServer();
    const [first, second] = await Promise.all([taskServer(url), taskServer(url)]);
    const { result: made } = await call(first.url, "x_wait", { ms: 0 }, as("ada"));
    const done = await until(second.url, made.taskId, isOver, as("ada"));
    assert.deepEqual(done.result.structuredContent, { waited: 0 });
    for (const server of [first, second]) {
      for (const other of [as("bob"), {}]) {
        const { error } = await ask(server.url, "tasks/get", { taskId: made.taskId }, other);
        assert.match(error.message, /Unknown task/);
      }
    }
  });

  it("servers with different names or prefixes do not see each other's tasks in Redis", async () => {
    const { url, port } = await redisServer();
    const operations = [job("quick", () => 1)];
    const first = await mcp(operations, { redis: { url } });
    const second = await mcp(operations, { redis: { url, prefix: "elsewhere:" } });
    const { result: made } = await call(first.url, "x_quick");
    await until(first.url, made.taskId, isOver);
    const { error } = await ask(second.url, "tasks/get", { taskId: made.taskId });
    assert.match(error.message, /Unknown task/);
    assert.match(await redisSays(port, "EXISTS", `operations:tasks:test:task:${made.taskId}`), /:1/);
  });

  it("tasks go on while Redis is down, and their results are stored once it is back", async () => {
    const redis = await redisServer({ args: ["--appendonly", "yes", "--appendfsync", "always"] });
    const go = deferred();
    const served = await mcp(
      [
        job("work", async () => {
          await go.promise;
          return { done: true };
        }),
        job("quick", () => 1),
      ],
      { redis: { url: redis.url }, poll: 50 },
    );
    const { result: made } = await call(served.url, "x_work");
    const { result: other } = await call(served.url, "x_quick");
    await until(served.url, other.taskId, isOver);
    await redis.kill();
    // The process that works on a task knows it. Of the others it says that it cannot tell.
    assert.equal((await get(served.url, made.taskId)).status, "working");
    const { error } = await ask(served.url, "tasks/get", { taskId: other.taskId });
    assert.equal(error.code, -32603);
    assert.match(error.message, /cannot be read at the moment/);
    assert.doesNotMatch(error.message, /127\.0\.0\.1/);
    // A call that need not be a task is a plain call meanwhile.
    const plain = await call(served.url, "x_quick");
    assert.equal(plain.result.structuredContent, 1);
    go.resolve();
    await redis.start();
    const done = await until(served.url, made.taskId, isOver);
    assert.equal(done.status, "completed");
    assert.deepEqual(done.result.structuredContent, { done: true });
  });

  it("a task that runs while Redis loses its data has its result stored, and its caller finds it", async () => {
    const redis = await redisServer();
    const go = deferred();
    const work = job("work", async () => {
      await go.promise;
      return { done: true };
    });
    const served = await mcp([work], { redis: { url: redis.url }, poll: 50 });
    const { result: made } = await call(served.url, "x_work");
    await redis.kill();
    await redis.start();
    assert.equal((await get(served.url, made.taskId)).status, "working");
    go.resolve();
    const done = await until(served.url, made.taskId, isOver);
    assert.deepEqual(done.result.structuredContent, { done: true });
    const other = await taskServer(redis.url);
    assert.equal(await get(other.url, made.taskId), undefined, "of a server with another name");
    const same = await mcp([work], { redis: { url: redis.url }, poll: 50 });
    assert.equal((await get(same.url, made.taskId)).status, "completed");
  });

  it("tasks fail with an error if the Redis address never answers", async () => {
    const sockets = new Set();
    const silent = createServer((socket) => sockets.add(socket)).listen(0, "127.0.0.1");
    await once(silent, "listening");
    after(() => {
      for (const socket of sockets) socket.destroy();
      silent.close();
    });
    const url = `redis://user:s3cret@127.0.0.1:${silent.address().port}`;
    const served = await mcp([job("slow", () => 1, { _meta: { mcp: { task: "required" } } })], {
      redis: { url },
    });
    const { error } = await call(served.url, "x_slow");
    assert.match(error.message, /cannot be stored at the moment/);
    assert.doesNotMatch(JSON.stringify(error), /s3cret/);
    // It is the same as for a request that is given up: nothing hangs.
    const unknown = "00000000-0000-4000-8000-000000000000";
    const { error: unread } = await ask(served.url, "tasks/get", { taskId: unknown });
    assert.match(unread.message, /cannot be read at the moment/);
  });

  it("tasks in Redis expire, and leave nothing behind", async () => {
    const { url, port } = await redisServer();
    const served = await mcp([job("quick", () => 1)], { redis: { url }, keep: 2_000, poll: 50 });
    const { result: made } = await call(served.url, "x_quick");
    const done = await until(served.url, made.taskId, (task) => isOver(task));
    assert.equal(done.ttlMs, 2_000);
    await until(served.url, made.taskId, (task) => task === undefined);
    // All that is left is that this process is there.
    for (;;) {
      const keys = (await redisSays(port, "KEYS", "*")).match(/operations:\S+/g);
      if (keys.every((key) => key.includes(":owner:"))) break;
      await sleep(20);
    }
  });

  it("a caller has a thousand tasks in Redis at most, over all processes", async () => {
    const { url } = await redisServer();
    const [first, second] = await Promise.all([taskServer(url), taskServer(url)]);
    let made = 0;
    const worker = async (server) => {
      for (;;) {
        const { result, error } = await call(server.url, "x_wait", { ms: 0 }, as("ada"));
        if (error !== undefined) return error.message;
        assert.equal(result.resultType, "task");
        made += 1;
      }
    };
    for (const refusal of await Promise.all([first, second, first, second].map(worker))) {
      assert.match(refusal, /too many tasks/);
    }
    assert.equal(made, 1_000);
    const { result: ofBob } = await call(first.url, "x_wait", { ms: 0 }, as("bob"));
    assert.equal(ofBob.resultType, "task");
  });

  it("results of tasks in Redis have a size limit, and room again once the first expire", async () => {
    const { url } = await redisServer();
    const big = job("big", () => "x".repeat(1_000));
    const served = await mcp([big], { redis: { url }, keep: 4_000, maxBytes: 3_000, poll: 50 });
    const run = async () => {
      const { result: made } = await call(served.url, "x_big");
      return until(served.url, made.taskId, isOver);
    };
    assert.equal((await run()).status, "completed");
    const refused = await run();
    assert.equal(refused.status, "failed");
    assert.match(refused.error.message, /carried out, but there is no room for its result/);
    for (;;) {
      if ((await run()).status === "completed") break;
      await sleep(100);
    }
  });

  it("tasks in Redis need its password, and valid options", async () => {
    const redis = await redisServer({ password: "s3cret" });
    const operations = [job("quick", () => 1)];
    const url = redis.url.replace("redis://", "redis://:s3cret@");
    const served = await mcp(operations, { redis: { url }, poll: 50 });
    const { result: made } = await call(served.url, "x_quick");
    assert.equal((await until(served.url, made.taskId, isOver)).status, "completed");
    for (const [tasks, message] of [
      [{ redis: { url }, dir: "/tmp/nowhere" }, /dir or redis, not both/],
      [{ redis: {} }, /doors\.mcp\.tasks\.redis\.url/],
      [{ redis: { url: "http://s3cret" } }, /doors\.mcp\.tasks\.redis: url must look like/],
      [{ redis: { url, tls: { ca: "s3cret" } } }, /rediss:\/\//],
    ]) {
      await assert.rejects(mcp(operations, tasks), (error) => {
        assert.equal(error.code, "VALIDATION_ERROR");
        assert.match(error.message, message);
        assert.doesNotMatch(error.message, /s3cret/);
        return true;
      });
    }
  });
});
