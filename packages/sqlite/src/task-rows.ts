/** What a store does to the rows of a file. Every function that writes runs inside a transaction. */
import {
  decodeCursor,
  expiresAt,
  type ListQuery,
  PAYLOADS,
  type PayloadTexts,
  type RecordChange,
  type RecordTexts,
  type TaskRecord,
} from "@claimcheck/core";
import { placementOf, searchable } from "./columns.js";
import type { Statements } from "./statements.js";

/** A record as `byId` and `byKey` read it. */
export type Row = RecordTexts & { seq: number; apart: number };

/** How long a sweep holds the file, and this process's event loop, in one go. */
const SWEEP_SLICE_MS = 10;

/** Inserts the record, or finds who holds its key; answers the texts of either, `undefined` when the id is taken. */
export function insertOrFind(
  statements: Statements,
  record: TaskRecord,
  texts: RecordTexts,
  now: number,
): RecordTexts | undefined {
  if (insertRow(statements, record, texts)) return texts;
  const [taskId, owner] = [searchable(record.taskId), searchable(record.owner)];
  const key = record.idempotencyKey === undefined ? null : searchable(record.idempotencyKey);
  const holder = statements.byKey.get(owner, key, now) as Row | undefined;
  if (holder !== undefined) return holder;
  const freed = statements.removeExpired.run(taskId, owner, key, now).changes;
  return freed > 0 && insertRow(statements, record, texts) ? texts : undefined;
}

function insertRow(statements: Statements, record: TaskRecord, texts: RecordTexts): boolean {
  const { inRow, apart } = placementOf(texts);
  const { changes, lastInsertRowid } = statements.insert.run(
    searchable(record.taskId),
    searchable(record.owner),
    record.idempotencyKey === undefined ? null : searchable(record.idempotencyKey),
    record.createdAt,
    expiresAt(record) ?? null,
    texts.head,
    ...inRow,
    apart,
  );
  if (changes === 0) return false;
  if (apart !== 0) putPayloads(statements, Number(lastInsertRowid), texts, apart);
  return true;
}

/** Writes those payloads among `texts` that are to be kept apart, and no other. */
function putPayloads(statements: Statements, seq: number, texts: PayloadTexts, apart: number): void {
  for (const [n, payload] of PAYLOADS.entries()) {
    const text = texts[payload];
    if (typeof text === "string" && (apart & (1 << n)) !== 0) statements.putPayload.run(4 * seq + n, text);
  }
}

/** Writes what a change has to write, if the record still is the one that is known. Reads and rewrites no payload that is kept apart. */
export function changeRow(
  statements: Statements,
  { known, next, texts, finishedAt }: RecordChange,
  now: number,
): "written" | "conflict" | "gone" {
  const { inRow, apart, written } = placementOf(texts);
  const taskId = searchable(known.taskId);
  // An id may have been used again: owner and birth tell whether it is still the same task.
  const was = [taskId, searchable(known.owner), known.createdAt, known.version, now] as const;
  const becomes = [texts.head, ...inRow, apart, written] as const;
  const row = (
    finishedAt !== undefined
      ? statements.finish.get(...was, ...becomes, expiresAt(next) ?? null)
      : statements.change.get(...was, ...becomes)
  ) as { seq: number } | undefined;
  if (row === undefined) return statements.exists.get(taskId, now) === undefined ? "gone" : "conflict";
  if (apart !== 0) putPayloads(statements, row.seq, texts, apart);
  dropPayloads(statements, row.seq, written & ~apart & presentIn(known));
  return "written";
}

/** Bit n: the record has payload n. */
function presentIn(record: TaskRecord): number {
  return PAYLOADS.reduce((present, payload, n) => (payload in record ? present | (1 << n) : present), 0);
}

/** Removes the rows of payloads that may have been kept apart, and are so no longer. */
function dropPayloads(statements: Statements, seq: number, dropped: number): void {
  for (const n of PAYLOADS.keys()) if ((dropped & (1 << n)) !== 0) statements.dropPayload.run(4 * seq + n);
}

export function listRows(statements: Statements, query: ListQuery, now: number): { head: string }[] {
  const { createdAt, taskId } =
    query.cursor === undefined ? { createdAt: Number.POSITIVE_INFINITY, taskId: "" } : decodeCursor(query.cursor);
  const { all, ofOwner, unfinished, unfinishedOfOwner } = statements.list;
  const page = [createdAt, searchable(taskId), now, query.limit + 1] as const;
  const rows =
    query.owner === undefined
      ? (query.unfinished ? unfinished : all).all(...page)
      : (query.unfinished ? unfinishedOfOwner : ofOwner).all(...page, searchable(query.owner));
  return rows as { head: string }[];
}

/** Removes expired tasks until `limit` are gone or the slice's time is over. */
export function removeSlice(statements: Statements, now: number, limit: number): { removed: number; more: boolean } {
  const asked = Math.min(limit, 100);
  const expired = statements.expired.all(now, asked) as { seq: number }[];
  const until = performance.now() + SWEEP_SLICE_MS;
  let removed = 0;
  for (const { seq } of expired) {
    statements.remove.run(seq);
    removed += 1;
    if (performance.now() >= until) break;
  }
  return { removed, more: removed < expired.length || expired.length === asked };
}
