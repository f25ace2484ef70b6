/** Running a short command to its end. */
import { spawn } from "node:child_process";

/** How a command ended. A command that could not be started has `exitCode` null and the reason in `output`. */
export interface CommandResult {
  exitCode: number | null;
  /** The last {@link KEPT_CHARACTERS} characters of stdout and stderr, as they came. */
  output: string;
}

/** What is kept of a command's output. */
export interface CommandOptions {
  /** Killed after this time. */
  timeoutMs: number;
  /** Default: this process's. */
  env?: NodeJS.ProcessEnv;
}

/** Enough for pip's explanation of a failure, without holding a whole build log. */
const KEPT_CHARACTERS = 8_000;

/** Runs a command without a shell and without stdin; never throws. */
export function runCommand(command: readonly string[], options: CommandOptions): Promise<CommandResult> {
  const [program = "", ...args] = command;
  let output = "";
  const keep = (text: string): void => {
    output = (output + text).slice(-KEPT_CHARACTERS);
  };
  return new Promise((resolve) => {
    const child = spawn(program, args, {
      stdio: ["ignore", "pipe", "pipe"],
      timeout: options.timeoutMs,
      env: options.env ?? process.env,
    });
    child.stdout.setEncoding("utf8").on("data", keep);
    child.stderr.setEncoding("utf8").on("data", keep);
    child.on("error", (error) => resolve({ exitCode: null, output: error.message }));
    child.on("close", (exitCode) => resolve({ exitCode, output: output.trim() }));
  });
}
