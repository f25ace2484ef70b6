/**
 * The runner `"subprocess"`: the tool's function says what to run, and a child process does the work. What it prints is
 * the task's output as it comes, each line is its progress, and cancelling ends everything that it started.
 */
import { StringDecoder } from "node:string_decoder";
import { stripVTControlCharacters } from "node:util";
import { CancelledError, type Clock, type JsonObject, type Logger, type Timer } from "@claimcheck/core";
import type { ToolContext } from "../questions/tool-context.js";
import type { AnyToolHandler } from "../tools/config.js";
import { type Command, type CommandEnd, checkCommand, environmentOf, startFailure } from "./command.js";
import { HeadAndTail } from "./head-and-tail.js";
import { Lines } from "./lines.js";
import { type ProcessEnd, ProcessGroup } from "./process-group.js";
import { untilStopped } from "./until-stopped.js";

/** Of the lines that arrive together so many, the last ones, are told as progress: who is told ten thousand hears none. */
const LINES_AT_ONCE = 20;

const DEFAULT_MAX_OUTPUT_BYTES = 64 * 1024;

export interface SubprocessHost {
  clock: Clock;
  logger: Logger;
}

/** Runs the commands of one server's subprocess tools. */
export class Subprocesses {
  readonly #host: SubprocessHost;
  readonly #running = new Set<RunningCommand>();
  #isClosed = false;

  constructor(host: SubprocessHost) {
    this.#host = host;
  }

