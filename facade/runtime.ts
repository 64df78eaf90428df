import { CallError } from "./errors.js";
import { writeNativeLog } from "./logging.js";
import { loadNative } from "./native.js";

/** The compiled addon. */
export const native = loadNative();

/** The native state of this JavaScript environment: one for each process or worker thread, however
 * often and in whichever module format the package is imported. */
export const runtime = new native.Runtime(makeCallError, writeNativeLog);

/** Native failures are thrown as the same class that users catch. */
function makeCallError(code: string, message: string, details?: string | null): CallError {
  return new CallError(code, message, details == null ? undefined : JSON.parse(details));
}
