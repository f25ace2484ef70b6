/**
 * The one way in and out: creating, reading, waiting for, answering and cancelling tasks, whatever store they live
 * in, whatever runs them and whatever dialect asks. The owner is checked here, above the store, on every call.
 */
import { type Applied, type AttemptHost, RunningAttempt } from "./attempt.js";
import { type Clock, systemClock } from "./clock.js";
import type { ToolDefinition } from "./context.js";
import { Deadlines } from "./deadlines.js";
import { TaskError } from "./errors.js";
import { checkIdempotencyKey, fingerprint } from "./fingerprint.js";
import { Flusher } from "./flusher.js";
import { newRunnerId, newTaskId } from "./ids.js";
import type { JsonObject } from "./json.js";
import { describeError, type Logger, stderrLogger } from "./logger.js";
import { MemoryStore } from "./memory-store.js";
import { Recovery } from "./recovery.js";
import { Sweeper } from "./retention.js";
import { InProcessRunner, type Runner } from "./runner.js";
import type { TaskPage, TaskStore } from "./store.js";
import { takeStrayErrors } from "./stray-errors.js";
import { isTerminal, type LiveTask, type Progress, type TaskRecord } from "./task.js";
import { type TaskEvent, transition } from "./transitions.js";
import { type Watcher, Watchers } from "./watchers.js";

/** Fifteen minutes (seed: "kept for its ttl — 15 minutes by default, capped at 24 hours"). */
export const DEFAULT_TTL_MS: number = 15 * 60_000;
/** Twenty-four hours. */
export const MAX_TTL_MS: number = 24 * 60 * 60_000;

export interface TaskRuntimeOptions {
  /** Default: a {@link MemoryStore}. */
  store?: TaskStore;
  /** Default: an {@link InProcessRunner}. */
  runner?: Runner;
  clock?: Clock;
  logger?: Logger;
  /** How long finished tasks are kept when neither caller nor tool says. Default: 15 minutes. */
  defaultTtlMs?: number;
  /** What a caller may ask for at the most; more is cut to it. Default: 24 hours. */
  maxTtlMs?: number;
  /** After how long without a sign of life a runner counts as lost. Default: 15 seconds. */
  leaseMs?: number;
  /** How long a cancelled attempt is waited for, and again after escalating. Default: 5 seconds. */
  cancelGraceMs?: number;
  /** Partial output beyond this loses its middle. Default: 1 MiB of JSON. */
  maxOutputBytes?: number;
  /** A larger result ends its task as failed. Default: 64 MiB of JSON. */
  maxResultBytes?: number;
  /** Larger arguments are refused. Default: 4 MiB of JSON. */
  maxArgumentsBytes?: number;
  /** How often expired tasks are removed for good. Default: 30 seconds. */
  sweepIntervalMs?: number;
  /** How often a store of several processes is asked anew when its signals are silent. Default: 1 second without signals, else 5. */
  pollIntervalMs?: number;
  /** How often a task whose policy is `retry` is run, all told. Default: 3. */
  maxTries?: number;
}

export interface CreateTask {
  owner: string;
  toolName: string;
  /** The arguments as the caller sent them. */
  arguments: JsonObject;
  /** The caller's wish for retention after finish. `null`: as long as is allowed. */
  ttlMs?: number | null | undefined;
  /** As the caller sent it; anything but a proper key is refused. */
  idempotencyKey?: unknown;
  /** What of the request the tool may still read later. */
  request?: JsonObject;
  /** The validated arguments, handed to the handler when it runs in this process. */
  input?: unknown;
  /** Told of everything that happens to a new task from its very start, as by {@link TaskRuntime.subscribe}. Not of a replayed one. */
  watcher?: Watcher;
}

export interface CreatedTask {
  /** The record as it was created, `working`, even if the work has ended meanwhile; on a replay, as it now is. */
  task: TaskRecord;
  /** Whether an earlier call of the same key made the task. */
  replayed: boolean;
}

export interface CancelledResult {
  task: TaskRecord;
  /** `false` when the task had ended already, or its own end landed first. */
  cancelled: boolean;
}

export interface WaitOptions {
  /** What to wait for. Default: that the task is terminal. */
  until?: (task: TaskRecord) => boolean;
  /** Stops the waiting; the promise then rejects with the signal's reason. The task is not touched. */
  signal?: AbortSignal;
}

