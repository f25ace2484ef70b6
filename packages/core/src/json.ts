/** Any value that JSON can carry (RFC 8259). */
export type JsonValue = null | boolean | number | string | JsonValue[] | JsonObject;

/** A JSON object. Members set to `undefined` are absent, as `JSON.stringify` has it. */
export interface JsonObject {
  [member: string]: JsonValue | undefined;
}
