/** Log messages to clients (spec: "Logging"): who hears which, and how one goes out. */
import { type JsonObject, type JsonValue, LOG_LEVELS, type LogLevel, type LogMessage } from "@claimcheck/core";

/** `_meta` key of a request of 2026-07-28: the least level of the messages that its sender hears until the answer; none without it. */
const LOG_LEVEL_META = "io.modelcontextprotocol/logLevel";

export const LOG_METHOD = "notifications/message";

/** What is longer as JSON is output, and no message: a client that does not read is sent a bounded number of these. */
const MAX_DATA_LENGTH = 65_536;

/** `undefined` for what is no level. */
export function asLogLevel(value: unknown): LogLevel | undefined {
  return LOG_LEVELS.find((level) => level === value);
}

/** The level that a request of 2026-07-28 asks for. */
export function requestedLogLevel(meta: JsonObject | undefined): LogLevel | undefined {
  return asLogLevel(meta?.[LOG_LEVEL_META]);
}

/** Why something is refused as a level. */
export function noLogLevel(got: unknown): string {
  return `The level of a log message must be one of ${LOG_LEVELS.join(", ")}; got ${String(got)}.`;
}

/** Whether who asked for `least` and what is worse hears `level`. */
export function isLoud(level: LogLevel, least: LogLevel): boolean {
  return LOG_LEVELS.indexOf(level) >= LOG_LEVELS.indexOf(least);
}

/** What goes out; `null` where JSON cannot carry the data, or they are too long. */
export function logParams({ level, data, logger }: LogMessage): JsonObject | null {
  const said = asSaid(data);
  if (said === undefined) return null;
  return logger === undefined ? { level, data: said } : { level, logger, data: said };
}

/** The data as they are at this moment: a tool may go on to change them. */
export function asSaid(data: unknown): JsonValue | undefined {
  try {
    const text: string | undefined = JSON.stringify(data);
    return text === undefined || text.length > MAX_DATA_LENGTH ? undefined : JSON.parse(text);
  } catch {
    return undefined;
  }
}
