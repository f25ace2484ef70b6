import { runChecks } from "./run-checks.js";
import { OTHERS } from "./transports.js";

runChecks(OTHERS);
