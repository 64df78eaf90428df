// The counterpart of `registry/native-twin.ts`, for registries that nobody can serve.

import { unavailable } from "./unavailable.js";

export const NativeTwin = unavailable("Serving a registry");
