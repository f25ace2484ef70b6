/** Which test file runs the checks over which transports: together they are all that there are (`requirements.test.ts`). */
import type { TransportName } from "../protocol/serving.js";

/** With the fast tests. */
export const IN_MEMORY: readonly TransportName[] = ["in memory"];
/** A child process runs the build; requests over HTTP add up to what a fast run has no time for. */
export const OTHERS: readonly TransportName[] = ["HTTP without sessions", "HTTP with sessions", "stdio"];
