// The configuration of a command: found, read, and its sources opened, used and closed.

import { nearestName } from "../interop/nearest-name.js";
import type { Identity } from "../types.js";
import { type HubConfig, hubConfig } from "./config/hub.js";
import { readConfig } from "./config/read.js";
import type { Source } from "./config/source.js";
import { usageError } from "./exit-codes.js";
import type { Workplace } from "./perform.js";
import { Sources } from "./sources.js";

/** The configuration that a command is to use. */
export async function configFor(
  { options, terminal }: Workplace,
  file = options.text("config"),
): Promise<HubConfig> {
  const config = hubConfig(await readConfig(file), (sentence) => terminal.complain(sentence));
  terminal.hide(config.secrets);
  return config;
}

/** The file that is named as the argument, or with `--config`. */
export function configNamed({ words, options }: Workplace): string | undefined {
  if (words[0] === undefined || !options.has("config")) return words[0] ?? options.text("config");
  throw usageError("Name the configuration once: as the argument, or with --config");
}

/** The sources that operations of a namespace may come from. */
export function sourcesOf(namespace: string): (source: Source) => boolean {
  return ({ name, mayNameOthers }) => name === namespace || mayNameOthers;
}

/** Loads the sources of a configuration, hands them to `use`, and closes them whatever happens. */
export async function withSources<T>(
  { terminal, progress, interrupts }: Workplace,
  config: HubConfig,
  use: (sources: Sources) => Promise<T>,
  isWanted?: (source: Source) => boolean,
): Promise<T> {
  const sources = new Sources(config, terminal);
  try {
    await interrupts.during(sources.load(progress, isWanted));
    return await use(sources);
  } finally {
    progress.clear();
    await sources.close();
  }
}

/** Who calls: an identity of the file, or none. */
export function identityFor({ options }: Workplace, { identities, file }: HubConfig): Identity | undefined {
  const id = options.text("as");
  if (id === undefined) return undefined;
  const found = identities.find((identity) => identity.id === id);
  if (found !== undefined) return found;
  const ids = identities.map((identity) => identity.id);
  const nearest = nearestName(id, ids, 1);
  const known = nearest === undefined ? `There are ${ids.join(", ")}` : `Did you mean ${nearest}?`;
  const hint = ids.length === 0 ? "It has no `tokens`" : known;
  throw usageError(`--as ${id}: there is no such identity in ${file}. ${hint}`);
}
