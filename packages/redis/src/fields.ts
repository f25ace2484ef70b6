/** Records to the fields of a hash and back: one field a member, each JSON, so a change writes what it changes. */
import {
  CHANGING_MEMBERS,
  type ChangingMember,
  changedMembers,
  composeRecord,
  composeSummary,
  fixedMembers,
  type JsonObject,
  type JsonValue,
  PAYLOAD_MEMBERS,
  type PayloadMember,
  type TaskChanges,
  type TaskRecord,
  type TaskSummary,
} from "@claimcheck/core";

/** What a listing reads. `version` comes first: where it is missing there is no record. */
export const SUMMARY_FIELDS: readonly string[] = ["version", "fixed", "outcomeKind", ...CHANGING_MEMBERS];

/** What a record is made of. */
export const RECORD_FIELDS: readonly string[] = [...SUMMARY_FIELDS, ...PAYLOAD_MEMBERS];

/** Fields as they come back: `null` where there is none. */
export type FieldValues = readonly (string | null | undefined)[];

/** Names and values, in turn, of all fields of a new record. */
export function creationFields(record: TaskRecord): string[] {
  const fields = ["version", JSON.stringify(record.version), "fixed", JSON.stringify(fixedMembers(record))];
  for (const member of [...CHANGING_MEMBERS, ...PAYLOAD_MEMBERS]) {
    const value: unknown = (record as TaskChanges & Pick<TaskRecord, "arguments">)[member];
    if (value !== undefined) fields.push(member, JSON.stringify(value));
  }
  if ("outcome" in record) fields.push("outcomeKind", JSON.stringify(record.outcome.kind));
  return fields;
}

/** What an update sets and what it removes. */
export interface FieldChanges {
  set: Map<string, string>;
  removed: string[];
}

export function changedFields(changes: TaskChanges): FieldChanges {
  const fields: FieldChanges = { set: new Map(), removed: [] };
  for (const [member, value] of changedMembers(changes)) {
    if (value === undefined) fields.removed.push(member);
    else fields.set.set(member, JSON.stringify(value));
  }
  if (changes.outcome !== undefined) fields.set.set("outcomeKind", JSON.stringify(changes.outcome.kind));
  return fields;
}

/** Field → value, of those that are there. */
export function present(names: readonly string[], values: FieldValues): Map<string, string> {
  const fields = new Map<string, string>();
  names.forEach((name, index) => {
    const value = values[index];
    if (typeof value === "string") fields.set(name, value);
  });
  return fields;
}

export function toSummary(fields: ReadonlyMap<string, string>): TaskSummary {
  const outcomeKind = fields.get("outcomeKind");
  const rest = { version: Number(fields.get("version")), outcomeKind: outcomeKind && String(JSON.parse(outcomeKind)) };
  return composeSummary(JSON.parse(fields.get("fixed") ?? "{}") as JsonObject, parsed(CHANGING_MEMBERS, fields), rest);
}

/** @throws Error when its payloads are not there */
export function toRecord(fields: ReadonlyMap<string, string>): TaskRecord {
  return composeRecord(toSummary(fields), parsed(PAYLOAD_MEMBERS, fields));
}

function parsed<Member extends ChangingMember | PayloadMember>(
  members: readonly Member[],
  fields: ReadonlyMap<string, string>,
): { [member in Member]?: JsonValue } {
  const values: { [member in Member]?: JsonValue } = {};
  for (const member of members) {
    const text = fields.get(member);
    if (text !== undefined) values[member] = JSON.parse(text) as JsonValue;
  }
  return values;
}
