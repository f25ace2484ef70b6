/** Running a command of the tool chain with our own terminal. */
import { spawn } from "node:child_process";
import { constants } from "node:os";

/**
 * Runs a command to its end.
 * @throws Error when it cannot be started, ends with another code than 0, or by a signal
 */
export async function run(program, args, options = {}) {
  const code = await exitCodeOf(program, args, options);
  if (code !== 0) throw new Error(`exit code ${code}`);
}

/** The exit code; a command that a signal ended counts as 128 and more, as in a shell. */
export function exitCodeOf(program, args, options = {}) {
  return new Promise((resolve, reject) => {
    const child = spawn(program, args, { stdio: "inherit", ...options });
    // Ctrl-C reaches the whole foreground group. The child decides what it means; we wait for it.
    const ignore = () => {};
    const forward = () => child.kill("SIGTERM");
    process.on("SIGINT", ignore).on("SIGTERM", forward);
    const done = () => process.off("SIGINT", ignore).off("SIGTERM", forward);
    child.once("error", (error) => {
      done();
      reject(new Error(`${program} could not be started: ${error.message}`, { cause: error }));
    });
    child.once("exit", (code, signal) => {
      done();
      resolve(code ?? 128 + constants.signals[signal]);
    });
  });
}
