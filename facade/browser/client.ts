export { createClient } from "../client.js";
export { CallError, InfrastructureErrorCode } from "../errors.js";
