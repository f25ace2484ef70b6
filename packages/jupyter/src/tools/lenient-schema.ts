/**
 * Taking arguments as clients really send them: numbers and booleans as strings, `null` or an empty string for what was
 * left out. Only what can mean one thing is converted; the rest reaches the schema as it came and is refused there.
 */
import type { StandardSchemaWithJSON } from "@modelcontextprotocol/server";

/** `schema` behind that conversion. What is advertised to clients stays the schema's own. */
export function lenient<Input, Output>(
  schema: StandardSchemaWithJSON<Input, Output>,
): StandardSchemaWithJSON<Input, Output> {
  const { version, vendor, types, validate, jsonSchema } = schema["~standard"];
  const shape = shapeOf(jsonSchema.input({ target: "draft-2020-12" }));
  return {
    "~standard": {
      version,
      vendor,
      ...(types === undefined ? {} : { types }),
      jsonSchema,
      validate: (value, options) => validate(converted(value, shape), options),
    },
  };
}

/** Per member: what JSON Schema calls its type, and whether it may be left out. */
type Shape = ReadonlyMap<string, { type: unknown; optional: boolean }>;

function shapeOf(schema: Record<string, unknown>): Shape {
  const required = new Set(Array.isArray(schema.required) ? schema.required : []);
  const properties = (schema.properties ?? {}) as Record<string, { type?: unknown }>;
  return new Map(
    Object.entries(properties).map(([name, { type }]) => [name, { type, optional: !required.has(name) }] as const),
  );
}

function converted(value: unknown, shape: Shape): unknown {
  if (typeof value !== "object" || value === null || Array.isArray(value)) return value;
  const members = Object.entries(value).flatMap(([name, member]) => {
    const declared = shape.get(name);
    if (declared === undefined) return [[name, member] as const];
    return declared.optional && isLeftOut(member, declared.type)
      ? []
      : [[name, convert(member, declared.type)] as const];
  });
  return Object.fromEntries(members);
}

/** A text may well be `None`; a number or a boolean is never meant by it. */
function isLeftOut(value: unknown, type: unknown): boolean {
  if (value === null || value === "") return true;
  return type !== "string" && (value === "null" || value === "None");
}

function convert(value: unknown, type: unknown): unknown {
  if (typeof value !== "string") return value;
  switch (type) {
    case "integer":
      return /^\s*[+-]?\d+\s*$/.test(value) ? Number(value) : value;
    case "number":
      return /^\s*[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?\s*$/i.test(value) ? Number(value) : value;
    case "boolean":
      return booleanOf(value) ?? value;
    default:
      return value;
  }
}

/** Python's spelling too: models write both. */
function booleanOf(text: string): boolean | undefined {
  if (/^\s*true\s*$/i.test(text)) return true;
  return /^\s*false\s*$/i.test(text) ? false : undefined;
}
