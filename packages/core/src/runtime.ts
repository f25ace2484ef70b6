/**
 * The one way in and out: creating, reading, waiting for, answering and cancelling tasks, whatever store they live
 * in, whatever runs them and whatever dialect asks. The owner is checked here, above the store, on every call.
 */
import { Admission } from "./admission.js";
import type { Applied } from "./attempt-host.js";
import { BoundedStore } from "./bounded-store.js";
import { type CancelledResult, Canceller } from "./canceller.js";
import { type Clock, systemClock } from "./clock.js";
import type { ToolDefinition } from "./context.js";
import { Creations } from "./creations.js";
import { Deadlines } from "./deadlines.js";
import { TaskError } from "./errors.js";
import { Flusher } from "./flusher.js";
import { newRunnerId } from "./ids.js";
import type { JsonObject } from "./json.js";
import { Lifecycle } from "./lifecycle.js";
import { limitsOf } from "./limits.js";
import { describeError, type Logger, stderrLogger } from "./logger.js";
import { MemoryStore } from "./memory-store.js";
import type { CreatedTask, CreateTask } from "./new-task.js";
import { News } from "./news.js";
import type { PollLimiter } from "./poll-limiter.js";
import { RecordWriter } from "./record-writer.js";
import { Recovery } from "./recovery.js";
import { Repeater } from "./repeater.js";
import { Sweeper } from "./retention.js";
import { InProcessRunner, type Runner } from "./runner.js";
import { RunningAttempts } from "./running-attempts.js";
import { type Settings, settingsOf, type TaskRuntimeOptions } from "./runtime-options.js";
import { assertAnswers, type GivenAnswers } from "./size-limits.js";
import { SparingLogger } from "./sparing-logger.js";
import type { TaskPage, TaskStore } from "./store.js";
import { StoreClock } from "./store-clock.js";
import { takeStrayErrors } from "./stray-errors.js";
import type { SubscriptionLimiter } from "./subscription-limiter.js";
import { isTerminal, type TaskRecord } from "./task.js";
import { assertRecovery } from "./tool-recovery.js";
import type { TaskEvent } from "./transitions.js";
import { closedWhileWaiting, type WaitingRoom, type WaitOptions, waitFor } from "./waiting.js";
import { isRecordNews, type RecordNews, type Watcher, Watchers } from "./watchers.js";
import { LATE, within } from "./within.js";

/** How long closing may take for the sake of what runs; see {@link TaskRuntime.close}. */
export interface CloseOptions {
  /** For work to end by itself, ms. Default 0. */
  drainMs?: number;
  /** For work to stop once it has been told to, ms; less than its tool's grace cuts that short. Default: the grace. */
  stopMs?: number;
}

/** A task that is followed. */
export interface Followed {
  /** As it was when it was read. */
  readonly task: TaskRecord;
  /** Nothing more is told; calling it is not needed once the task is terminal. */
  readonly stop: () => void;
}

