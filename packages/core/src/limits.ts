/**
 * What one owner, and all of them together, may take here. Everything is counted by this process and as it happens:
 * asking costs the same however many tasks there are. Of several processes on one store each has limits of its own.
 */
import { TaskError } from "./errors.js";
import { checkOptions, numberFrom, type OptionRules } from "./options.js";

export interface Limits {
  /** Tasks of one owner that this process runs or has queued. One that was cancelled counts until its work has stopped. Default: 10,000. */
  tasksPerOwner: number;
  /** The same of all owners together. Default: 50,000. */
  tasks: number;
  /** Tasks, of all owners, that wait for their turn to run in this process. Default: 25,000. */
  queuedTasks: number;
  /** Tasks of one owner that this process created and that are there still: unfinished, or kept for their ttl. Default: 100,000. */
  retainedPerOwner: number;
  /** Requests of one owner that wait for a task to end. Default: 1000. */
  waitersPerOwner: number;
  /** Subscriptions to tasks that one owner has open. Default: 1000. */
  subscriptionsPerOwner: number;
  /** Tasks that one owner's subscriptions name, counted once for each that names it. Default: 10,000. */
  subscribedTasksPerOwner: number;
  /**
   * How often one owner may ask in vain, a second: for a task that has not finished or is not there, or for a listing.
   * Five seconds' worth may come at once. Fetching what has finished is free. Default: 2000.
   */
  pollsPerSecond: number;
}

/**
 * High enough that nobody meets one by honest work: two thousand polls a second are one a second for each of two thousand
 * tasks, and ten thousand at once. Low enough that a loop without a pause, or tasks without an end, leave most of the process
 * to the other owners.
 */
export const DEFAULT_LIMITS: Readonly<Limits> = {
  tasksPerOwner: 10_000,
  tasks: 50_000,
  queuedTasks: 25_000,
  retainedPerOwner: 100_000,
  waitersPerOwner: 1000,
  subscriptionsPerOwner: 1000,
  subscribedTasksPerOwner: 10_000,
  pollsPerSecond: 2000,
};

const RULES: OptionRules<Limits> = {
  tasksPerOwner: numberFrom(1),
  tasks: numberFrom(1),
  queuedTasks: numberFrom(0),
  retainedPerOwner: numberFrom(1),
  waitersPerOwner: numberFrom(0),
  subscriptionsPerOwner: numberFrom(0),
  subscribedTasksPerOwner: numberFrom(0),
  pollsPerSecond: numberFrom(1),
};

/**
 * `limits` with the defaults where they say nothing. `Infinity` is no limit.
 *
 * @throws TypeError, RangeError for what is no limit
 */
export function limitsOf(limits: Partial<Limits> = {}): Limits {
  checkOptions("limits", limits, RULES);
  const all: Limits = { ...DEFAULT_LIMITS };
  for (const name of Object.keys(all) as (keyof Limits)[]) all[name] = limits[name] ?? all[name];
  return all;
}

/** What a refusal says, by limit; `max` is what was set. */
const MESSAGES: Readonly<Record<keyof Limits, (max: number, retryAfterMs: number | undefined) => string>> = {
  tasksPerOwner: (max) =>
    `${max} tasks of yours are unfinished, as many as one caller may have here. Wait until one has ended, or cancel one.`,
  tasks: (max) => `The server has ${max} unfinished tasks, as many as it takes. Call again later.`,
  queuedTasks: (max) => `${max} tasks wait to be run here, as many as may. Call again later.`,
  retainedPerOwner: (max) =>
    `${max} tasks of yours are kept here, as many as one caller may have. Each is kept for its ttl after it finishes: wait until one has gone, and ask for a shorter ttl.`,
  waitersPerOwner: (max) =>
    `${max} requests of yours wait for tasks here, as many as one caller may have waiting. Ask for the status instead.`,
  subscriptionsPerOwner: (max) =>
    `${max} subscriptions of yours are open here, as many as one caller may have. Close one, or name more tasks in each.`,
  subscribedTasksPerOwner: (max) =>
    `Your subscriptions would name more than ${max} tasks, as many as one caller's may. Name fewer, or close a subscription.`,
  pollsPerSecond: (max, retryAfterMs) =>
    `You ask more than ${max} times a second. Ask again in ${retryAfterMs} ms, and each task no more often than its poll interval says.`,
};

/** The refusal of whoever is over `limit`. */
export function limitReached(limit: keyof Limits, max: number, retryAfterMs?: number): TaskError {
  const data = retryAfterMs === undefined ? { limit, max } : { limit, max, retryAfterMs };
  return new TaskError("limit_reached", MESSAGES[limit](max, retryAfterMs), { data });
}
