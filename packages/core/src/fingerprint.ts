/**
 * What makes two calls the same call: SHA-256 over the RFC 8785 canonical JSON of tool name and arguments, so the
 * order in which arguments are written does not matter. The retry key and the ttl are not part of the call.
 */
import { createHash } from "node:crypto";
import canonicalize from "canonicalize";
import { TaskError } from "./errors.js";
import type { JsonObject } from "./json.js";

/** Deeper arguments are refused: canonicalisation recurses, and a stack overflow would be a crash. */
const MAX_DEPTH = 200;

/** The longest retry key, in UTF-16 units. */
export const MAX_IDEMPOTENCY_KEY_LENGTH = 255;

/**
 * The call's fingerprint, 64 hexadecimal digits.
 *
 * @throws TaskError `invalid_arguments` when the arguments are too deep, or hold a lone surrogate or a number that
 *   JSON cannot carry: encoding would make different calls look the same
 */
export function fingerprint(toolName: string, args: JsonObject): string {
  assertDepth(args);
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

/** Refuses arguments nested deeper than {@link MAX_DEPTH}, without recursing itself. */
function assertDepth(args: JsonObject): void {
  let level: object[] = [args];
  for (let depth = 0; level.length > 0; depth += 1) {
    if (depth > MAX_DEPTH)
      throw new TaskError("invalid_arguments", `The arguments are nested more than ${MAX_DEPTH} levels deep.`);
    level = level.flatMap((value) =>
      Object.values(value).filter((member) => typeof member === "object" && member !== null),
    );
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
