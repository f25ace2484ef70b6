/** Records to the fields of a hash and back: the version, the head, and a field for each payload. */
import { PAYLOADS, type RecordTexts } from "@claimcheck/core";

/** What a record is read from. The head comes first: where it is missing there is no record. */
export const RECORD_FIELDS: readonly string[] = ["head", ...PAYLOADS];

/** Names and values, in turn. A payload that is not there is an empty text, which no JSON is. */
export function fieldsOf(version: number, texts: RecordTexts): string[] {
  const fields = ["version", String(version)];
  for (const [part, text] of Object.entries(texts)) fields.push(part, text ?? "");
  return fields;
}

/** The texts of a record's fields, `null` when there is no record. */
export function textsOfFields([head, ...values]: readonly (string | null)[]): RecordTexts | null {
  if (typeof head !== "string") return null;
  const texts: RecordTexts = { head };
  for (const [at, payload] of PAYLOADS.entries()) texts[payload] = values[at] || null;
  return texts;
}