export class TaskRuntime {
  readonly runnerId: string = newRunnerId();
  readonly #store: TaskStore;
  readonly #runner: Runner;
  readonly #clock: Clock;
  readonly #logger: Logger;
  readonly #options: Required<Omit<TaskRuntimeOptions, "store" | "runner" | "clock" | "logger" | "pollIntervalMs">>;
  readonly #pollIntervalMs: number;
  readonly #tools = new Map<string, ToolDefinition>();
  readonly #attempts = new Map<string, RunningAttempt>();
  readonly #watchers = new Watchers();
  readonly #refreshing = new Set<string>();
  readonly #host: AttemptHost;
  readonly #flusher: Flusher;
  readonly #deadlines: Deadlines;
  readonly #sweeper: Sweeper;
  readonly #recovery: Recovery;
  #opening: Promise<void> | undefined;
  #closing: Promise<void> | undefined;
  #isOpen = false;
  #clockOffsetMs = 0;
  #releases: (() => void)[] = [];

  constructor(options: TaskRuntimeOptions = {}) {
    this.#clock = options.clock ?? systemClock;
    this.#logger = options.logger ?? stderrLogger;
    this.#store = options.store ?? new MemoryStore({ clock: this.#clock });
    this.#runner = options.runner ?? new InProcessRunner();
    this.#options = withDefaults(options);
    this.#pollIntervalMs = options.pollIntervalMs ?? (this.#store.signals === undefined ? 1000 : 5000);
    this.#deadlines = new Deadlines(this.#clock);
    this.#flusher = new Flusher(this.#clock);
    this.#host = this.#attemptHost();
    this.#sweeper = new Sweeper({
      store: this.#store,
      clock: this.#clock,
      logger: this.#logger,
      intervalMs: this.#options.sweepIntervalMs,
    });
    this.#recovery = new Recovery({
      store: this.#store,
      logger: this.#logger,
      maxTries: this.#options.maxTries,
      runsTasks: this.#runner.inProcess,
      runnerId: this.runnerId,
      leaseUntilAt: () => this.#leaseUntilAt(),
      now: () => this.now(),
      isMine: (taskId) => this.#attempts.has(taskId),
      toolNamed: (name) => this.#tools.get(name),
      apply: (task, event) => this.#apply(task, event),
      adopt: (task) => this.#adopt(task),
    });
  }

  /** How long finished tasks are kept by default, and what callers may ask for, in milliseconds. */
  get retention(): { defaultTtlMs: number; maxTtlMs: number } {
    const { defaultTtlMs, maxTtlMs } = this.#options;
    return { defaultTtlMs, maxTtlMs };
  }

  /** What runs or waits here; all zero when nothing is left behind. */
  get gauges(): { attempts: number; running: number; stillRunningAfterEnd: number; watchedTasks: number } {
    const attempts = [...this.#attempts.values()];
    const running = attempts.filter((attempt) => attempt.isRunning);
    return {
      attempts: attempts.length,
      running: running.length,
      stillRunningAfterEnd: running.filter((attempt) => attempt.isOver).length,
      watchedTasks: this.#watchers.size,
    };
  }

  /** The instant by the store's clock, epoch milliseconds. */
  now(): number {
    return this.#clock.now() + this.#clockOffsetMs;
  }

  // --- life ------------------------------------------------------------------------------------------------------

  /** Makes a tool known. A name that is known already is replaced, for tasks that start from now on. */
  define(tool: ToolDefinition): void {
    this.#tools.set(tool.name, tool);
  }

  /** Forgets a tool; tasks that run go on. */
  undefine(name: string): void {
    this.#tools.delete(name);
  }

  /** Opens the store and begins to run tasks. A second call gets the first one's promise. Rejects when the store cannot be used. */
  open(): Promise<void> {
    this.#opening ??= this.#open().catch((error: unknown) => {
      this.#opening = undefined;
      throw error;
    });
    return this.#opening;
  }

  async #open(): Promise<void> {
    await this.#closing;
    this.#closing = undefined;
    await this.#store.open?.();
    await this.#readStoreClock();
    await this.#runner.open({ run: (taskId) => this.#run(taskId) });
    this.#releases.push(takeStrayErrors());
    if (this.#store.signals !== undefined)
      this.#releases.push(this.#store.signals.subscribe((taskId) => this.#hint(taskId)));
    if (this.#store.singleProcess !== true) this.#startHousekeeping();
    this.#sweeper.start();
    this.#isOpen = true;
  }

  /**
   * Takes nothing new, lets what runs go on for at most `drainMs` (default 0), then ends it by its tool's policy: handed
   * over where it may run again, failed otherwise, partial output kept. A second call gets the first one's promise.
   */
  close(options: { drainMs?: number } = {}): Promise<void> {
    this.#closing ??= this.#close(options.drainMs ?? 0);
    return this.#closing;
  }

  async #close(drainMs: number): Promise<void> {
    await this.#opening?.catch(() => {});
    this.#isOpen = false;
    this.#sweeper.stop();
    await this.#runner.close();
    if (drainMs > 0) await this.#drained(drainMs);
    await Promise.allSettled([...this.#attempts.values()].map((attempt) => this.#putDown(attempt)));
    for (const release of this.#releases.splice(0)) release();
    this.#flusher.close();
    this.#deadlines.clear();
    this.#attempts.clear();
    await this.#store.close?.();
    this.#opening = undefined;
  }

  #drained(drainMs: number): Promise<void> {
    const settled = [...this.#attempts.values()]
      .filter((attempt) => attempt.isRunning)
      .map((attempt) => attempt.whenSettled());
    return Promise.race([Promise.all(settled).then(() => {}), this.#pause(drainMs)]);
  }

  #putDown(attempt: RunningAttempt): Promise<void> {
    const { recovery } = attempt.task;
    const mayRunAgain = recovery !== "fail" || !attempt.isRunning;
    if (mayRunAgain && this.#store.singleProcess !== true) return attempt.release();
    return attempt.stopAndFail("shutdown", "The server shut down before the work ended.");
  }

  async #readStoreClock(): Promise<void> {
    if (this.#store.now === undefined) return;
    this.#clockOffsetMs = (await this.#store.now()) - this.#clock.now();
  }

  /** Renewing leases, finding lost ones and asking a silent store anew, for stores that other processes use too. */
  #startHousekeeping(): void {
    const { leaseMs } = this.#options;
    this.#every(leaseMs / 3, () => this.#renewLeases());
    this.#every(leaseMs / 3, () => this.#recovery.look());
    this.#every(this.#pollIntervalMs, () => this.#refreshWatched());
    void this.#recovery.look();
  }

  /** Calls `work` again and again, each time `intervalMs` after it has ended, until the runtime closes. */
  #every(intervalMs: number, work: () => Promise<void>): void {
    let timer = this.#clock.setTimer(tick, intervalMs);
    let stopped = false;
    const again = (): void => {
      if (!stopped) timer = this.#clock.setTimer(tick, intervalMs);
    };
    const complain = (error: unknown): void =>
      this.#logger.warn({ error: describeError(error) }, "the store could not be asked; trying again");
    function tick(): void {
      void work().catch(complain).then(again);
    }
    this.#releases.push(() => {
      stopped = true;
      this.#clock.clearTimer(timer);
    });
  }

  async #renewLeases(): Promise<void> {
    await Promise.allSettled([...this.#attempts.values()].map((attempt) => attempt.renew()));
    await this.#readStoreClock();
  }

  // --- in --------------------------------------------------------------------------------------------------------

  /**
   * Creates a task and starts it, or answers the task that the same call with the same key made before. The record is
   * durable before this resolves; a refusal or a store that fails leaves nothing behind, and the key stays free.
   *
   * @throws TaskError `unknown_tool`, `invalid_ttl`, `invalid_idempotency_key`, `idempotency_conflict`,
   *   `invalid_arguments`, `not_open`
   */
  async create(call: CreateTask): Promise<CreatedTask> {
    const tool = this.#toolFor(call.toolName);
    const record = this.#newRecord(tool, call);
    const reserved = this.#runner.reserve(call.owner);
    if (reserved && record.attempt.state === "leased") record.attempt.startedAt = record.createdAt;
    let task: TaskRecord;
    try {
      task = await this.#store.create(record);
    } catch (error) {
      if (reserved) this.#runner.unreserve(call.owner);
      throw error;
    }
    if (task.taskId !== record.taskId) {
      if (reserved) this.#runner.unreserve(call.owner);
      return replay(task, record);
    }
    // Before the work begins: quick work may end before this promise's caller hears of it.
    if (call.watcher !== undefined) this.#watchers.add(task.taskId, call.watcher);
    await this.#begin(tool, task, call.input, reserved);
    return { task, replayed: false };
  }

  #toolFor(name: string): ToolDefinition {
    if (!this.#isOpen)
      throw new TaskError("not_open", "The server takes no tasks now: it has not been opened, or is shutting down.");
    const tool = this.#tools.get(name);
    if (tool === undefined)
      throw new TaskError("unknown_tool", `No tool named ${JSON.stringify(name)} can run as a task here.`);
    return tool;
  }

  #newRecord(tool: ToolDefinition, call: CreateTask): LiveTask {
    const now = this.now();
    const { maxArgumentsBytes } = this.#options;
    checkArguments(call.arguments, maxArgumentsBytes);
    const record: LiveTask = {
      taskId: newTaskId(),
      owner: call.owner,
      toolName: tool.name,
      arguments: call.arguments,
      status: "working",
      createdAt: now,
      lastUpdatedAt: now,
      ttlMs: this.#ttl(call.ttlMs, tool),
      recovery: tool.recovery ?? "fail",
      questions: [],
      attempt: this.#firstAttempt(),
      version: 1,
    };
    if (call.idempotencyKey !== undefined) {
      record.idempotencyKey = checkIdempotencyKey(call.idempotencyKey);
      record.fingerprint = fingerprint(tool.name, call.arguments);
    }
    if (tool.pollIntervalMs !== undefined) record.pollIntervalMs = tool.pollIntervalMs;
    if (tool.maxRunMs !== undefined) record.maxRunMs = tool.maxRunMs;
    if (call.request !== undefined) record.request = call.request;
    return record;
  }

  #firstAttempt(): TaskRecord["attempt"] {
    if (!this.#runner.inProcess) return { state: "queued", epoch: 0, tries: 0 };
    return { state: "leased", epoch: 1, tries: 1, runnerId: this.runnerId, leaseUntilAt: this.#leaseUntilAt() };
  }

  /** What retention is enforced for a wish; what is echoed is this. */
  #ttl(wish: number | null | undefined, tool: ToolDefinition): number {
    const { defaultTtlMs, maxTtlMs } = this.#options;
    if (wish === undefined) return Math.min(tool.ttlMs ?? defaultTtlMs, maxTtlMs);
    if (wish === null) return maxTtlMs;
    if (typeof wish !== "number" || !Number.isFinite(wish) || wish < 0) {
      throw new TaskError(
        "invalid_ttl",
        `ttl must be a finite number of milliseconds, at least 0, or null; got ${JSON.stringify(wish)}.`,
      );
    }
    return Math.min(Math.floor(wish), maxTtlMs);
  }

  async #begin(tool: ToolDefinition, task: TaskRecord, input: unknown, reserved: boolean): Promise<void> {
    if (this.#runner.inProcess) this.#attempts.set(task.taskId, new RunningAttempt(this.#host, tool, task, input));
    await this.#runner.submit({ taskId: task.taskId, owner: task.owner }, reserved);
  }

  /** Runs a task that this process has just leased. */
  async #adopt(task: TaskRecord): Promise<void> {
    const tool = this.#tools.get(task.toolName);
    if (tool === undefined) return;
    await this.#begin(tool, task, undefined, false);
  }

  async #run(taskId: string): Promise<void> {
    const attempt = this.#attempts.get(taskId);
    if (attempt === undefined) return;
    try {
      await attempt.run();
    } catch (error) {
      this.#logger.error({ taskId, error: describeError(error) }, "an attempt could not be started or ended");
    } finally {
      this.#attempts.delete(taskId);
    }
  }

  // --- out -------------------------------------------------------------------------------------------------------

  /** The owner's task; `null` when there is none of that id, it has expired, or it is somebody else's. */
  async get(owner: string, taskId: string): Promise<TaskRecord | null> {
    const task = await this.#store.get(taskId);
    return task === null || task.owner !== owner ? null : task;
  }

  /** The owner's tasks without their payloads, newest first; 50 a page by default, at most 1000. */
  list(owner: string, query: { cursor?: string; limit?: number } = {}): Promise<TaskPage> {
    const limit = Math.min(query.limit ?? 50, 1000);
    return this.#store.list(query.cursor === undefined ? { owner, limit } : { owner, limit, cursor: query.cursor });
  }

  /**
   * Waits, without polling, until the task is as asked; `null` as soon as there is no such task. Any number may wait
   * for one task.
   */
  wait(owner: string, taskId: string, options: WaitOptions = {}): Promise<TaskRecord | null> {
    const until = options.until ?? isTerminal;
    return new Promise((resolve, reject) => {
      let unsubscribe = (): void => {};
      const end = (settle: () => void): void => {
        unsubscribe();
        options.signal?.removeEventListener("abort", onAbort);
        settle();
      };
      const onAbort = (): void => end(() => reject(options.signal?.reason));
      const consider = (task: TaskRecord | null): void => {
        if (task === null || task.owner !== owner) end(() => resolve(null));
        else if (until(task)) end(() => resolve(task));
      };
      // Watching begins before the first read, so that no change falls between the two.
      unsubscribe = this.subscribe(taskId, (news) => {
        if (news.type !== "progress") consider(news.type === "gone" ? null : news.task);
      });
      options.signal?.addEventListener("abort", onAbort);
      if (options.signal?.aborted) onAbort();
      else this.#store.get(taskId).then(consider, (error: unknown) => end(() => reject(error)));
    });
  }

  /**
   * Tells `watcher` of every change of the task from now on, as far as this process hears of it, until the task is
   * terminal. The owner is not checked: the caller has read the task.
   *
   * @returns a function that stops it; calling it is not needed once the task is terminal
   */
  subscribe(taskId: string, watcher: Watcher): () => void {
    return this.#watchers.add(taskId, watcher);
  }

  /**
   * Stops the work and ends the task; what was produced so far is kept as its result. Resolves when the task is terminal:
   * at the latest after the grace periods. `null` when there is no such task.
   */
  async cancel(owner: string, taskId: string): Promise<CancelledResult | null> {
    const task = await this.get(owner, taskId);
    if (task === null) return null;
    if (isTerminal(task)) return { task, cancelled: false };
    const attempt = this.#attempts.get(taskId);
    if (attempt === undefined || attempt.isOver) await this.#cancelElsewhere(task);
    else await this.#cancelHere(attempt);
    const ended = await this.get(owner, taskId);
    return ended === null ? null : { task: ended, cancelled: ended.status === "cancelled" };
  }

  async #cancelHere(attempt: RunningAttempt): Promise<void> {
    const { taskId, owner } = attempt;
    const dequeued = await this.#runner.remove({ taskId, owner });
    await attempt.cancel();
    if (dequeued) this.#attempts.delete(taskId);
  }

  /** Asks the process that runs the task to stop it; does without it when it is lost or does not answer in time. */
  async #cancelElsewhere(task: TaskRecord): Promise<void> {
    await this.#runner.remove({ taskId: task.taskId, owner: task.owner });
    if (task.attempt.state === "leased" && task.attempt.leaseUntilAt > this.now()) {
      const asked = await this.#apply(task, { type: "request_cancel" });
      if (asked === null || isTerminal(asked.task)) return;
      const ended = await this.#endsWithin(task, 2 * this.#options.cancelGraceMs + this.#pollIntervalMs);
      if (ended) return;
    }
    const how = task.attempt.state === "queued" ? "not_started" : "still_running";
    await this.#apply(task, { type: "cancel", how });
  }

  async #endsWithin(task: TaskRecord, ms: number): Promise<boolean> {
    const controller = new AbortController();
    const deadline = this.#deadlines.at(this.now() + ms, () => controller.abort());
    try {
      await this.wait(task.owner, task.taskId, { signal: controller.signal });
      return true;
    } catch (error) {
      if (controller.signal.aborted) return false;
      throw error;
    } finally {
      deadline.cancel();
    }
  }

  /**
   * Gives the answer to an outstanding question. Unknown and answered keys are ignored; `null` when there is no such task.
   */
  async answer(owner: string, taskId: string, key: string, answer: JsonObject): Promise<"accepted" | "ignored" | null> {
    const task = await this.get(owner, taskId);
    if (task === null) return null;
    const applied = await this.#apply(task, { type: "answer", key, answer });
    if (applied === null) return null;
    return applied.refused === undefined ? "accepted" : "ignored";
  }

  // --- writing and hearing of writes -----------------------------------------------------------------------------

  async #apply(task: TaskRecord, event: TaskEvent): Promise<Applied> {
    let current = task;
    for (;;) {
      const decided = transition(current, event, this.now());
      if ("refused" in decided) return { task: current, refused: decided.refused };
      const written = await this.#store.update(current.taskId, current.version, decided.changes);
      if (written === null) return null;
      if (written !== "conflict") return this.#heard(written, event);
      const read = await this.#store.get(current.taskId);
      if (read === null) return null;
      current = read;
    }
  }

  #heard(task: TaskRecord, event: TaskEvent): Applied {
    this.#tell(task);
    // Nobody but the runner itself waits for a renewal.
    if (event.type !== "renew") this.#store.signals?.publish(task.taskId);
    return { task };
  }

  #tell(task: TaskRecord): void {
    this.#attempts.get(task.taskId)?.see(task);
    this.#watchers.tell(task.taskId, { type: "changed", task });
  }

  /** Another process says that a task changed; `null` when it can't say which. */
  #hint(taskId: string | null): void {
    const concerned =
      taskId === null ? this.#concerned() : [taskId].filter((id) => this.#watchers.has(id) || this.#attempts.has(id));
    for (const id of concerned) void this.#refresh(id);
  }

  #concerned(): string[] {
    return [...new Set([...this.#watchers.taskIds, ...this.#attempts.keys()])];
  }

  async #refreshWatched(): Promise<void> {
    await Promise.all(
      [...this.#watchers.taskIds].filter((id) => !this.#attempts.has(id)).map((id) => this.#refresh(id)),
    );
  }

  /** Reads a task anew, once for however many want to know. */
  async #refresh(taskId: string): Promise<void> {
    if (this.#refreshing.has(taskId)) return;
    this.#refreshing.add(taskId);
    try {
      const task = await this.#store.get(taskId);
      if (task === null) this.#watchers.tell(taskId, { type: "gone", taskId });
      else this.#tell(task);
    } catch (error) {
      this.#logger.warn(
        { taskId, error: describeError(error) },
        "a task could not be read anew; the next poll will tell",
      );
    } finally {
      this.#refreshing.delete(taskId);
    }
  }

  #attemptHost(): AttemptHost {
    const { cancelGraceMs, maxOutputBytes, maxResultBytes } = this.#options;
    return {
      logger: this.#logger,
      deadlines: this.#deadlines,
      flusher: this.#flusher,
      cancelGraceMs,
      maxOutputBytes,
      maxResultBytes,
      now: () => this.now(),
      leaseUntilAt: () => this.#leaseUntilAt(),
      apply: (task, event) => this.#apply(task, event),
      tellProgress: (taskId: string, progress: Progress) =>
        this.#watchers.tell(taskId, { type: "progress", taskId, progress }),
      pause: (delayMs) => this.#pause(delayMs),
    };
  }

  #leaseUntilAt(): number {
    return this.#store.singleProcess === true ? Number.MAX_SAFE_INTEGER : this.now() + this.#options.leaseMs;
  }

  #pause(delayMs: number): Promise<void> {
    return new Promise((resolve) => this.#clock.setTimer(resolve, delayMs));
  }
}

