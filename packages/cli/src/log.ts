import type { Writable } from "node:stream";
import { type Logger, pino } from "pino";

export const LOG_LEVELS = ["debug", "info", "warn", "error", "silent"] as const;
export type LogLevel = (typeof LOG_LEVELS)[number];

/** Structured lines on stderr, written before the call returns: the last words of a process that ends are the ones wanted. */
export function createLogger(level: LogLevel, stderr: Writable): Logger {
  return pino({ level, base: { pid: process.pid }, timestamp: pino.stdTimeFunctions.isoTime }, stderr);
}
