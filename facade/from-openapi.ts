export { type HTTPResponseMeta, httpEnvelope } from "./envelope.js";
export { parseSSEFrames, type SSEEvent } from "./sse/parse-frames.js";
