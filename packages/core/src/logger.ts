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

/** What of an error may be logged: its name and message, and the same of its causes. */
export function describeError(error: unknown): string {
  const said: string[] = [];
  // Bounded, since causes can go round in a circle.
  for (let at = error; at !== undefined && said.length < 5; at = at instanceof Error ? at.cause : undefined)
    said.push(at instanceof Error ? `${at.name}: ${at.message}` : textOfThrown(at));
  const [first = "undefined", ...causes] = said;
  return `${first}${causes.reduceRight((inner, cause) => ` (cause: ${cause}${inner})`, "")}`;
}

/** What somebody threw, in words: anything can be thrown, also what `String` refuses. */
export function textOfThrown(thrown: unknown): string {
  if (thrown instanceof Error) return thrown.message === "" ? thrown.name : thrown.message;
  try {
    return String(thrown);
  } catch {
    return "a value that has no text";
  }
}
