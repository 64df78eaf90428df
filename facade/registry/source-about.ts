// Where a handler sends its calls: for observers, and for what depends on whether a handler is the application's own.

export type SourceAbout =
  | {
      readonly source: "http";
      readonly method: string;
      /** The path, with the names of its parameters. */
      readonly template: string;
      /** Where the service is, if the configuration says so. */
      readonly url: string | undefined;
    }
  | {
      readonly source: "mcp";
      readonly server: string;
      readonly tool: string;
      /** Nothing for a server that was started here. */
      readonly url: string | undefined;
    };

const abouts = new WeakMap<object, SourceAbout>();

/** Says where a handler sends its calls. A function around the handler is not the handler. */
export function markSource(handler: object, about: SourceAbout): void {
  abouts.set(handler, about);
  markImported(handler);
}

const imported = new WeakSet<object>();

/** Says that a handler was made by an importer: it calls a service, a server or a peer. */
export function markImported(handler: object): void {
  imported.add(handler);
}

export function isImported(handler: object): boolean {
  return imported.has(handler);
}

/** Nothing for a handler that is a function of the application. */
export function sourceAbout(handler: object | undefined): SourceAbout | undefined {
  return handler === undefined ? undefined : abouts.get(handler);
}
