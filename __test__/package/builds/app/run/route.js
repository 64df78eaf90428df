import { main } from "../../program.mjs";

export const dynamic = "force-dynamic";

export async function GET() {
  const lines = [];
  await main((line) => lines.push(line));
  return Response.json(lines);
}
