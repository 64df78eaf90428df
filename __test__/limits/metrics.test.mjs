// `/metrics` of a server: calls by operation, limits and breakers; and the dashboard that reads them.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { after, describe, it } from "node:test";
import { FromOpenAPI, OperationRegistry } from "@alkdev/operations";
import { serve } from "@alkdev/operations/serve";
import { Type } from "@sinclair/typebox";
import { answers, documentOf, sendJson, serve as upstream } from "../http/support.mjs";

const path = { get: { operationId: "list", responses: answers() } };

async function metricsOf({ url }) {
  const text = await (await fetch(`${url}/metrics`)).text();
  const values = new Map();
  for (const line of text.split("\n")) {
    if (line === "" || line.startsWith("#")) continue;
    const at = line.lastIndexOf(" ");
    values.set(line.slice(0, at), Number(line.slice(at + 1)));
  }
  return { text, values };
}

async function watched() {
  const api = await upstream((_, response) => sendJson(response, { why: "down" }, 500));
  const registry = new OperationRegistry({ limits: { concurrency: 100 } });
  registry.registerAll([
    {
      namespace: "demo",
      name: "echo",
      version: "1.0.0",
      type: "mutation",
      description: "Gives back what it got",
      inputSchema: Type.Object({ n: Type.Number() }),
      outputSchema: Type.Unknown(),
      accessControl: { requiredScopes: [] },
      limits: { rate: { calls: 2, per: 60_000 }, queue: 0 },
      handler: (input) => input,
    },
    ...FromOpenAPI(documentOf({ "/pets": path }), {
      namespace: "pets",
      baseUrl: api.url,
      breaker: { failures: 2, window: 60_000, cooldown: 60_000 },
    }),
  ]);
  const server = await serve(registry, { doors: { http: true } });
  after(() => server.close({ drain: 0 }));
  return server;
}

describe("metrics", () => {
  it("metrics count calls by operation and outcome, and limits by their scope", async () => {
    const server = await watched();
    const post = (body) =>
      fetch(`${server.url}/api/demo/echo`, {
        method: "POST",
        headers: { "content-type": "application/json" },
        body: JSON.stringify(body),
      });
    const statuses = [];
    for (const body of [{ n: 1 }, { n: "x" }, { n: 2 }, { n: 3 }]) statuses.push((await post(body)).status);
    assert.deepEqual(statuses, [200, 400, 200, 429]);
    for (let i = 0; i < 3; i++) await fetch(`${server.url}/api/pets`);
    const { values } = await metricsOf(server);
    const expected = {
      'operations_calls_total{operation="demo.echo",outcome="ok"}': 2,
      'operations_calls_total{operation="demo.echo",outcome="VALIDATION_ERROR"}': 1,
      'operations_calls_total{operation="demo.echo",outcome="EXECUTION_ERROR"}': 1,
      'operations_calls_total{operation="pets.list",outcome="EXECUTION_ERROR"}': 3,
      'operations_calls_running{operation="demo.echo"}': 0,
      'operations_call_duration_seconds_count{operation="demo.echo"}': 4,
      'operations_call_duration_seconds_bucket{operation="demo.echo",le="+Inf"}': 4,
      'operations_limit_admitted_total{scope="operation",name="demo.echo"}': 2,
      'operations_limit_refused_total{scope="operation",name="demo.echo",reason="rate-limited"}': 1,
      'operations_limit_admitted_total{scope="registry",name=""}': 4,
      'operations_limit_refused_total{scope="adapter",name="pets",reason="circuit-open"}': 1,
      'operations_breaker_state{scope="adapter",name="pets"}': 2,
      'operations_breaker_opened_total{scope="adapter",name="pets"}': 1,
    };
    for (const [series, value] of Object.entries(expected)) assert.equal(values.get(series), value, series);
  });

  it("metrics have every series that the dashboard queries", async () => {
    const server = await watched();
    await fetch(`${server.url}/api/pets`);
    const { text } = await metricsOf(server);
    const known = new Map();
    for (const [, name, labels = ""] of text.matchAll(/^([a-z_]+)(?:\{(.*)\})? /gm)) {
      const names = known.get(name) ?? new Set();
      for (const [, label] of labels.matchAll(/([a-z]+)="/g)) names.add(label);
      known.set(name, names);
    }
    const dashboard = JSON.parse(
      readFileSync(new URL("../../docs/dashboards/grafana.json", import.meta.url), "utf8"),
    );
    const asked = [
      ...dashboard.panels.flatMap(({ targets }) => targets),
      ...dashboard.templating.list.flatMap(({ query }) =>
        query.query === undefined ? [] : [{ expr: query.query, legendFormat: "" }],
      ),
    ];
    assert.ok(asked.length > 12);
    const used = new Set();
    for (const { expr, legendFormat } of asked) {
      const names = [...expr.matchAll(/operations_[a-z_]+/g)].map(([name]) => name);
      assert.ok(names.length > 0, expr);
      for (const name of names) {
        used.add(name);
        assert.ok(known.has(name), `${name} is not among the metrics`);
      }
      const labels = [
        ...[...legendFormat.matchAll(/\{\{(\w+)\}\}/g)].map(([, label]) => label),
        ...[...expr.matchAll(/by \(([^)]*)\)/g)].flatMap(([, list]) => list.split(", ")),
        ...[...expr.matchAll(/(\w+)(?:=~|!=|=)"/g)].map(([, label]) => label),
      ];
      for (const label of labels) {
        assert.ok(known.get(names[0]).has(label), `${names[0]} has no label ${label}`);
      }
    }
    const unused = [...known.keys()].filter((name) => !used.has(name));
    assert.deepEqual(unused, [], "every metric is on the dashboard");
  });
});
