export { type HTTPResponseMeta, httpEnvelope } from "./envelope.js";
