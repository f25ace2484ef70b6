/** What a runtime can be told, and what it does when it is not. */
import type { Clock } from "./clock.js";
import type { Limits } from "./limits.js";
import type { Logger } from "./logger.js";
import {
  aClock,
  aLogger,
  anything,
  checkOptions,
  durationFrom,
  having,
  numberFrom,
  type OptionRules,
  wholeNumberFrom,
} from "./options.js";
import type { Runner } from "./runner.js";
import { DEFAULT_SIZE_LIMITS, type SizeLimits } from "./size-limits.js";
import type { TaskStore } from "./store.js";

/** Fifteen minutes. */
export const DEFAULT_TTL_MS: number = 15 * 60_000;
/** Twenty-four hours. */
export const MAX_TTL_MS: number = 24 * 60 * 60_000;

export interface TaskRuntimeOptions extends Partial<SizeLimits> {
  /** Default: a {@link MemoryStore}. */
  store?: TaskStore;
  /** Default: an {@link InProcessRunner}. */
  runner?: Runner;
  /** Default: the host's. */
  clock?: Clock;
  /** Default: warnings and errors to stderr. */
  logger?: Logger;
  /** How long finished tasks are kept when neither caller nor tool says. Default: 15 minutes. */
  defaultTtlMs?: number;
  /** What a caller may ask for at the most; more is cut to it. Default: 24 hours. */
  maxTtlMs?: number;
  /** After how long without a sign of life a runner counts as lost. Default: 15 seconds. */
  leaseMs?: number;
  /** How long a cancelled attempt is waited for, and again after escalating. Default: 5 seconds. */
  cancelGraceMs?: number;
  /** How long a store that other processes use may take to answer a call before it counts as out. Default: 10 seconds. */
  storeTimeoutMs?: number;
  /** How often expired tasks are removed for good. Default: 30 seconds. */
  sweepIntervalMs?: number;
  /** How often a store of several processes is asked anew when its signals are silent. Default: 1 second without signals, else 5. */
  pollIntervalMs?: number;
  /** How often a task whose policy is `retry` or `resume` is run, all told, when its tool does not say. Default: 3. */
  maxTries?: number;
  /** How long a task that nobody runs waits for a process that knows its tool; it fails then. Default: 15 minutes. */
  unknownToolMs?: number;
  /** How much one owner, and all of them together, may take. Default: {@link DEFAULT_LIMITS}, member by member. */
  limits?: Partial<Limits>;
}

/** What each of them may be. */
export const RUNTIME_OPTIONS: OptionRules<TaskRuntimeOptions> = {
  store: having("a task store", "create", "get", "findByKey", "list", "update"),
  runner: having("a runner", "open", "reserve", "unreserve", "submit", "remove", "close"),
  clock: aClock,
  logger: aLogger,
  defaultTtlMs: durationFrom(0),
  maxTtlMs: durationFrom(0),
  leaseMs: durationFrom(1),
  cancelGraceMs: durationFrom(0),
  storeTimeoutMs: durationFrom(1),
  maxArgumentsBytes: numberFrom(0),
  maxKeptRequestBytes: numberFrom(0),
  maxResultBytes: numberFrom(0),
  maxOutputBytes: numberFrom(0),
  maxCheckpointBytes: numberFrom(0),
  maxQuestionsBytes: numberFrom(0),
  sweepIntervalMs: durationFrom(1),
  pollIntervalMs: durationFrom(1),
  maxTries: wholeNumberFrom(1),
  unknownToolMs: numberFrom(0),
  // By limitsOf.
  limits: anything,
};

export type Settings = Required<Omit<TaskRuntimeOptions, "store" | "runner" | "clock" | "logger" | "limits">>;

const DEFAULTS: Omit<Settings, "pollIntervalMs"> = {
  defaultTtlMs: DEFAULT_TTL_MS,
  maxTtlMs: MAX_TTL_MS,
  leaseMs: 15_000,
  cancelGraceMs: 5000,
  storeTimeoutMs: 10_000,
  ...DEFAULT_SIZE_LIMITS,
  sweepIntervalMs: 30_000,
  maxTries: 3,
  unknownToolMs: 15 * 60_000,
};

/**
 * `options` with the defaults where they say nothing.
 *
 * @throws TypeError, RangeError for what is no option, or cannot be its value
 */
export function settingsOf(options: TaskRuntimeOptions): Settings {
  checkOptions("TaskRuntime", options, RUNTIME_OPTIONS);
  const pollIntervalMs = options.store?.signals === undefined ? 1000 : 5000;
  const settings: Settings = { ...DEFAULTS, pollIntervalMs };
  for (const name of Object.keys(settings) as (keyof Settings)[]) settings[name] = options[name] ?? settings[name];
  return settings;
}
