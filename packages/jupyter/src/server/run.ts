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
    const child = spawn(program, args, { stdio: ["ignore", "pipe", "pipe"], env: options.env ?? process.env });
    const pipes = [child.stdout, child.stderr];
    for (const pipe of pipes) pipe.setEncoding("utf8").on("data", keep);
    // The time-out of `spawn` itself goes on after a command that could not be started, and holds this process open; and what the
    // command has started may keep its pipes when it is killed.
    const timer = setTimeout(() => {
      child.kill("SIGKILL");
      for (const pipe of pipes) pipe.destroy();
    }, options.timeoutMs);
    const end = (result: CommandResult): void => {
      clearTimeout(timer);
      resolve(result);
    };
    child.on("error", (error) => end({ exitCode: null, output: error.message }));
    child.on("close", (exitCode) => end({ exitCode, output: output.trim() }));
  });
}
