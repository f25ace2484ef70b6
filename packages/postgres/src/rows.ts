/** Records to rows and back. */
import {
  type ChangingMember,
  changedMembers,
  composeRecord,
  composeSummary,
  fixedMembers,
  indexKey,
  isPayloadMember,
  type JsonObject,
  type JsonValue,
  type PayloadMember,
  type TaskChanges,
  type TaskRecord,
  type TaskSummary,
} from "@claimcheck/core";

/** Members that transitions change → their columns in `tasks`. */
export const CHANGING_COLUMNS: Readonly<Record<ChangingMember, string>> = {
  status: "status",
  statusMessage: "status_message",
  lastUpdatedAt: "last_updated_at",
  finishedAt: "finished_at",
  progress: "progress",
  questions: "questions",
  attempt: "attempt",
  cancellation: "cancellation",
};

/** Members that may be large → their columns in `payloads`. */
export const PAYLOAD_COLUMNS: Readonly<Record<PayloadMember, string>> = {
  arguments: "arguments",
  outcome: "outcome",
  partialOutput: "partial_output",
  checkpoint: "checkpoint",
};

/** Changes along with `outcome`, so that listings tell its kind without reading it. */
export const OUTCOME_KIND = "outcomeKind";

/** Stored as they are; every other member is JSON text. */
const PLAIN: ReadonlySet<string> = new Set(["status", "lastUpdatedAt", "finishedAt"] satisfies ChangingMember[]);

export type Row = Readonly<Record<string, unknown>>;
export type Parameter = string | number | null;

/** What the statement that creates a record takes, in its order. */
export function creationValues(record: TaskRecord): Parameter[] {
  const column = (member: ChangingMember | PayloadMember): Parameter =>
    toColumn(member, (record as TaskChanges & Pick<TaskRecord, "arguments">)[member]);
  const key = record.idempotencyKey;
  return [
    ...[indexKey(record.taskId), indexKey(record.owner), key === undefined ? null : indexKey(key)],
    ...[record.createdAt, record.ttlMs, record.version],
    ...[column("status"), column("statusMessage"), column("lastUpdatedAt"), column("finishedAt")],
    ...["outcome" in record ? record.outcome.kind : null, column("progress"), column("questions")],
    ...[column("attempt"), column("cancellation"), JSON.stringify(fixedMembers(record))],
    ...[column("arguments"), column("outcome"), column("partialOutput"), column("checkpoint")],
  ];
}

/** Member → what its column becomes. */
export function changedColumns(changes: TaskChanges): Map<string, Parameter> {
  const changed = new Map<string, Parameter>();
  for (const [member, value] of changedMembers(changes)) {
    changed.set(member, toColumn(member, value));
    if (member === "outcome") changed.set(OUTCOME_KIND, changes.outcome?.kind ?? null);
  }
  return changed;
}

/** The columns of those payloads that are among `changed`. */
export function payloadsAmong(changed: ReadonlyMap<string, Parameter>): Row {
  const payloads: Record<string, Parameter> = {};
  for (const [member, value] of changed) if (isPayloadMember(member)) payloads[PAYLOAD_COLUMNS[member]] = value;
  return payloads;
}

/** The record without its payloads. */
export function toSummary(row: Row): TaskSummary {
  const changing: { [member in ChangingMember]?: JsonValue } = {};
  for (const [member, column] of Object.entries(CHANGING_COLUMNS)) {
    const value = row[column];
    if (value !== null) changing[member as ChangingMember] = fromColumn(member, value);
  }
  const outcomeKind = row.outcome_kind === null ? undefined : String(row.outcome_kind);
  return composeSummary(parse(row.fixed) as JsonObject, changing, { version: Number(row.version), outcomeKind });
}

/**
 * The whole record.
 *
 * @throws Error when its payloads are not there
 */
export function toRecord(row: Row): TaskRecord {
  const payloads: { [member in PayloadMember]?: JsonValue } = {};
  for (const [member, column] of Object.entries(PAYLOAD_COLUMNS)) {
    const text = row[column];
    if (typeof text === "string") payloads[member as PayloadMember] = parse(text);
  }
  return composeRecord(toSummary(row), payloads);
}

function toColumn(member: string, value: unknown): Parameter {
  if (value === undefined) return null;
  return PLAIN.has(member) ? (value as Parameter) : JSON.stringify(value);
}

function fromColumn(member: string, value: unknown): JsonValue {
  if (!PLAIN.has(member)) return parse(value);
  return member === "status" ? String(value) : Number(value);
}

function parse(text: unknown): JsonValue {
  return JSON.parse(String(text)) as JsonValue;
}
