/** What a subprocess tool runs, and how that is refused where it cannot be run. */
import { stat } from "node:fs/promises";
import { aFunction, checkOptions, type OptionRules, trueOrFalse, wholeNumberFrom } from "@claimcheck/core";

/** A command, as the function of a subprocess tool puts it out. No shell reads it unless `argv` names one (`["sh", "-c", "…"]`). */
export interface Command {
  /** The program and its arguments. A program without a slash is looked for in the `PATH` of `env`. */
  argv: readonly string[];
  /** Default: the server's. */
  cwd?: string;
  /**
   * Added to the few variables that are inherited ({@link INHERITED_ENV}); `undefined` takes one of them away. What else is
   * in the server's environment may be secret and stays there; `env: process.env` hands over all of it.
   */
  env?: Readonly<Record<string, string | undefined>>;
  /** Given to the command on its stdin. Default: nothing; it is at its end from the start. */
  stdin?: string | Uint8Array;
  /** How long the command may take in all, ms; then it is stopped as by a cancel, and the call is an error with the output so far. Default: without limit. */
  timeoutMs?: number;
  /** Take stderr for stdout, in the order in which the two arrive. Default: stderr is shown when the command fails. */
  combineStderr?: boolean;
  /** Of stdout, and of stderr, so many bytes are kept: the first and the last, with a note of how many were dropped. Default: 64 KiB. */
  maxOutputBytes?: number;
  /**
   * Makes the tool's result of a command that ended by itself, whatever its exit code; as any handler's result it may be a
   * string, an object or a whole MCP result. Default: stdout as text when the exit code is 0, else an `isError` result.
   */
  result?: (end: CommandEnd) => unknown;
}

/** How a command ended, and what it printed. */
export interface CommandEnd {
  /** `null` when a signal ended it. */
  exitCode: number | null;
  /** Such as `"SIGTERM"`. */
  signal: string | null;
  /** Whether it was stopped because its `timeoutMs` were over. */
  timedOut: boolean;
  stdout: string;
  /** Empty with `combineStderr`. */
  stderr: string;
  /** How many bytes of stdout and stderr were dropped for `maxOutputBytes`. */
  droppedBytes: number;
}

/** What a command inherits of the server's environment, where it is set: what programs need to find their way, and no secrets. */
export const INHERITED_ENV: readonly string[] =
  process.platform === "win32"
    ? [
        ...["APPDATA", "HOMEDRIVE", "HOMEPATH", "LOCALAPPDATA", "PATH", "PATHEXT", "PROCESSOR_ARCHITECTURE"],
        ...["SYSTEMDRIVE", "SYSTEMROOT", "TEMP", "TMP", "USERNAME", "USERPROFILE"],
      ]
    : ["HOME", "LANG", "LC_ALL", "LC_CTYPE", "LOGNAME", "PATH", "SHELL", "TERM", "TMPDIR", "TZ", "USER"];

export function environmentOf({ env = {} }: Command): Record<string, string> {
  const inherited = INHERITED_ENV.map((name) => [name, process.env[name]] as const);
  const all = { ...Object.fromEntries(inherited), ...env };
  return Object.fromEntries(Object.entries(all).filter((entry): entry is [string, string] => entry[1] !== undefined));
}

const LONGEST_TIMER_MS = 2 ** 31 - 1;
const isText = (value: unknown): value is string => typeof value === "string" && !value.includes("\0");

const RULES: OptionRules<Command> = {
  argv: {
    what: "a list of strings that begins with the program",
    takes: (value) => Array.isArray(value) && value.length > 0 && value.every(isText) && value[0] !== "",
  },
  cwd: { what: "the path of a folder", takes: (value) => isText(value) && value !== "" },
  env: {
    what: "an object of strings",
    takes: (value) =>
      typeof value === "object" &&
      value !== null &&
      Object.entries(value).every(([name, text]) => isText(name) && (text === undefined || isText(text))),
  },
  stdin: { what: "a string or bytes", takes: (value) => typeof value === "string" || value instanceof Uint8Array },
  timeoutMs: {
    what: `a number of milliseconds above 0, at most ${LONGEST_TIMER_MS}`,
    takes: (value) => typeof value === "number" && value > 0 && value <= LONGEST_TIMER_MS,
  },
  combineStderr: trueOrFalse,
  maxOutputBytes: wholeNumberFrom(1),
  result: aFunction,
};

/** @throws TypeError, RangeError for what is no command, saying why */
export function checkCommand(value: unknown): asserts value is Command & { argv: readonly [string, ...string[]] } {
  if (typeof value !== "object" || value === null || Array.isArray(value))
    throw new TypeError("A subprocess tool's function must return a command, such as { argv: [program, argument] }.");
  checkOptions("A command", value, RULES);
  if ((value as Partial<Command>).argv === undefined)
    throw new TypeError(`A command's argv must be ${RULES.argv.what}.`);
}

/** The error of a command that could not be run, from the system's. */
export async function startFailure(error: unknown, { argv, cwd }: Command): Promise<Error> {
  const code = error instanceof Error ? (error as NodeJS.ErrnoException).code : undefined;
  return new Error(await startFailureText(code, argv[0] as string, cwd), { cause: error });
}

async function startFailureText(code: string | undefined, program: string, cwd: string | undefined): Promise<string> {
  const isFolder =
    cwd === undefined ||
    (await stat(cwd).then(
      (found) => found.isDirectory(),
      () => false,
    ));
  if (!isFolder) return `The command ${program} could not be run in ${cwd}: there is no such folder.`;
  switch (code) {
    case "ENOENT":
      return `The command ${program} was not found.`;
    case "EACCES":
      return `The command ${program} could not be run: it, or its folder, may not be used by this server.`;
    case "E2BIG":
      return `The command ${program} could not be run: its arguments and environment are too long together.`;
    default:
      return `The command ${program} could not be run (${code ?? "for an unknown reason"}).`;
  }
}
