/**
 * The names of the store's keys. All carry one hash tag, `{prefix}`, so on a cluster they share a slot and every
 * transition stays one atomic script over the record, its idempotency key and every index. Tags by owner would spread
 * tasks over a cluster, but then a task could be stored without standing in the listing that recovery reads, and
 * finding one by its id would take a second look-up; a deployment that outgrows a shard splits by prefix instead.
 *
 * What callers choose never meets: owners are digests of one length, ids and keys come last.
 */
import { createHash } from "node:crypto";
import { indexKey, type ListPosition, TaskError } from "@claimcheck/core";

/** Of an owner's digest (SHA-256, base64url). */
export const OWNER_LENGTH = 43;
/** Of the instant that an order begins with. */
export const INSTANT_LENGTH = 16;

export class Keys {
  /** What the names of all keys begin with; an access rule is `~{prefix}:*`. */
  readonly base: string;
  /** Task id follows: the record, a hash. */
  readonly taskBase: string;
  /** The owner's digest follows: the owner's tasks in order, a sorted set. */
  readonly ownerBase: string;
  /** Everybody's tasks in order, a sorted set. */
  readonly everybody: string;
  /** Tasks that have not finished, in order, a sorted set. */
  readonly unfinished: string;
  /** Finished tasks by when they expire, a sorted set of owner and order. */
  readonly expiry: string;
  /** The channel of the signals; an access rule is `&{prefix}:*`. */
  readonly channel: string;

  /** @throws TaskError `store_unusable` for a prefix that would break the hash tag */
  constructor(prefix: string) {
    if (prefix === "" || /[{}]/.test(prefix) || !prefix.isWellFormed()) {
      throw new TaskError(
        "store_unusable",
        `The Redis key prefix ${JSON.stringify(prefix)} cannot be used: it must not be empty, nor hold { or }.`,
      );
    }
    this.base = `{${prefix}}:`;
    this.taskBase = `${this.base}task:`;
    this.ownerBase = `${this.base}owner:`;
    this.everybody = `${this.base}all`;
    this.unfinished = `${this.base}unfinished`;
    this.expiry = `${this.base}expiry`;
    this.channel = `${this.base}changes`;
  }

  task(taskId: string): string {
    return this.taskBase + indexKey(taskId);
  }

  /** The task id that holds an idempotency key, a string. */
  holder(digest: string, idempotencyKey: string): string {
    return `${this.base}key:${digest}:${indexKey(idempotencyKey)}`;
  }
}

const MOST_DIGESTS = 1000;
const digests = new Map<string, string>();

/** An owner as keys name it. Those asked for lately are kept: each write of a task needs its owner's. */
export function ownerDigest(owner: string): string {
  const known = digests.get(owner);
  if (known !== undefined) return known;
  const digest = createHash("sha256").update(indexKey(owner)).digest("base64url");
  if (digests.size >= MOST_DIGESTS) digests.clear();
  digests.set(owner, digest);
  return digest;
}

/**
 * A task's place in a listing, as a text that sorts like `(createdAt, taskId)`: sets whose members all have one score
 * are sorted by bytes, so pages are cut at a member and ties need no care.
 */
export function orderOf({ createdAt, taskId }: ListPosition): string {
  return sortableInstant(createdAt) + indexKey(taskId);
}

/** What the indexes hold of a task: the owner's digest and its order. */
export function placeOf(task: ListPosition & { owner: string }): string {
  return ownerDigest(task.owner) + orderOf(task);
}

/** The bits of the number in hex, turned so that they sort as the numbers do. */
function sortableInstant(instant: number): string {
  const bits = Buffer.alloc(8);
  bits.writeDoubleBE(instant);
  const isNegative = (bits[0] ?? 0) >= 0x80;
  for (let at = 0; at < 8; at += 1) bits[at] = (bits[at] ?? 0) ^ (isNegative ? 0xff : at === 0 ? 0x80 : 0);
  return bits.toString("hex");
}
