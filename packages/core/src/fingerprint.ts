/**
 * What makes two calls the same call: SHA-256 over the RFC 8785 canonical JSON of tool name and arguments, so the
 * order in which arguments are written does not matter. The idempotency key and the ttl are no part of it.
 */
import { createHash } from "node:crypto";
import canonicalize from "canonicalize";
import { TaskError } from "./errors.js";
import type { JsonObject } from "./json.js";

/** Deeper arguments are refused: canonicalisation recurses, and a stack overflow would be a crash. */
const MAX_DEPTH = 200;

/** The longest idempotency key, in UTF-16 units. */
export const MAX_IDEMPOTENCY_KEY_LENGTH = 255;

/**
 * The call's fingerprint, 64 hexadecimal digits. Numbers are compared as the tool receives them: two integers beyond
 * 2^53 that JSON makes the same number are the same argument.
 *
 * @throws TaskError `invalid_arguments` when the arguments hold a lone surrogate, which encoding would make look like any other
 */
export function fingerprint(toolName: string, args: JsonObject): string {
  let canonical: string | undefined;
  try {
    canonical = canonicalize({ tool: toolName, arguments: args });
  } catch (cause) {
    throw new TaskError("invalid_arguments", `The arguments have no canonical JSON form: ${(cause as Error).message}`, {
      cause,
    });
  }
  return createHash("sha256")
    .update(canonical ?? "", "utf8")
    .digest("hex");
}

/**
 * Refuses arguments that JSON cannot carry as they are, that are nested deeper than {@link MAX_DEPTH}, or that have
 * more than `maxBytes`.
 *
 * @throws TaskError `invalid_arguments`
 */
export function assertArguments(args: JsonObject, maxBytes: number): void {
  if (typeof args !== "object" || args === null || Array.isArray(args)) throw invalid("must be a JSON object");
  assertValues(args, maxBytes);
  let bytes: number;
  try {
    bytes = Buffer.byteLength(JSON.stringify(args));
  } catch (cause) {
    throw invalid(`cannot be written as JSON: ${(cause as Error).message}`);
  }
  if (bytes > maxBytes) throw invalid(`have ${bytes} bytes as JSON; at most ${maxBytes} are accepted`);
}

const invalid = (problem: string): TaskError => new TaskError("invalid_arguments", `The arguments ${problem}.`);

/** Looks at every value, level by level: recursing into what somebody else nested would be their choice of our stack. */
function assertValues(args: JsonObject, most: number): void {
  let level: object[] = [args];
  let seen = 0;
  for (let depth = 1; level.length > 0; depth += 1) {
    if (depth > MAX_DEPTH) throw invalid(`are nested more than ${MAX_DEPTH} levels deep`);
    // Every value takes a byte at least. One object that is held many times over counts as often.
    seen += level.length;
    if (seen > most) throw invalid(`have more than the ${most} bytes as JSON that are accepted`);
    const next: object[] = [];
    for (const value of level) {
      for (const member of Object.values(value)) {
        if (typeof member === "object" && member !== null) next.push(member);
        // `1e400` on the wire; JSON would make it `null`.
        else if (typeof member === "number" && !Number.isFinite(member))
          throw invalid(`hold the number ${member}, which JSON cannot carry`);
      }
    }
    level = next;
  }
}

/**
 * The key as given, when it is one.
 *
 * @throws TaskError `invalid_idempotency_key` for anything but a string of 1 to 255 units that is not blank and well-formed
 */
export function checkIdempotencyKey(key: unknown): string {
  const problem = keyProblem(key);
  if (problem !== undefined)
    throw new TaskError("invalid_idempotency_key", `The idempotency key must be a non-empty string; ${problem}.`);
  return key as string;
}

function keyProblem(key: unknown): string | undefined {
  if (typeof key !== "string") return `got ${key === null ? "null" : Array.isArray(key) ? "an array" : typeof key}`;
  if (key.trim() === "") return "it is blank";
  if (key.length > MAX_IDEMPOTENCY_KEY_LENGTH)
    return `it has ${key.length} characters, at most ${MAX_IDEMPOTENCY_KEY_LENGTH} are accepted`;
  return key.isWellFormed() ? undefined : "it holds a lone surrogate";
}
