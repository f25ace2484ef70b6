/**
 * A record as columns: the head, which is what a listing shows, and each payload, all as JSON texts. JSON escapes
 * NUL characters and lone surrogates, which SQLite's text would cut or replace.
 */
import type { TaskChanges, TaskRecord, TaskSummary } from "@claimcheck/core";
import { applyChanges, summarize } from "@claimcheck/core";

/** The order is part of the file's format; see `schema.ts`. */
export const PAYLOADS = ["arguments", "outcome", "partialOutput", "checkpoint"] as const;

export type Payload = (typeof PAYLOADS)[number];

/** JSON text by payload; `null` for one that is not there. */
export type PayloadTexts = Partial<Record<Payload, string | null>>;

export interface RecordTexts extends PayloadTexts {
  head: string;
}

export function textsOf(record: TaskRecord): RecordTexts {
  return { head: JSON.stringify(summarize(record)), ...payloadTextsOf(record) };
}

/** The texts of those payloads that `value` has as members; a member that is `undefined` gives `null`. */
export function payloadTextsOf(value: Partial<Record<Payload, unknown>>): PayloadTexts {
  const texts: PayloadTexts = {};
  for (const payload of PAYLOADS) {
    if (payload in value) texts[payload] = value[payload] === undefined ? null : JSON.stringify(value[payload]);
  }
  return texts;
}

/** The record that the texts of a row are of. */
export function recordOf({ head, ...payloads }: RecordTexts): TaskRecord {
  const { outcomeKind, ...record } = JSON.parse(head) as TaskSummary;
  const whole = record as Record<string, unknown>;
  for (const payload of PAYLOADS) {
    const text = payloads[payload];
    if (text !== null && text !== undefined) whole[payload] = JSON.parse(text);
  }
  if (whole.arguments === undefined || (outcomeKind !== undefined && whole.outcome === undefined)) {
    // Never an empty result in its place: the file was changed by another hand.
    throw new Error(`The payload of task ${record.taskId} is missing from the SQLite file.`);
  }
  return whole as unknown as TaskRecord;
}

/** The head that `changes` make of `head`; its version is one higher. */
export function changedHead(head: TaskSummary, changes: TaskChanges): TaskSummary {
  const { outcome, partialOutput: _partialOutput, checkpoint: _checkpoint, ...rest } = changes;
  const next = applyChanges(head as unknown as TaskRecord, rest) as unknown as TaskSummary;
  return outcome === undefined ? next : { ...next, outcomeKind: outcome.kind };
}

/** A longer payload, in UTF-16 units, is kept apart. A task's row with all four small ones fits a page. */
const LARGEST_IN_ROW = 800;

/** How the payloads of a record are kept. */
export interface Placement {
  /** What goes into the task's own row, in the order of {@link PAYLOADS}. */
  inRow: (string | null)[];
  /** Bit n: payload n has a row of its own. */
  apart: number;
}

export function placementOf(texts: PayloadTexts): Placement {
  const placement: Placement = { inRow: [], apart: 0 };
  for (const [n, payload] of PAYLOADS.entries()) {
    const text = texts[payload] ?? null;
    const isApart = text !== null && text.length > LARGEST_IN_ROW;
    placement.inRow.push(isApart ? null : text);
    if (isApart) placement.apart |= 1 << n;
  }
  return placement;
}

const NOT_EXACT_AS_TEXT = /^"|[\0\p{Surrogate}]/u;

/**
 * `name` as a column that is searched by. SQLite would take two names that differ in a lone surrogate for one;
 * such names are kept as JSON strings, and so is every name that looks like one.
 */
export function searchable(name: string): string {
  return NOT_EXACT_AS_TEXT.test(name) ? JSON.stringify(name) : name;
}
