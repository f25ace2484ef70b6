import type { Logger } from "@claimcheck/core";

export interface LogLine {
  level: "debug" | "info" | "warn" | "error";
  fields: Record<string, unknown>;
  message: string;
}

/** Keeps what is logged, for tests to look at. */
export class Log implements Logger {
  readonly lines: LogLine[] = [];

  debug(fields: object, message: string): void {
    this.#keep("debug", fields, message);
  }

  info(fields: object, message: string): void {
    this.#keep("info", fields, message);
  }

  warn(fields: object, message: string): void {
    this.#keep("warn", fields, message);
  }

  error(fields: object, message: string): void {
    this.#keep("error", fields, message);
  }

  errors(): LogLine[] {
    return this.lines.filter(({ level }) => level === "error");
  }

  #keep(level: LogLine["level"], fields: object, message: string): void {
    this.lines.push({ level, fields: fields as Record<string, unknown>, message });
  }
}