  /** The handler of a tool whose commands `commandOf` makes. `graceMs`: how long a command has to stop before it is killed. */
  handler(toolName: string, commandOf: AnyToolHandler, graceMs: number): AnyToolHandler {
    return async (args, ctx, checkpoint) => {
      const command: unknown = await commandOf(args, ctx, checkpoint);
      checkCommand(command);
      ctx.cancelToken.checkCancelled();
      if (this.#isClosed) throw new Error("The server is closing: no command is run any more.");
      const group = await startGroup(command, graceMs);
      const running = new RunningCommand(command, group, ctx, { ...this.#host, toolName, graceMs });
      this.#running.add(running);
      try {
        return await running.result();
      } finally {
        this.#running.delete(running);
      }
    };
  }

  open(): void {
    this.#isClosed = false;
  }

  /** Ends what still runs: whoever asked for it is gone. */
  async close(): Promise<void> {
    this.#isClosed = true;
    for (const running of this.#running) running.end();
    await Promise.allSettled([...this.#running].map(({ group }) => group.ended));
  }
}

async function startGroup(
  command: Command & { argv: readonly [string, ...string[]] },
  graceMs: number,
): Promise<ProcessGroup> {
  const { argv, cwd, stdin } = command;
  const stdio = [stdin === undefined ? "ignore" : "pipe", "pipe", "pipe"] as const;
  try {
    const env = environmentOf(command);
    return await ProcessGroup.start(argv, { env, stdio: [...stdio], ...(cwd !== undefined && { cwd }) }, graceMs);
  } catch (error) {
    throw await startFailure(error, command);
  }
}

class RunningCommand {
  readonly group: ProcessGroup;
  readonly #command: Command;
  readonly #ctx: ToolContext;
  readonly #host: SubprocessHost & { toolName: string; graceMs: number };
  readonly #stdout: HeadAndTail;
  readonly #stderr: HeadAndTail;
  readonly #timers: Timer[] = [];
  #lineNumber = 0;
  #stopped: "cancelled" | "timed_out" | undefined;

  constructor(
    command: Command,
    group: ProcessGroup,
    ctx: ToolContext,
    host: SubprocessHost & { toolName: string; graceMs: number },
  ) {
    this.group = group;
    this.#command = command;
    this.#ctx = ctx;
    this.#host = host;
    const { maxOutputBytes = DEFAULT_MAX_OUTPUT_BYTES, combineStderr, stdin, timeoutMs } = command;
    this.#stdout = new HeadAndTail(maxOutputBytes);
    this.#stderr = combineStderr ? this.#stdout : new HeadAndTail(maxOutputBytes);
    const { child } = group;
    this.#show(child.stdout);
    if (combineStderr) this.#show(child.stderr);
    else child.stderr?.on("data", (bytes: Buffer) => this.#stderr.append(bytes));
    child.stdin?.end(stdin);
    if (timeoutMs !== undefined) this.#timers.push(host.clock.setTimer(() => this.#timeOut(), timeoutMs));
  }

  /** Takes what comes from `stream` for the call's output and its lines for its progress. */
  #show(stream: NodeJS.ReadableStream | null): void {
    const decoder = new StringDecoder("utf8");
    const lines = new Lines();
    const { task } = this.#ctx;
    // Read when it is written, which is less often than it grows.
    const output = { type: "text", text: "" };
    Object.defineProperty(output, "text", { enumerable: true, get: () => this.#stdout.text() });
    stream?.on("data", (bytes: Buffer) => {
      this.#stdout.append(bytes);
      task?.recordOutput([output]);
      this.#tell(lines.take(decoder.write(bytes)));
    });
    stream?.on("end", () => this.#tell([...lines.take(decoder.end()), ...lines.end()]));
  }

  #tell(lines: string[]): void {
    const before = this.#lineNumber;
    this.#lineNumber += lines.length;
    lines.forEach((line, index) => {
      if (index < lines.length - LINES_AT_ONCE) return;
      const message = stripVTControlCharacters(line).trim();
      if (message !== "") this.#ctx.sendProgress(before + index + 1, { message });
    });
  }

  #timeOut(): void {
    this.#stop("timed_out");
    this.#timers.push(this.#host.clock.setTimer(() => this.group.kill(), this.#host.graceMs));
  }

  #stop(why: "cancelled" | "timed_out"): void {
    this.#stopped ??= why;
    this.group.terminate();
  }

  end(): void {
    this.#stopped ??= "cancelled";
    this.group.kill();
  }

  async result(): Promise<unknown> {
    const stoppable = { stop: () => this.#stop("cancelled"), end: () => this.end() };
    try {
      const end = await untilStopped(this.group.ended, stoppable, this.#ctx, this.#host);
      if (this.#stopped === "cancelled") throw new CancelledError();
      return this.#resultOf(end);
    } finally {
      for (const timer of this.#timers) this.#host.clock.clearTimer(timer);
    }
  }

  #resultOf({ exitCode, signal, outputWasHeld }: ProcessEnd): unknown {
    if (outputWasHeld) {
      const fields = { toolName: this.#host.toolName };
      this.#host.logger.warn(
        fields,
        "a command left a process behind that holds its output; it was waited for no longer",
      );
    }
    const separate = this.#stderr !== this.#stdout;
    const end: CommandEnd = {
      exitCode,
      signal,
      timedOut: this.#stopped === "timed_out",
      stdout: this.#stdout.text(),
      stderr: separate ? this.#stderr.text() : "",
      droppedBytes: this.#stdout.droppedBytes + (separate ? this.#stderr.droppedBytes : 0),
    };
    if (exitCode !== null && !end.timedOut && this.#command.result !== undefined) return this.#command.result(end);
    return exitCode === 0 && !end.timedOut ? end.stdout : failure(end, this.#command);
  }
}

/** What there is to see why: how it ended comes first, since a status message is cut after it. */
function failure(end: CommandEnd, { argv, timeoutMs }: Command): JsonObject {
  const printed = [end.stderr, end.stdout].filter((text) => text !== "");
  const content = [howItEnded(end, argv[0] as string, timeoutMs), ...printed].map((text) => ({ type: "text", text }));
  return { content, structuredContent: { ...end }, isError: true };
}

function howItEnded(
  { exitCode, signal, timedOut }: CommandEnd,
  program: string,
  timeoutMs: number | undefined,
): string {
  if (timedOut) return `The command ${program} was stopped: it had taken ${timeoutMs} ms.`;
  if (signal !== null) return `The command ${program} was ended by ${signal}.`;
  return `The command ${program} ended with exit code ${exitCode}.`;
}
