/**
 * The runs that the tools have started, by id, so that one that its caller left, or did not see all of, is found again. A run
 * goes on whoever waits for it.
 */
import { randomUUID } from "node:crypto";
import type { Clock, Logger } from "@claimcheck/core";
import { type EngineRun, type RunEnd, type RunKernel, startRun } from "../execution/index.js";
import type { SentBefore } from "../kernel/index.js";
import type { CellKey, CellOutput, NotebookFiles } from "../notebook/index.js";
import type { CellReport, KernelReport } from "./execution-report.js";
import { RunLimit } from "./run-limit.js";
import { CellSaver, type SaveResult } from "./save-cell.js";

/** What to run. */
export interface ExecutionRequest {
  /** Who may find it again. */
  owner: string;
  /** Default: a new one. */
  id?: string;
  /** The message id at the kernel. Default: a random one. */
  msgId?: string;
  /** An earlier process has sent it, under `msgId`. Default: it is new. */
  sentBefore?: SentBefore;
  code: string;
  kernel: RunKernel;
  kernelReport: KernelReport;
  /** After how long it is interrupted; undefined: never. */
  interruptAfterMs: number | undefined;
  /** The notebook cell that it is, and where its outputs go. */
  cell?: { files: NotebookFiles; path: string; key: CellKey; live: boolean };
}

/** Finished runs that are kept: their outputs take memory, and their callers have seen them. */
const MAX_FINISHED = 20;

/** All runs of this server. */
export class Executions {
  readonly #clock: Clock;
  readonly #logger: Logger;
  /** In the order of their beginning. */
  readonly #byId = new Map<string, ToolExecution>();

  constructor(options: { clock: Clock; logger: Logger }) {
    this.#clock = options.clock;
    this.#logger = options.logger;
  }

  start(request: ExecutionRequest): ToolExecution {
    const execution = new ToolExecution(request, this.#clock, this.#logger);
    this.#byId.set(execution.id, execution);
    void execution.settled.then(() => this.#forgetOldest());
    return execution;
  }

  /** Undefined as well for somebody else's. */
  find(owner: string, id: string): ToolExecution | undefined {
    const execution = this.#byId.get(id);
    return execution?.owner === owner ? execution : undefined;
  }

  /** Resolves when no run is under way and all outputs are where they belong. */
  async settled(): Promise<void> {
    await Promise.all([...this.#byId.values()].map(({ settled }) => settled));
  }

  /** The kernels of runs that go on although nobody here follows them any more; see {@link ToolExecution.letGo}. */
  leftKernels(): ReadonlySet<string> {
    return new Set([...this.#byId.values()].filter(({ isLeft }) => isLeft).map(({ kernel }) => kernel.id));
  }

  #forgetOldest(): void {
    const finished = [...this.#byId.values()].filter(({ isSettled }) => isSettled);
    for (const { id } of finished.slice(0, -MAX_FINISHED)) this.#byId.delete(id);
  }
}

/** One run and, if it is a cell's, the saving of its outputs. */
export class ToolExecution {
  readonly id: string;
  readonly owner: string;
  readonly kernel: KernelReport;
  readonly run: EngineRun;
  readonly limit: RunLimit;
  /** Resolves when the run has ended and its outputs are saved, or are known not to be; never rejects. */
  readonly settled: Promise<RunEnd>;
  readonly #clock: Clock;
  readonly #logger: Logger;
  readonly #saver: CellSaver | undefined;
  readonly #cell: ExecutionRequest["cell"];
  readonly #followers = new Set<(outputs: CellOutput[]) => void>();
  #end: RunEnd | undefined;
  #saved: SaveResult | undefined;
  #startedAt: number | null = null;
  #isLetGo = false;

  /** @internal */
  constructor(request: ExecutionRequest, clock: Clock, logger: Logger) {
    this.id = request.id ?? `exe_${randomUUID()}`;
    this.owner = request.owner;
    this.kernel = request.kernelReport;
    this.#clock = clock;
    this.#logger = logger;
    this.#cell = request.cell;
    this.#saver = request.cell && new CellSaver({ ...request.cell, clock, logger });
    this.run = startRun({
      kernel: request.kernel,
      code: request.code,
      sentBefore: request.sentBefore,
      ...(request.msgId === undefined ? {} : { msgId: request.msgId }),
      ...(request.cell === undefined ? {} : { cell: { id: request.cell.key.id } }),
      onOutputs: (outputs, late) => this.#onOutputs(outputs, late),
      clock,
      logger,
    });
    this.limit = new RunLimit(this.run, request.interruptAfterMs, clock);
    void this.run.begun.then(() => this.#onBegun());
    this.settled = this.run.ended.then((end) => this.#onEnd(end));
  }

  /** How it ended; undefined until its outputs are saved as well. */
  get end(): RunEnd | undefined {
    return this.#end;
  }

  get isSettled(): boolean {
    return this.#end !== undefined;
  }

  /** Whether it was let go of while it ran. */
  get isLeft(): boolean {
    return this.#isLetGo;
  }

  /**
   * Leaves it to another process, which finds it at the kernel: it goes on there, and its cell is written no more from here,
   * since what is known here grows old.
   */
  letGo(): void {
    if (!this.isSettled) this.#isLetGo = true;
  }

  /** When the kernel began with it, epoch ms; null before. */
  get startedAt(): number | null {
    return this.#startedAt;
  }

  /** The cell that it is, and where its outputs are. */
  get cell(): CellReport | undefined {
    if (this.#cell === undefined) return undefined;
    const { path, key } = this.#cell;
    const saved = this.#saved;
    const id = saved?.saved === true ? saved.id : key.id;
    return {
      notebook_path: path,
      cell_index: saved?.saved === true ? saved.index : key.index,
      ...(id === undefined ? {} : { cell_id: id }),
      saved: saved?.saved === true,
      ...(saved?.saved === false ? { not_saved_because: saved.message } : {}),
    };
  }

  /** Calls `follower` with all outputs so far, coalesced, until the returned function is called. */
  follow(follower: (outputs: CellOutput[]) => void): () => void {
    this.#followers.add(follower);
    return () => this.#followers.delete(follower);
  }

  #onBegun(): void {
    if (this.run.state.name === "done") return;
    this.#startedAt = this.run.startedAt ?? this.#clock.now();
    this.#saver?.begin();
  }

  async #onOutputs(outputs: CellOutput[], late: boolean): Promise<void> {
    const record = { outputs, executionCount: this.run.executionCount };
    if (late) {
      await this.settled;
      if (this.#end !== undefined) this.#end = { ...this.#end, outputs };
      await this.#saver?.amend(record);
      return;
    }
    if (!this.#isLetGo) this.#saver?.update(record);
    for (const follower of this.#followers) follower(outputs);
  }

  async #onEnd(end: RunEnd): Promise<RunEnd> {
    this.#saved = await this.#save(end);
    this.#end = end;
    return end;
  }

  /** A run that never began leaves its cell as it was. */
  async #save(end: RunEnd): Promise<SaveResult | undefined> {
    if (this.#saver === undefined) return undefined;
    if (this.#isLetGo) {
      this.#saver.stop();
      return {
        saved: false,
        reason: "failed",
        message: "The cell goes on, and is saved by the server that collects it.",
      };
    }
    if (end.startedAt === null) {
      return { saved: false, reason: "failed", message: "The cell did not run; the notebook is unchanged." };
    }
    const saved = await this.#saver.finish(end);
    if (!saved.saved)
      this.#logger.warn({ execution: this.id, reason: saved.reason }, "a cell's outputs are not in its notebook");
    return saved;
  }
}
