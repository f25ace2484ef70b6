/** Records to rows and back. */
import { expiresAt, indexKey, PAYLOADS, type Payload, type RecordTexts, type TaskRecord } from "@claimcheck/core";

export type Row = Readonly<Record<string, unknown>>;
export type Parameter = string | number | null;

const COLUMNS: Readonly<Record<Payload, string>> = {
  arguments: "arguments",
  outcome: "outcome",
  partialOutput: "partial_output",
  checkpoint: "checkpoint",
};

/** The column that holds a payload. */
export function columnOf(payload: Payload): string {
  return COLUMNS[payload];
}

/** What the statement that creates a record takes, in its order. */
export function creationValues(record: TaskRecord, texts: RecordTexts): Parameter[] {
  const { taskId, owner, idempotencyKey, createdAt } = record;
  const key = idempotencyKey === undefined ? null : indexKey(idempotencyKey);
  return [
    ...[indexKey(taskId), indexKey(owner), key, createdAt, ...changingValues(record, texts)],
    ...PAYLOADS.map((payload) => texts[payload] ?? null),
  ];
}

/** The columns that every change writes: expiry, version, status and head. */
export function changingValues(record: TaskRecord, texts: RecordTexts): Parameter[] {
  return [expiresAt(record) ?? null, record.version, record.status, texts.head];
}

/** The payloads among `texts`, in their order. */
export function payloadsAmong(texts: RecordTexts): Payload[] {
  return PAYLOADS.filter((payload) => texts[payload] !== undefined);
}

/** The texts of a row that has all columns of a record. */
export function textsOfRow(row: Row): RecordTexts {
  const texts: RecordTexts = { head: String(row.head) };
  for (const payload of PAYLOADS) texts[payload] = row[COLUMNS[payload]] as string | null;
  return texts;
}
