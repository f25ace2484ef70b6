/**
 * A record as stores keep it that hold texts: the head, which is what a listing shows, and each payload apart, all as
 * JSON. JSON escapes NUL characters and lone surrogates, which many a database cuts, replaces or refuses.
 */
import type { TaskChanges, TaskRecord, TaskSummary } from "./task.js";

/** What may be large: listings and changes of status neither read nor write it. */
export type Payload = "arguments" | "outcome" | "partialOutput" | "checkpoint";

/** The order never changes: it is part of a store's format where payloads are kept by their place here. */
export const PAYLOADS: readonly Payload[] = ["arguments", "outcome", "partialOutput", "checkpoint"];

/** JSON text by payload; `null` for one that is not there. */
export type PayloadTexts = { [payload in Payload]?: string | null };

/** The head, and payloads. */
export interface RecordTexts extends PayloadTexts {
  head: string;
}

/** All texts of a record. */
export function recordTextsOf(record: TaskRecord): RecordTexts {
  return { head: headOf(record), ...payloadTextsOf(record) };
}

/** A text has no member that is `undefined`. */
const NO_PAYLOADS: { [payload in Payload]: undefined } = {
  arguments: undefined,
  outcome: undefined,
  partialOutput: undefined,
  checkpoint: undefined,
};

/**
 * The text of what `summarize` makes of the record. By `assign`, since of so many members rest and spread make an object
 * that is several times as slow to put into a text, and every write of a task does so.
 */
function headOf(record: TaskRecord): string {
  const outcomeKind = "outcome" in record ? record.outcome.kind : undefined;
  return JSON.stringify(Object.assign({}, record, NO_PAYLOADS, { outcomeKind }));
}

/** What `changes`, which made `record`, write of it: the head, and the payloads that they have. */
export function changedTextsOf(record: TaskRecord, changes: TaskChanges): RecordTexts {
  return { head: headOf(record), ...payloadTextsOf(changes) };
}

/** The texts of those payloads that `value` has as members; a member that is `undefined` gives `null`. */
function payloadTextsOf(value: TaskRecord | TaskChanges): PayloadTexts {
  const texts: PayloadTexts = {};
  for (const payload of PAYLOADS) {
    if (!(payload in value)) continue;
    const member: unknown = (value as { [payload in Payload]?: unknown })[payload];
    texts[payload] = member === undefined ? null : JSON.stringify(member);
  }
  return texts;
}

/** What a listing shows, of a head. */
export function summaryOf(head: string): TaskSummary {
  return JSON.parse(head) as TaskSummary;
}

/**
 * The record that the texts are of.
 *
 * @throws Error when a payload that has to be there is not: half a record is never shown as if it were whole
 */
export function recordOf({ head, ...payloads }: RecordTexts): TaskRecord {
  const { outcomeKind, ...record } = summaryOf(head);
  const whole = record as Record<string, unknown>;
  for (const payload of PAYLOADS) {
    const text = payloads[payload];
    if (text !== null && text !== undefined) whole[payload] = JSON.parse(text);
  }
  const hasOutcome = outcomeKind === undefined || whole.outcome !== undefined;
  const missing = whole.arguments === undefined ? "arguments" : hasOutcome ? undefined : "outcome";
  if (missing !== undefined) {
    throw new Error(`Task ${record.taskId} is incomplete: somebody removed its ${missing} from the store.`);
  }
  return whole as unknown as TaskRecord;
}
