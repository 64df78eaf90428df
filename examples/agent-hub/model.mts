// A model that needs no network: it follows a script. The loop around it is that of any agent.

import type { Identity, OperationRegistry } from "@alkdev/operations";
import { createCodeRunner } from "@alkdev/operations/code";
import { type AnthropicTool, toTools } from "@alkdev/operations/tools";

interface Turn {
  readonly tool: string;
  readonly input: unknown;
}

/** What the model would like to do, in turn. It knows the tools that it is shown, and makes a mistake. */
const script: readonly Turn[] = [
  { tool: "shop_getPet", input: { petId: "Ada" } },
  { tool: "shop_getPet", input: { petId: 1 } },
  { tool: "tasks_add", input: { title: "Call the vet about Ada" } },
  {
    tool: "memory_create_entities",
    input: { entities: [{ name: "Ada", entityType: "pet", observations: ["sick"] }] },
  },
  { tool: "tasks_list", input: { word: "vet" } },
];

function model(tools: readonly AnthropicTool[], turn: number): Turn | undefined {
  return script.slice(turn).find(({ tool }) => tools.some(({ name }) => name === tool));
}

/** Lets the model work for a person, with the tools that this person may use. */
export async function runModel(registry: OperationRegistry, identity: Identity, say: (line: string) => void) {
  const { tools, call } = toTools(registry, { target: "anthropic", identity });
  say(`${identity.id}: the model has ${tools.length} tools`);
  for (let turn = 0, next = model(tools, turn); next !== undefined; next = model(tools, turn)) {
    // In the place of this line, a program would ask the API of a model.
    const { content, isError } = await call(next.tool, next.input);
    const text = typeof content === "string" ? content : JSON.stringify(content);
    say(
      `  ${next.tool} ${JSON.stringify(next.input)} -> ${isError ? "error: " : ""}${text.replace(/\s+/g, " ").slice(0, 90)}`,
    );
    turn = script.indexOf(next) + 1;
  }
}

/** What the model writes where it is offered one tool that runs programs: the same work, and one answer. */
const program = `const { tasks: open } = await tasks.list({ word: "vet" });
const pets = await Promise.all([1, 1].map((petId) => shop.getPet({ petId })));
return { tasks: open.length, pets: [...new Set(pets.map(({ name }) => name))] };`;

/** The same in code mode: the model writes one program instead of calling tools one by one. */
export async function runProgram(
  registry: OperationRegistry,
  identity: Identity,
  say: (line: string) => void,
) {
  const runner = createCodeRunner(registry);
  const { tools, call } = toTools(registry, { target: "anthropic", identity, mode: "code", runner });
  say(`${identity.id}: the model has ${tools.map(({ name }) => name).join(", ")}`);
  const { content } = await call("run", { code: program });
  say(`  run -> ${String(content).replace(/\s+/g, " ").slice(0, 160)}`);
  await runner.close();
}
