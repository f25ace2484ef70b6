/** The part of a structured logger that the runtime uses; a pino logger is one. Payloads are never logged. */
export interface Logger {
  debug(fields: object, message: string): void;
  info(fields: object, message: string): void;
  warn(fields: object, message: string): void;
  error(fields: object, message: string): void;
}

function write(level: string, fields: object, message: string): void {
  process.stderr.write(`${JSON.stringify({ level, ...fields, msg: message })}\n`);
}

/** The default: warnings and errors to stderr, one JSON line each; stdout may belong to a protocol. */
export const stderrLogger: Logger = {
  debug: () => {},
  info: () => {},
  warn: (fields, message) => write("warn", fields, message),
  error: (fields, message) => write("error", fields, message),
};

/** What of an error may be logged: its name and message, and the same of its cause. */
export function describeError(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  const cause = error.cause === undefined ? "" : ` (cause: ${describeError(error.cause)})`;
  return `${error.name}: ${error.message}${cause}`;
}
