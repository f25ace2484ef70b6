import {
  type CreateTask,
  type TaskRecord,
  TaskRuntime,
  type TaskRuntimeOptions,
  type ToolContext,
  type ToolDefinition,
  type ToolHandler,
} from "@claimcheck/core";
import { FakeClock } from "@claimcheck/core/testing";
import { onTestFinished } from "vitest";
import { FaultyStore } from "./faulty-store.js";
import { Log } from "./log.js";
import { text } from "./records.js";

/** A runtime on a clock that only moves when told to, with one tool, `work`. */
export interface Bench {
  runtime: TaskRuntime;
  clock: FakeClock;
  log: Log;
  /** Creates a task of `work` for alice. */
  start(over?: Partial<CreateTask>): Promise<TaskRecord>;
  get(taskId: string): Promise<TaskRecord | null>;
}

export type BenchOptions = Omit<TaskRuntimeOptions, "clock" | "logger"> & {
  clock?: FakeClock;
  /** `null`: this process knows no tool. */
  tool?: Partial<ToolDefinition> | null;
};

/** Opens a runtime, closed again when the test is done. */
export async function openRuntime(handler: ToolHandler, options: BenchOptions = {}): Promise<Bench> {
  const bench = newRuntime(handler, options);
  await bench.runtime.open();
  onTestFinished(() => closeSoon(bench));
  return bench;
}

export function newRuntime(handler: ToolHandler, { tool, ...options }: BenchOptions = {}): Bench {
  const clock = options.clock ?? (options.store instanceof FaultyStore ? options.store.clock : new FakeClock());
  const log = new Log();
  const runtime = new TaskRuntime({ ...options, clock, logger: log });
  if (tool !== null) runtime.define({ name: "work", handler, ...tool });
  return {
    runtime,
    clock,
    log,
    start: async (over) => (await runtime.create({ owner: "alice", toolName: "work", arguments: {}, ...over })).task,
    get: (taskId) => runtime.get("alice", taskId),
  };
}

/** Closes, letting the clock run for whoever has to be waited for. */
export async function closeSoon({ runtime, clock }: Bench): Promise<void> {
  const closed = runtime.close().catch(() => {});
  await clock.advance(60_000);
  await closed;
}

export const done: ToolHandler = () => ({ kind: "result", result: text("done") });

/** A handler that the test ends by hand, and what it was called with. */
export class HeldHandler {
  readonly contexts: ToolContext[] = [];
  #ends: (() => void)[] = [];

  readonly handler: ToolHandler = async (_args, context) => {
    this.contexts.push(context);
    await new Promise<void>((resolve) => this.#ends.push(resolve));
    return { kind: "result", result: text("done") };
  };

  /** Lets every call that runs return. */
  end(): void {
    for (const resolve of this.#ends.splice(0)) resolve();
  }
}

/** Runs until it is told to stop, and then throws as most work does. */
export const stoppable: ToolHandler = async (_args, context) => {
  await context.cancelToken.wait();
  context.cancelToken.checkCancelled();
  throw new Error("not reached");
};

/** Never ends, whatever it is told. */
export const endless: ToolHandler = () => new Promise(() => {});

/** Takes the task of a context that belongs to one. */
export function taskOf(context: ToolContext | undefined): NonNullable<ToolContext["task"]> {
  if (context?.task == null) throw new Error("this is no context of a task");
  return context.task;
}
