// The counterpart of `registry/native-mirror.ts`, for registries that cannot be served.

import { unavailable } from "./unavailable.js";

export const NativeMirror = unavailable("Serving a registry");
