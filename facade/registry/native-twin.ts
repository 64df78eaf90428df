// A registry once more, in Rust, for calls that arrive there: what needs no JavaScript is then served without it.

import type { NativeRegistry } from "../native-binding.js";
import { native, runtime } from "../runtime.js";
import { compiled } from "../schema/compiled.js";
import { registeredFormats } from "../schema/registries.js";
import type { AccessControl, OperationSpec } from "../types.js";
import { type Entry, isAnything, type OutputMode } from "./entry.js";
import { lookAround, type NativeSchemas, type NativeWork, nativeWorkOf } from "./native-handler.js";
import { ownMode } from "./output.js";

/** Made when a registry is first served; then it follows each registration. */
export class NativeTwin {
  readonly native: NativeRegistry;
  #formats = "";

  constructor(output: OutputMode, entries: Iterable<Entry>) {
    this.native = new native.NativeRegistry(runtime, output);
    for (const entry of entries) this.set(entry);
  }

  /** Takes an operation over, as it is now. */
  set({ id, spec, handler, isInternal, own }: Entry): void {
    // From outside there is no such operation.
    if (isInternal) {
      this.remove(id);
      return;
    }
    this.#tellFormats();
    const told = describe(spec);
    const text = JSON.stringify(told, wellFormed);
    const work = handler === undefined ? undefined : nativeWorkOf(handler);
    // What another library checks is checked in JavaScript.
    if (
      work === undefined ||
      !work.isPossible() ||
      own !== undefined ||
      told.accessControl.customAuth !== undefined
    ) {
      this.native.setHost(text);
      return;
    }
    lookAround();
    const schemas = schemasOf(spec, work);
    // A rule with half a surrogate pair is nothing that Rust could compare.
    if (schemas === undefined || text !== JSON.stringify(told)) this.native.setHost(text);
    else work.register(this.native, text, schemas);
  }

  remove(id: string): void {
    this.native.remove(id);
  }

  /** Formats that users have registered are checked by functions of theirs. */
  #tellFormats(): void {
    const names = registeredFormats();
    const formats = JSON.stringify(names);
    if (formats === this.#formats) return;
    this.#formats = formats;
    this.native.setHostFormats(names);
  }
}

/** What the native side has to know of a spec. */
function describe(spec: OperationSpec) {
  const { namespace, name, type, description } = spec;
  const { requiredScopes, requiredScopesAny, resourceType, resourceAction, customAuth } = spec.accessControl;
  const accessControl: AccessControl = { requiredScopes };
  if (requiredScopesAny !== undefined) accessControl.requiredScopesAny = requiredScopesAny;
  if (resourceType !== undefined) accessControl.resourceType = resourceType;
  if (resourceAction !== undefined) accessControl.resourceAction = resourceAction;
  if (customAuth !== undefined) accessControl.customAuth = customAuth;
  return { namespace, name, type, description, accessControl, output: ownMode(spec) };
}

/** Rust has no strings with half a surrogate pair. */
function wellFormed(_: string, value: unknown): unknown {
  return typeof value === "string" ? value.replace(/\p{Surrogate}/gu, "\ufffd") : value;
}

/** The schemas; nothing where one cannot be used, which the first call will explain. */
function schemasOf(spec: OperationSpec, work: NativeWork): NativeSchemas | undefined {
  const schemas: NativeSchemas = { input: undefined, output: undefined, own: 0 };
  try {
    if (work.ownsSchema(spec, "inputSchema")) schemas.own |= 1;
    else if (!isAnything(spec.inputSchema)) schemas.input = compiled(spec.inputSchema).native;
    if (work.ownsSchema(spec, "outputSchema")) schemas.own |= 2;
    else if (!isAnything(spec.outputSchema)) schemas.output = compiled(spec.outputSchema).native;
    return schemas;
  } catch {
    return undefined;
  }
}
