/**
 * A record in three parts, for stores that keep them apart: what never changes, what transitions change, and the
 * payloads, which may be large and which listings and changes of status neither read nor write.
 */
import type { JsonObject, JsonValue } from "./json.js";
import type { TaskChanges, TaskRecord, TaskSummary } from "./task.js";

export type PayloadMember = "arguments" | "outcome" | "partialOutput" | "checkpoint";
export type ChangingMember = Exclude<keyof TaskChanges, PayloadMember>;

// As objects, so that a member that is added to the record's types does not compile until it is added here.
const PAYLOADS: Readonly<Record<PayloadMember, true>> = {
  arguments: true,
  outcome: true,
  partialOutput: true,
  checkpoint: true,
};
const CHANGING: Readonly<Record<ChangingMember, true>> = {
  status: true,
  statusMessage: true,
  lastUpdatedAt: true,
  finishedAt: true,
  progress: true,
  questions: true,
  attempt: true,
  cancellation: true,
};

export const PAYLOAD_MEMBERS: readonly PayloadMember[] = Object.keys(PAYLOADS) as PayloadMember[];
export const CHANGING_MEMBERS: readonly ChangingMember[] = Object.keys(CHANGING) as ChangingMember[];

export function isPayloadMember(member: string): member is PayloadMember {
  return Object.hasOwn(PAYLOADS, member);
}

export function isChangingMember(member: string): member is ChangingMember {
  return Object.hasOwn(CHANGING, member);
}

/** The members that never change, `version` left out. */
export function fixedMembers(record: TaskRecord): Partial<TaskRecord> {
  const fixed = Object.entries(record).filter(
    ([member]) => member !== "version" && !isChangingMember(member) && !isPayloadMember(member),
  );
  return Object.fromEntries(fixed) as Partial<TaskRecord>;
}

/**
 * The members that `changes` name, each with its value or `undefined` where it is removed, in an order that does not
 * depend on the caller's.
 *
 * @throws Error for a member that no transition changes
 */
export function changedMembers(changes: TaskChanges): [ChangingMember | PayloadMember, unknown][] {
  return Object.keys(changes)
    .sort()
    .map((member) => {
      if (!isChangingMember(member) && !isPayloadMember(member)) throw new Error(`A task's ${member} never changes.`);
      return [member, changes[member as keyof TaskChanges]];
    });
}

/** The record as a listing shows it, of its parts; members that are absent are not among `changing`. */
export function composeSummary(
  fixed: JsonObject,
  changing: { readonly [member in ChangingMember]?: JsonValue },
  rest: { version: number; outcomeKind?: string | undefined },
): TaskSummary {
  const { outcomeKind, version } = rest;
  const summary = { ...fixed, ...changing, version, ...(outcomeKind === undefined ? {} : { outcomeKind }) };
  return summary as unknown as TaskSummary;
}

/**
 * The whole record, of its parts.
 *
 * @throws Error when a payload that has to be there is not: half a record is never shown as if it were whole
 */
export function composeRecord(
  summary: TaskSummary,
  payloads: { readonly [member in PayloadMember]?: JsonValue },
): TaskRecord {
  const { outcomeKind, ...record } = summary;
  const hasOutcome = outcomeKind === undefined || payloads.outcome !== undefined;
  const missing = payloads.arguments === undefined ? "arguments" : hasOutcome ? undefined : "outcome";
  if (missing !== undefined) {
    throw new Error(`Task ${record.taskId} is incomplete: somebody removed its ${missing} from the store.`);
  }
  return { ...record, ...payloads } as unknown as TaskRecord;
}
