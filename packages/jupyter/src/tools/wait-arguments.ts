/** The arguments of every tool that waits for a run, as clients see them. */
import { z } from "zod";

export const timeout: z.ZodOptional<z.ZodNumber> = z
  .number()
  .min(0)
  .optional()
  .describe(
    "Seconds to wait for the run. After that it goes on and is collected by get_execution. Not for tasks, which wait as long as it takes.",
  );

export const interruptAfter: z.ZodOptional<z.ZodNumber> = z
  .number()
  .min(0)
  .optional()
  .describe("Seconds after which the run is interrupted. Default: never.");

export const fullOutput: z.ZodDefault<z.ZodBoolean> = z
  .boolean()
  .default(false)
  .describe("Show up to 1 MB of output instead of the head and tail of what is long.");
