// Limits, as the compiler sees them.

import {
  type CallLimits,
  type CircuitBreaker,
  createMCPClient,
  defineOperation,
  FromOpenAPI,
  isTimeout,
  OperationRegistry,
  type RegistryStats,
} from "@alkdev/operations";
import { Type } from "@sinclair/typebox";

const limits: CallLimits = { concurrency: 1, queue: 0, timeout: 1, rate: { calls: 1, per: 1 } };
const breaker: CircuitBreaker = { failures: 1, window: 1, cooldown: 1 };
const registry = new OperationRegistry({ limits });
const spec = {
  namespace: "a",
  name: "b",
  version: "1.0.0",
  type: "query",
  description: "",
  inputSchema: Type.Unknown(),
  outputSchema: Type.Unknown(),
  accessControl: { requiredScopes: [] },
  handler: () => 1,
} as const;
registry.register(defineOperation({ ...spec, limits }));
FromOpenAPI("", { namespace: "a", limits, breaker });
void createMCPClient("a", { url: "http://localhost", limits, breaker });

// @ts-expect-error: misspelt
new OperationRegistry({ limits: { concurency: 1 } });
// @ts-expect-error: a rate has both
new OperationRegistry({ limits: { rate: { calls: 1 } } });
// @ts-expect-error: a registry has no breaker
new OperationRegistry({ breaker });
// @ts-expect-error: a word
defineOperation({ ...spec, limits: { concurrency: "many" } });
// @ts-expect-error: incomplete
FromOpenAPI("", { namespace: "a", breaker: { failures: 1 } });

const stats: RegistryStats = registry.stats();
for (const { scope, refused, breaker: state } of stats.limits) {
  const where: "registry" | "adapter" | "operation" = scope;
  const count: number = refused.overloaded + refused.rateLimited + refused.circuitOpen;
  const word: "closed" | "open" | "half-open" | undefined = state;
  void [where, count, word];
}
declare const error: unknown;
if (isTimeout(error)) {
  const after: number | undefined = error.details.retryAfter;
  void after;
}
