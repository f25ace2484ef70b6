import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import type { TaskChanges, TaskFields, TaskRecord, TaskStore, WorkingTask } from "@claimcheck/core";
import type { StoreHarness } from "./harness.js";

export interface CaseSettings {
  ttlMs: number;
  signalWithinMs: number;
  largestValueBytes: number;
  outageWithinMs: number;
}

/** What a case works with: a fresh store, its clock, and tasks to put into it. */
export class CaseContext {
  readonly store: TaskStore;
  /** How long the tasks of this run are kept once finished. */
  readonly ttlMs: number;
  /** How long a wake-up hint may take. */
  readonly signalWithinMs: number;
  /** How large a value the store takes. */
  readonly largestValueBytes: number;
  /** How long a call may take to reject while the back end is out, and the store to work once it is back. */
  readonly outageWithinMs: number;
  readonly #harness: StoreHarness;

  constructor(harness: StoreHarness, settings: CaseSettings) {
    this.#harness = harness;
    this.store = harness.store;
    this.ttlMs = settings.ttlMs;
    this.signalWithinMs = settings.signalWithinMs;
    this.largestValueBytes = settings.largestValueBytes;
    this.outageWithinMs = settings.outageWithinMs;
  }

  async now(): Promise<number> {
    return this.#harness.now();
  }

  async advance(ms: number): Promise<void> {
    await this.#harness.advance(ms);
  }

  async openAnother(): Promise<TaskStore> {
    assert(this.#harness.openAnother !== undefined, "the harness has no openAnother");
    return this.#harness.openAnother();
  }

  async reopen(): Promise<TaskStore> {
    assert(this.#harness.reopen !== undefined, "the harness has no reopen");
    return this.#harness.reopen();
  }

  /** Cuts the store off from its back end. */
  async breakDown(): Promise<void> {
    assert(this.#harness.outage !== undefined, "the harness has no outage");
    await this.#harness.outage.begin();
  }

  /** Lets the store reach its back end again, and waits until it does. */
  async mend(): Promise<void> {
    await this.#harness.outage?.end();
    const until = Date.now() + this.outageWithinMs;
    while (!(await this.#answers()))
      assert(Date.now() < until, `the store did not work again within ${this.outageWithinMs} ms`);
  }

  async #answers(): Promise<boolean> {
    try {
      await this.store.get("tsk_unknown");
      return true;
    } catch {
      await sleep(20);
      return false;
    }
  }

  /** Sweeps until nothing is left to remove; does nothing on a back end that expires by itself. */
  async sweepAll(store: TaskStore = this.store): Promise<void> {
    while (store.sweep !== undefined && (await store.sweep(100)) > 0);
  }

  /** A record as the runtime makes it at creation; stored nowhere yet. */
  async newTask(overrides: Partial<TaskFields> = {}): Promise<WorkingTask> {
    const now = await this.now();
    return {
      taskId: newTaskId(),
      owner: "owner",
      toolName: "build_index",
      arguments: { repo: "example", depth: 3 },
      status: "working",
      createdAt: now,
      lastUpdatedAt: now,
      ttlMs: this.ttlMs,
      recovery: "fail",
      questions: [],
      attempt: { state: "queued", epoch: 0, tries: 0 },
      version: 1,
      ...overrides,
    };
  }

  /** Stores a new task and answers what the store answered. */
  async create(overrides: Partial<TaskFields> = {}, store: TaskStore = this.store): Promise<TaskRecord> {
    return store.create(await this.newTask(overrides));
  }

  /** Ends `task` with a result, now. */
  async finish(task: TaskRecord, changes: TaskChanges = {}, store: TaskStore = this.store): Promise<TaskRecord> {
    return this.changed(task, { ...(await this.completion()), ...changes }, store);
  }

  /** The changes that end a task with a result, now. */
  async completion(): Promise<TaskChanges> {
    const now = await this.now();
    return {
      status: "completed",
      outcome: { kind: "result", result: { content: [{ type: "text", text: "done" }] } },
      finishedAt: now,
      lastUpdatedAt: now,
      attempt: { state: "ended", epoch: 1, tries: 1 },
    };
  }

  /** Makes `changes`, which nothing stands against. */
  async changed(task: TaskRecord, changes: TaskChanges, store: TaskStore = this.store): Promise<TaskRecord> {
    const next = await store.update(task.taskId, task.version, changes);
    assert(next !== null && next !== "conflict", `update from the version just read answered ${next}`);
    return next;
  }

  /** A stored task that has finished and whose ttl is over. */
  async expired(overrides: Partial<TaskFields> = {}): Promise<TaskRecord> {
    const task = await this.finish(await this.create(overrides));
    await this.passTtl();
    return task;
  }

  /** Moves on until what has finished by now has expired. */
  async passTtl(): Promise<void> {
    await this.advance(this.ttlMs + 1);
  }

  /** Every task that a listing shows, page after page. */
  async listAll(query: { owner?: string; unfinished?: boolean } = {}, limit = 100): Promise<string[]> {
    const ids: string[] = [];
    for (let cursor: string | undefined, more = true; more; more = cursor !== undefined) {
      const page = await this.store.list({ ...query, limit, ...(cursor === undefined ? {} : { cursor }) });
      ids.push(...page.tasks.map((task) => task.taskId));
      cursor = page.nextCursor;
    }
    return ids;
  }
}

export function newTaskId(): string {
  return `tsk_${randomBytes(16).toString("base64url")}`;
}
