/** Programs that models write, run in a sandbox. Needs `quickjs-wasi`. */
export { createCodeRunner } from "./code/runner.js";
export type {
  CodeApproval,
  CodeCall,
  CodeLimits,
  CodeLog,
  CodeRun,
  CodeRunner,
  CodeRunnerOptions,
  CodeRunOptions,
  CodeStore,
} from "./code-types.js";
