/** Making tasks: who may have one more, the one durable write, and what a retry of the same call is answered. */
import type { Admission } from "./admission.js";
import type { Call } from "./attempt-host.js";
import { StoreTimeoutError } from "./bounded-store.js";
import type { ToolDefinition } from "./context.js";
import type { TaskError } from "./errors.js";
import { type CreatedTask, type CreateTask, newTask, replay } from "./new-task.js";
import type { Runner } from "./runner.js";
import type { RunningAttempts } from "./running-attempts.js";
import type { Settings } from "./runtime-options.js";
import type { TaskStore } from "./store.js";
import type { TaskRecord } from "./task.js";
import type { Watchers } from "./watchers.js";

export interface CreationsOptions {
  store: TaskStore;
  runner: Runner;
  admission: Admission;
  attempts: RunningAttempts;
  watchers: Watchers;
  settings: Settings;
  runnerId: string;
  now: () => number;
  leaseUntilAt: () => number;
  isOpen: () => boolean;
  /** @throws TaskError for a tool of which there can be no task now */
  toolFor: (name: string) => ToolDefinition;
}

export class Creations {
  readonly #options: CreationsOptions;
  /** Those whose record is on its way to the store. */
  #underWay = 0;
  #onAllDone: (() => void) | undefined;

  constructor(options: CreationsOptions) {
    this.#options = options;
  }

  /** Creates the task and begins it, or answers the one that an earlier call of the same key made. */
  async create(call: CreateTask): Promise<CreatedTask> {
    const { store, runner, admission, attempts, watchers, settings, now, toolFor } = this.#options;
    const tool = toolFor(call.toolName);
    const record = newTask(tool, call, this.#firstAttempt(), now(), settings);
    const reserved = runner.reserve(call.owner);
    const admitted = admission.create(record, reserved);
    if (typeof admitted !== "function") {
      if (reserved) runner.unreserve(call.owner);
      return this.#replayAtLimit(record, admitted);
    }
    this.#underWay += 1;
    if (reserved && record.attempt.state === "leased") record.attempt.startedAt = record.createdAt;
    let begun = false;
    try {
      const task = await store.create(record);
      if (task.taskId !== record.taskId) return replay(task, record);
      begun = true;
      // Before the work begins: quick work may end before this promise's caller hears of it.
      if (call.watcher !== undefined) watchers.add(task.taskId, call.watcher);
      const queued = attempts.begin(tool, task, call, reserved);
      if (queued !== undefined) await queued;
      return { task, replayed: false };
    } catch (error) {
      if (error instanceof StoreTimeoutError) void this.#beginLate(error.late, tool, record, call);
      throw error;
    } finally {
      if (reserved && !begun) runner.unreserve(call.owner);
      admitted(begun);
      this.#underWay -= 1;
      if (this.#underWay === 0) this.#onAllDone?.();
    }
  }

  /** Resolves when no record is on its way to the store. */
  allDone(): Promise<void> {
    if (this.#underWay === 0) return Promise.resolve();
    return new Promise((resolve) => {
      this.#onAllDone = resolve;
    });
  }

  #firstAttempt(): TaskRecord["attempt"] {
    const { runner, runnerId, leaseUntilAt, settings, store } = this.#options;
    if (!runner.inProcess) return { state: "queued", epoch: 0, tries: 0 };
    const lease = { runnerId, leaseUntilAt: leaseUntilAt() };
    const renewed = store.singleProcess === true ? {} : { leaseMs: settings.leaseMs };
    return { state: "leased", epoch: 1, tries: 1, ...lease, ...renewed };
  }

  /** A retry asks for nothing new: it is answered the task that it made, also at a limit. */
  async #replayAtLimit(record: TaskRecord, refusal: TaskError): Promise<CreatedTask> {
    const { store, admission } = this.#options;
    const { owner, idempotencyKey } = record;
    if (idempotencyKey === undefined) throw refusal;
    await admission.keysInFlight.arrived(owner, idempotencyKey);
    const earlier = await store.findByKey(owner, idempotencyKey);
    if (earlier === null) throw refusal;
    return replay(earlier, record);
  }

  /** The store had the record after all, when nobody waited for it any more. */
  async #beginLate(late: Promise<unknown>, tool: ToolDefinition, record: TaskRecord, call: Call): Promise<void> {
    const task = (await late.catch(() => null)) as TaskRecord | null;
    if (task?.taskId !== record.taskId) return;
    if (this.#options.isOpen()) await this.#options.attempts.begin(tool, task, call, false);
  }
}
