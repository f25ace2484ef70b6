// What this package promises. Adding a line here is a decision.
export { EXIT, type ExitCode } from "./exit-codes.js";
export type { Host } from "./host.js";
export { main } from "./main.js";
