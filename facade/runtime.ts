import { CallError } from "./errors.js";
import { writeNativeLog } from "./logging.js";
import { loadNative } from "./native.js";
import { VERSION } from "./version.js";

const loaded = loadNative();

/** The compiled addon. */
export const { native } = loaded;

/** What `native-binding.ts` declares: "Runtime Runtime.version ...". `scripts/bundle-node.mjs` puts it in. */
declare const NATIVE_NAMES: string | undefined;

const names = typeof NATIVE_NAMES === "string" ? NATIVE_NAMES.split(" ") : [];
const absent = names.find((path) => {
  const [name = "", member] = path.split(".");
  const exported: unknown = Reflect.get(native, name);
  return exported === undefined || (member !== undefined && !(member in Object(exported).prototype));
});

/** The native state of this JavaScript environment: one for each process or worker thread, however
 * often and in whichever module format the package is imported. */
export const runtime = new native.Runtime(makeCallError, writeNativeLog);

const { version } = runtime;
if (version !== VERSION) {
  throw new Error(
    `@alkdev/operations ${VERSION} has found a native binary of version ${version} (${loaded.from}). Both must be of one version. ` +
      "Delete node_modules and install again; in a clone, run `npm run build`. If the lock file names two versions, update both packages.",
  );
}

if (absent !== undefined) {
  throw new Error(
    `@alkdev/operations ${VERSION} has found a native binary of version ${version} from another build (${loaded.from}), without ${absent}. ` +
      "Delete node_modules and install again; in a clone, run `npm run build`.",
  );
}

/** Native failures are thrown as the same class that users catch. */
function makeCallError(code: string, message: string, details?: string | null): CallError {
  return new CallError(code, message, details == null ? undefined : JSON.parse(details));
}