export class TaskRuntime {
  readonly runnerId: string = newRunnerId();
  readonly #store: TaskStore;
  readonly #runner: Runner;
  readonly #clock: Clock;
  readonly #time: StoreClock;
  readonly #logger: Logger;
  /** What a store that is out makes many tasks say. */
  readonly #outageLogger: Logger;
  readonly #settings: Settings;
  readonly #admission: Admission;
  readonly #tools = new Map<string, ToolDefinition>();
  readonly #attempts: RunningAttempts;
  readonly #watchers: Watchers;
  readonly #news: News;
  readonly #writer: RecordWriter;
  readonly #waitingRoom: WaitingRoom;
  readonly #creations: Creations;
  readonly #canceller: Canceller;
  readonly #flusher: Flusher;
  /** Of instants that records name. */
  readonly #deadlines: Deadlines;
  /** Of how long this process waits, whatever the time is set to meanwhile. */
  readonly #runDeadlines: Deadlines;
  readonly #sweeper: Sweeper;
  readonly #recovery: Recovery;
  /** Renewing leases and asking a silent store anew, for stores that other processes use too. */
  readonly #upkeep: readonly Repeater[];
  readonly #life: Lifecycle<CloseOptions> = new Lifecycle({
    open: (isAbandoned) => this.#open(isAbandoned),
    close: (options) => this.#close(options),
    isInTime: (opening) => this.#within(this.#settings.storeTimeoutMs, opening),
  });
  /** Reads and waiting go on while it is `draining`. */
  #state: "closed" | "open" | "draining" = "closed";
  #releases: (() => void)[] = [];

  constructor(options: TaskRuntimeOptions = {}) {
    this.#clock = options.clock ?? systemClock;
    this.#logger = options.logger ?? stderrLogger;
    this.#time = new StoreClock(this.#clock);
    this.#outageLogger = new SparingLogger(this.#logger, this.#time.elapsed);
    this.#settings = settingsOf(options);
    this.#deadlines = new Deadlines(this.#time);
    this.#runDeadlines = new Deadlines(this.#time.running);
    this.#store = this.#bounded(options.store ?? new MemoryStore({ clock: this.#clock }));
    this.#runner = options.runner ?? new InProcessRunner();
    const limits = limitsOf(options.limits);
    this.#admission = new Admission({ limits, runner: this.#runner, now: this.#time.now });
    this.#flusher = new Flusher(this.#clock);
    this.#watchers = new Watchers(this.#logger);
    this.#writer = new RecordWriter({
      store: this.#store,
      now: this.#time.now,
      onWritten: (task) => this.#news.tell(task),
    });
    this.#waitingRoom = {
      watchers: this.#watchers,
      get: (owner, taskId) => this.get(owner, taskId),
      isClosed: () => this.#state === "closed",
      enter: (owner) => this.#admission.enterWaiting(owner),
      leave: (owner) => this.#admission.leaveWaiting(owner),
    };
    this.#attempts = this.#newAttempts();
    this.#news = this.#newNews();
    this.#creations = this.#newCreations();
    this.#canceller = this.#newCanceller();
    this.#sweeper = this.#newSweeper();
    this.#recovery = this.#newRecovery();
    this.#upkeep = this.#newUpkeep();
  }

  /** What only this process can reach does not hang, and is not slowed down by being watched. */
  #bounded(store: TaskStore): TaskStore {
    if (store.singleProcess === true) return store;
    const { storeTimeoutMs: timeoutMs } = this.#settings;
    return new BoundedStore(store, { deadlines: this.#runDeadlines, now: this.#time.now, timeoutMs });
  }

  #newSweeper(): Sweeper {
    const { sweepIntervalMs: intervalMs } = this.#settings;
    return new Sweeper({ store: this.#store, clock: this.#clock, logger: this.#logger, intervalMs });
  }

  #newRecovery(): Recovery {
    const { leaseMs, maxTries, unknownToolMs } = this.#settings;
    return new Recovery({
      store: this.#store,
      clock: this.#clock,
      deadlines: this.#deadlines,
      logger: this.#outageLogger,
      maxTries,
      unknownToolMs,
      leaseMs,
      runsTasks: this.#runner.inProcess,
      runnerId: this.runnerId,
      leaseUntilAt: () => this.#leaseUntilAt(),
      now: this.#time.now,
      elapsed: this.#time.elapsed,
      isMine: (taskId) => this.#attempts.get(taskId)?.isOver === false,
      toolNamed: (name) => this.#tools.get(name),
      apply: (task, event) => this.#apply(task, event),
      adopt: (task) => this.#adopt(task),
    });
  }

  #newCanceller(): Canceller {
    return new Canceller({
      runner: this.#runner,
      watchers: this.#watchers,
      logger: this.#logger,
      settings: this.#settings,
      now: this.#time.now,
      get: (owner, taskId) => this.get(owner, taskId),
      attemptOf: (taskId) => this.#attempts.get(taskId),
      toolNamed: (name) => this.#tools.get(name),
      apply: (task, event) => this.#apply(task, event),
      // Of the engine's own waiting nobody has too much.
      waitForEnd: ({ owner, taskId }, signal) =>
        waitFor({ ...this.#waitingRoom, enter: () => {}, leave: () => {} }, owner, taskId, { signal }),
      within: (ms, work) => this.#within(ms, work),
    });
  }

  #newAttempts(): RunningAttempts {
    return new RunningAttempts({
      runner: this.#runner,
      ledger: this.#admission.ledger,
      singleProcess: this.#store.singleProcess === true,
      within: (ms, work) => this.#within(ms, work),
      host: {
        logger: this.#logger,
        outageLogger: this.#outageLogger,
        deadlines: this.#deadlines,
        runDeadlines: this.#runDeadlines,
        flusher: this.#flusher,
        settings: this.#settings,
        elapsed: this.#time.elapsed,
        mayRetry: () => this.#state === "open" || this.#store.singleProcess !== true,
        now: this.#time.now,
        leaseUntilAt: () => this.#leaseUntilAt(),
        apply: (task, event) => this.#apply(task, event),
        tellProgress: (taskId, progress) => this.#watchers.progress(taskId, progress),
        tellLog: (taskId, message) => this.#watchers.log(taskId, message),
        pause: (delayMs) => this.#pause(delayMs),
      },
    });
  }

  #newNews(): News {
    return new News({
      store: this.#store,
      clock: this.#clock,
      admission: this.#admission,
      watchers: this.#watchers,
      attempts: this.#attempts,
      logger: this.#logger,
      outageLogger: this.#outageLogger,
      awaitTry: (task) => this.#recovery.awaitTry(task),
    });
  }

  #newCreations(): Creations {
    return new Creations({
      store: this.#store,
      runner: this.#runner,
      admission: this.#admission,
      attempts: this.#attempts,
      watchers: this.#watchers,
      settings: this.#settings,
      runnerId: this.runnerId,
      now: this.#time.now,
      leaseUntilAt: () => this.#leaseUntilAt(),
      isOpen: () => this.#state === "open",
      toolFor: (name) => this.#toolFor(name),
    });
  }

  #newUpkeep(): Repeater[] {
    const { leaseMs, pollIntervalMs } = this.#settings;
    const clock = this.#clock;
    const onError = (error: unknown): void =>
      this.#logger.warn({ error: describeError(error) }, "the store could not be asked; trying again");
    return [
      new Repeater({ clock, onError, intervalMs: leaseMs / 3, work: () => this.#renewLeases() }),
      new Repeater({ clock, onError, intervalMs: pollIntervalMs, work: () => this.#news.lookAnew() }),
    ];
  }

  /** How long finished tasks are kept by default, and what callers may ask for, in milliseconds. */
  get retention(): { defaultTtlMs: number; maxTtlMs: number } {
    const { defaultTtlMs, maxTtlMs } = this.#settings;
    return { defaultTtlMs, maxTtlMs };
  }

  /** How long a tool that does not say it has to stop when it is cancelled, and again after escalating, in milliseconds. */
  get cancelGraceMs(): number {
    return this.#settings.cancelGraceMs;
  }

  /** What runs or waits here; all zero when nothing is left behind. */
  get gauges(): { attempts: number; running: number; stillRunningAfterEnd: number; watchedTasks: number } {
    return { ...this.#attempts.gauges, watchedTasks: this.#watchers.size };
  }

  /** How often owners ask in vain; kept by whoever passes their questions on. What an operator asks counts for nobody. */
  get polls(): PollLimiter {
    return this.#admission.polls;
  }

  /** How much of the tasks owners subscribe to; kept like {@link polls}. */
  get subscriptions(): SubscriptionLimiter {
    return this.#admission.subscriptions;
  }

  /** The instant by the store's clock, epoch milliseconds. */
  now(): number {
    return this.#time.now();
  }

  // --- life ------------------------------------------------------------------------------------------------------

  /**
   * Makes a tool known. A name that is known already is replaced, for tasks that start from now on.
   *
   * @throws TypeError, RangeError for a recovery that is none
   */
  define(tool: ToolDefinition): void {
    assertRecovery(tool.name, tool.recovery);
    this.#tools.set(tool.name, tool);
  }

  /**
   * Opens the store and begins to run tasks, once a closing that is under way is done. A second call gets the first one's
   * promise. Rejects when the store cannot be used; nothing is left open then, and it may be tried again.
   */
  open(): Promise<void> {
    return this.#life.open();
  }

  async #open(isAbandoned: () => boolean): Promise<void> {
    try {
      await this.#store.open?.();
      if (isAbandoned()) throw new TaskError("not_open", "The runtime was closed while the store was being opened.");
      await this.#time.read(this.#store);
      await this.#runner.open({ run: (taskId) => this.#attempts.run(taskId) });
      this.#releases.push(takeStrayErrors());
      if (this.#store.signals !== undefined)
        this.#releases.push(this.#store.signals.subscribe((taskId) => this.#news.hint(taskId)));
    } catch (error) {
      await this.#letGo(call(() => this.#runner.close())).catch((also: unknown) =>
        this.#logger.error({ error: describeError(also) }, "what had been opened could not be closed"),
      );
      throw error;
    }
    this.#state = "open";
    this.#sweeper.start();
    this.#recovery.start({ again: this.#store.singleProcess !== true });
    if (this.#store.singleProcess === true) return;
    for (const repeater of this.#upkeep) repeater.start();
  }

  /**
   * Takes nothing new, lets what runs go on for at most `drainMs` (default 0; tasks that wait for a person are not waited
   * for), then ends it by its tool's policy: handed over where it may run again, failed otherwise, partial output kept.
   * Work that does not stop holds it up for its grace, and for `stopMs` at the most (default: no other limit); a store
   * that hangs, for its time-out. A second call gets the first one's promise.
   */
  close(options: CloseOptions = {}): Promise<void> {
    return this.#life.close(options);
  }

  async #close({ drainMs = 0, stopMs }: CloseOptions): Promise<void> {
    this.#state = "draining";
    this.#recovery.stop();
    this.#sweeper.stop();
    const { storeTimeoutMs } = this.#settings;
    // What it has queued stays where it is, to be put down or left to others.
    const runnerClosed = call(() => this.#runner.close());
    // Looked at last of all, which must not count as unhandled until then.
    runnerClosed.catch(() => {});
    try {
      await this.#within(storeTimeoutMs, this.#creations.allDone());
      if (drainMs > 0) await this.#within(drainMs, this.#attempts.drained());
      await this.#attempts.putAllDown(stopMs);
    } finally {
      await this.#letGo(runnerClosed);
    }
  }

  /** Gives up everything that opening took. Takes every step, whatever another one throws, and throws that in the end. */
  async #letGo(runnerClosed: Promise<void>): Promise<void> {
    this.#state = "closed";
    for (const repeater of this.#upkeep) repeater.stop();
    this.#news.stop();
    for (const release of this.#releases.splice(0)) release();
    this.#watchers.close();
    this.#attempts.forgetAll();
    this.#flusher.close();
    const steps = await Promise.allSettled([runnerClosed, call(() => this.#store.close?.())]);
    const failed = steps.find((step) => step.status === "rejected");
    if (failed !== undefined) throw failed.reason;
  }

  async #renewLeases(): Promise<void> {
    await this.#attempts.renewLeases();
    await this.#time.read(this.#store);
  }

  // --- in --------------------------------------------------------------------------------------------------------

  /**
   * Creates a task and starts it, or answers the task that the same call with the same key made before. The record is
   * durable before this resolves; a refusal or a store that fails leaves nothing behind, and the key stays free. A store
   * that does not answer in time may have created the task all the same, which then runs: a retry with the same key finds it.
   *
   * @throws TaskError `unknown_tool`, `invalid_ttl`, `invalid_idempotency_key`, `idempotency_conflict`,
   *   `invalid_arguments`, `too_large`, `limit_reached`, `not_open`
   */
  create(call: CreateTask): Promise<CreatedTask> {
    return this.#creations.create(call);
  }

  #toolFor(name: string): ToolDefinition {
    if (this.#state !== "open")
      throw new TaskError("not_open", "The server takes no tasks now: it has not been opened, or is shutting down.");
    const tool = this.#tools.get(name);
    if (tool === undefined)
      throw new TaskError("unknown_tool", `No tool named ${JSON.stringify(name)} can run as a task here.`);
    return tool;
  }

  /** Runs a task that this process has just leased. */
  async #adopt(task: TaskRecord): Promise<void> {
    const tool = this.#tools.get(task.toolName);
    if (tool === undefined || this.#state !== "open") {
      await this.#apply(task, { type: "release", epoch: task.attempt.epoch });
      return;
    }
    const queued = this.#attempts.begin(tool, task, task, false);
    if (task.cancellation !== undefined) void this.#attempts.get(task.taskId)?.cancel();
    await queued;
  }

  // --- out -------------------------------------------------------------------------------------------------------

  /** The owner's task; `null` when there is none of that id, it has expired, or it is somebody else's. */
  async get(owner: string, taskId: string): Promise<TaskRecord | null> {
    const task = await this.#store.get(taskId);
    return task === null || task.owner !== owner ? null : task;
  }

  /** The owner's tasks without their payloads, newest first; 50 a page by default, at least 1 and at most 1000. */
  async list(owner: string, query: { cursor?: string; limit?: number } = {}): Promise<TaskPage> {
    const limit = Math.max(1, Math.min(Math.floor(query.limit ?? 50), 1000));
    const page = await this.#store.list(
      query.cursor === undefined ? { owner, limit } : { owner, limit, cursor: query.cursor },
    );
    return { ...page, tasks: page.tasks.filter((task) => task.owner === owner) };
  }

  /**
   * Waits, without polling, until the task is as asked or has ended, after which it changes no more; `null` as soon as
   * there is no such task. Any number may wait for one task.
   *
   * @throws TaskError `not_open` when the runtime closes first, `limit_reached` when too many of the owner's wait
   */
  wait(owner: string, taskId: string, options: WaitOptions = {}): Promise<TaskRecord | null> {
    return waitFor(this.#waitingRoom, owner, taskId, options);
  }

  /**
   * Tells `watcher` of every change of the task from now on, as far as this process hears of it, until the task is
   * terminal; of one that has ended already, that. The owner is not checked: the caller has read the task.
   *
   * @returns a function that stops it; calling it is not needed once the task is terminal
   */
  subscribe(taskId: string, watcher: Watcher): () => void {
    const unsubscribe = this.#watchers.add(taskId, watcher);
    void this.#news.tellEnd(taskId);
    return unsubscribe;
  }

  /**
   * The owner's task as it is, and `hear` told of every change of its record from then on, as far as this process hears of
   * it, until the task is terminal; `null` when there is no such task. What changes while it is being read is told before
   * this resolves: of two records the one with the greater version counts.
   *
   * @throws TaskError `not_open` when the runtime has closed
   */
  async follow(owner: string, taskId: string, hear: (news: RecordNews) => void): Promise<Followed | null> {
    if (this.#state === "closed") throw closedWhileWaiting();
    const stop = this.#watchers.add(taskId, (news) => {
      if (isRecordNews(news) && (news.type !== "changed" || news.task.owner === owner)) hear(news);
    });
    let task: TaskRecord | null = null;
    try {
      task = await this.get(owner, taskId);
    } finally {
      if (task === null || isTerminal(task)) stop();
    }
    return task === null ? null : { task, stop };
  }

  /**
   * Stops the work and ends the task; what was produced so far is kept as its result. Resolves when the task is terminal,
   * which a tool that does not stop and a runner that does not answer hold up for their grace at the most. `null` when
   * there is no such task.
   */
  cancel(owner: string, taskId: string): Promise<CancelledResult | null> {
    return this.#canceller.cancel(owner, taskId);
  }

  /**
   * Gives the answer to an outstanding question. Unknown and answered keys are ignored; `null` when there is no such task.
   *
   * @throws TaskError `too_large` when the task may not keep the answer; the question stays open
   */
  async answer(owner: string, taskId: string, key: string, answer: JsonObject): Promise<"accepted" | "ignored" | null> {
    const task = await this.get(owner, taskId);
    if (task === null) return null;
    const { maxQuestionsBytes: mostBytes } = this.#settings;
    const applied = await this.#apply(task, { type: "answer", key, answer, mostBytes });
    if (applied === null) return null;
    if (applied.refused === "too_large") this.assertRoomFor(applied.task, [[key, answer]]);
    return applied.refused === undefined ? "accepted" : "ignored";
  }

  /**
   * For whoever gives several answers, of which all are taken or none.
   *
   * @throws TaskError `too_large` when the task may not keep `answers` to its questions
   */
  assertRoomFor(task: TaskRecord, answers: GivenAnswers): void {
    assertAnswers(task.questions, answers, this.#settings.maxQuestionsBytes);
  }

  #apply(task: TaskRecord, event: TaskEvent): Promise<Applied> {
    return this.#writer.apply(task, event);
  }

  #leaseUntilAt(): number {
    return this.#store.singleProcess === true ? Number.MAX_SAFE_INTEGER : this.now() + this.#settings.leaseMs;
  }

  #pause(delayMs: number): Promise<void> {
    return new Promise((resolve) => this.#runDeadlines.after(delayMs, resolve));
  }

  /** Whether `work` is done within `ms`; goes on without it if not. */
  async #within(ms: number, work: Promise<unknown>): Promise<boolean> {
    return (await within(this.#clock, ms, work)) !== LATE;
  }
}

/** Makes a rejection of what `work` throws at once. */
async function call(work: () => unknown): Promise<void> {
  await work();
}
