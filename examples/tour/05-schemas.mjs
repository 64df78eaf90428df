// One verdict everywhere: TypeBox schemas, JSON Schema, Zod.

import { collectErrors, FromSchema, formatValueErrors, zodAdapter } from "@alkdev/operations";
import { z } from "zod";
import { say, show } from "./show.mjs";

export default async function schemas() {
  say("JSON Schema becomes a TypeBox schema, and stays the same JSON:");
  const source = {
    type: "object",
    properties: {
      email: { type: "string", format: "email" },
      tags: { type: "array", items: { $ref: "#/$defs/tag" } },
    },
    required: ["email"],
    $defs: { tag: { type: "string", pattern: "^[a-z]+$" } },
  };
  const User = FromSchema(source);
  show("JSON is unchanged", JSON.stringify(User) === JSON.stringify(source));

  say("What is wrong with a value, and where:");
  console.log(formatValueErrors(collectErrors(User, { email: "nobody", tags: ["ok", "Not ok"] })));

  say("Zod schemas, through Zod's own JSON Schema export:");
  const adapter = zodAdapter();
  await adapter.init();
  const Point = adapter.toTypeBox(z.object({ x: z.number(), y: z.number() }));
  console.log(formatValueErrors(collectErrors(Point, { x: 1, y: "2" })));
}
