/** Where a tool's work is done: every runner makes an ordinary handler of what its tool was registered with. */
import type { Clock, Logger } from "@claimcheck/core";
import type { AnyToolConfig, AnyToolHandler, RunnerName } from "../tools/config.js";
import { Subprocesses } from "./subprocess.js";
import type { WorkerThreadsOptions } from "./thread-pool.js";
import { WorkerThreads } from "./worker.js";

export interface RunnersOptions {
  clock: Clock;
  logger: Logger;
  /** How long work has to stop when it is cancelled, unless its tool says otherwise. */
  cancelGraceMs: number;
  workerThreads: WorkerThreadsOptions;
}

type MakeHandler = (toolName: string, implementation: unknown, graceMs: number) => AnyToolHandler;

export class Runners {
  readonly #graceMs: number;
  readonly #subprocesses: Subprocesses;
  readonly #workerThreads: WorkerThreads;
  readonly #byName: Readonly<Record<RunnerName, MakeHandler>>;

  constructor({ cancelGraceMs, workerThreads, ...host }: RunnersOptions) {
    this.#graceMs = cancelGraceMs;
    this.#subprocesses = new Subprocesses(host);
    this.#workerThreads = new WorkerThreads(workerThreads, host);
    this.#byName = {
      async: asyncHandler,
      worker: (toolName, implementation, graceMs) => this.#workerThreads.handler(toolName, implementation, graceMs),
      subprocess: (toolName, implementation, graceMs) => {
        const commandOf = functionOf(toolName, "subprocess", "a function that makes its command", implementation);
        return this.#subprocesses.handler(toolName, commandOf, graceMs);
      },
    };
  }

  /**
   * The handler of a tool, whichever runner it names.
   * @throws TypeError when `implementation` is not what that runner takes
   */
  handler(toolName: string, { execution, cancelGraceMs }: AnyToolConfig, implementation: unknown): AnyToolHandler {
    const runner: string = execution?.runner ?? "async";
    if (!Object.hasOwn(this.#byName, runner)) {
      const names = Object.keys(this.#byName).join(", ");
      throw new TypeError(`Tool ${toolName} names the runner ${JSON.stringify(runner)}; there are ${names}.`);
    }
    return this.#byName[runner as RunnerName](toolName, implementation, cancelGraceMs ?? this.#graceMs);
  }

  /** `config` with what its tool resumes with made a handler. */
  withResume(toolName: string, config: AnyToolConfig): AnyToolConfig {
    const { execution, recovery } = config;
    if ((execution?.runner ?? "async") === "async" || typeof recovery !== "object" || !("resume" in recovery))
      return config;
    return { ...config, recovery: { ...recovery, resume: this.handler(toolName, config, recovery.resume) } };
  }

  open(): void {
    this.#subprocesses.open();
    this.#workerThreads.open();
  }

  /** Ends what still runs outside this event loop. */
  async close(): Promise<void> {
    await Promise.all([this.#subprocesses.close(), this.#workerThreads.close()]);
  }
}

const asyncHandler: MakeHandler = (toolName, implementation) =>
  functionOf(toolName, "async", "a function", implementation);

function functionOf(toolName: string, runner: RunnerName, what: string, implementation: unknown): AnyToolHandler {
  if (typeof implementation === "function") return implementation as AnyToolHandler;
  const hint =
    typeof implementation === "object" && implementation !== null && "module" in implementation
      ? ' A module is what the runner "worker" takes.'
      : "";
  throw new TypeError(`Tool ${toolName} has the runner "${runner}", so its handler must be ${what}.${hint}`);
}