function withDefaults(options: TaskRuntimeOptions) {
  return {
    defaultTtlMs: options.defaultTtlMs ?? DEFAULT_TTL_MS,
    maxTtlMs: options.maxTtlMs ?? MAX_TTL_MS,
    leaseMs: options.leaseMs ?? 15_000,
    cancelGraceMs: options.cancelGraceMs ?? 5000,
    maxOutputBytes: options.maxOutputBytes ?? 1024 * 1024,
    maxResultBytes: options.maxResultBytes ?? 64 * 1024 * 1024,
    maxArgumentsBytes: options.maxArgumentsBytes ?? 4 * 1024 * 1024,
    sweepIntervalMs: options.sweepIntervalMs ?? 30_000,
    maxTries: options.maxTries ?? 3,
  };
}

function checkArguments(args: JsonObject, maxBytes: number): void {
  const bytes = Buffer.byteLength(JSON.stringify(args));
  if (bytes > maxBytes)
    throw new TaskError(
      "invalid_arguments",
      `The arguments have ${bytes} bytes as JSON; at most ${maxBytes} are accepted.`,
    );
}

/** The earlier task, if it is of the same call. */
function replay(earlier: TaskRecord, now: TaskRecord): CreatedTask {
  if (earlier.fingerprint === now.fingerprint) return { task: earlier, replayed: true };
  const why = earlier.toolName === now.toolName ? "other arguments" : `the tool ${JSON.stringify(earlier.toolName)}`;
  throw new TaskError(
    "idempotency_conflict",
    `The idempotency key was used for a call with ${why}. Use a new key for a new call.`,
  );
}
