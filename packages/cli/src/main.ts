/** One run of the command, from its arguments to its exit code. */
import { describeError } from "@claimcheck/core";
import { CommanderError } from "commander";
import { StartError, UsageError } from "./errors.js";
import { EXIT, type ExitCode } from "./exit-codes.js";
import { type Host, processHost } from "./host.js";
import { jupyterSettings } from "./jupyter-settings.js";
import { createProgram } from "./program.js";

/**
 * Runs the command to its end.
 * @param args without the program's own name
 * @returns the exit code; the caller exits
 */
export async function main(args: readonly string[], host: Host = processHost()): Promise<ExitCode> {
  let exitCode: ExitCode = EXIT.ok;
  const actions = {
    jupyter: async (flags: Parameters<typeof jupyterSettings>[0]) => {
      const settings = jupyterSettings(flags, host);
      // Loaded late: help and a wrong command line need none of the packages that serve.
      const { serveJupyter } = await import("./serve-jupyter.js");
      exitCode = await serveJupyter(settings, host);
    },
  };
  try {
    await createProgram(actions, host).parseAsync(args, { from: "user" });
    return exitCode;
  } catch (error) {
    return explain(error, host);
  }
}

function explain(error: unknown, host: Host): ExitCode {
  // Commander has written its own message, and counts help that was asked for as 0.
  if (error instanceof CommanderError) return error.exitCode === 0 ? EXIT.ok : EXIT.usage;
  const known = error instanceof UsageError || error instanceof StartError;
  host.stderr.write(`claimcheck: ${known ? error.message : describeError(error)}\n`);
  if (error instanceof UsageError) return EXIT.usage;
  return error instanceof StartError ? EXIT.cannotStart : EXIT.failed;
}
