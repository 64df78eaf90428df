// References that lead back to themselves without going down into the value (`{ "$ref": "#" }`)
// mean nothing, and would keep TypeBox's own check turning forever. They are cut.

import { type Dictionary, Kind, type SchemaNode, schemaNode } from "./typebox-kinds.js";

/** A schema on the way from a starting point, and the schemas on the same value that it leads to. */
interface Step {
  node: SchemaNode;
  next: SchemaNode[];
}

/** Cuts every loop that can be reached from the targets of references. Answers whether there was one. */
export function cutLoops(targets: readonly SchemaNode[]): boolean {
  const finished = new Set<SchemaNode>();
  let cut = false;
  for (const target of targets) {
    // An explicit stack: chains of references can be as long as the document.
    const way: Step[] = [];
    const onWay = new Set<SchemaNode>();
    const go = (node: SchemaNode): void => {
      way.push({ node, next: sameValue(node) });
      onWay.add(node);
    };
    if (!finished.has(target)) go(target);
    for (let step = way.at(-1); step !== undefined; step = way.at(-1)) {
      const next = step.next.pop();
      if (next === undefined) {
        finished.add(step.node);
        onWay.delete(step.node);
        way.pop();
      } else if (onWay.has(next)) {
        cutLast(way);
        cut = true;
      } else if (!finished.has(next)) {
        go(next);
      }
    }
  }
  return cut;
}

/** Every loop goes through a reference; the one that was taken last loses its target. */
function cutLast(way: readonly Step[]): void {
  for (let position = way.length - 1; position >= 0; position -= 1) {
    const node = way[position]?.node;
    if (node?.[Kind] !== "Import") continue;
    (node.$defs as Dictionary)[node.$ref as string] = schemaNode("Unknown");
    return;
  }
}

function sameValue(node: SchemaNode): SchemaNode[] {
  switch (node[Kind]) {
    case "Import":
      return list([(node.$defs as Dictionary | undefined)?.[node.$ref as string]]);
    case "Intersect":
      return list(node.allOf);
    case "Union":
      return list(node.anyOf);
    case "Not":
      return list([node.not]);
    default:
      return [];
  }
}

function list(nodes: unknown): SchemaNode[] {
  return Array.isArray(nodes) ? nodes.filter((node) => typeof node === "object" && node !== null) : [];
}
