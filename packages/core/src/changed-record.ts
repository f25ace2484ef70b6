import { frozenCopy } from "./frozen-copy.js";
import { applyChanges, type TaskChanges, type TaskRecord } from "./task.js";

/** The record that `changes` make of a frozen one: frozen as well, and sharing what is not changed. */
export function changedRecord(record: TaskRecord, changes: TaskChanges): TaskRecord {
  const frozen: Record<string, unknown> = {};
  for (const [name, member] of Object.entries(changes)) frozen[name] = frozenCopy(member);
  return Object.freeze(applyChanges(record, frozen));
}
