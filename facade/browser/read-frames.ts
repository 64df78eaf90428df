export { readFrames } from "../sse/frames-of-text.js";
