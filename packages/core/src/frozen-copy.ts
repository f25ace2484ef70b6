/** A copy of a value as JSON would bring it back, frozen to its depths, in a fraction of what going through text costs. */

/** @throws TypeError for what JSON refuses: big integers and circles; RangeError for what is nested too deeply for JSON, too */
export function frozenCopy<T>(value: T): T {
  try {
    return copy(value) as T;
  } catch (error) {
    // No stack is deep enough for it, or it is a circle: JSON takes deeper nesting than a function that calls itself.
    if (!(error instanceof RangeError)) throw error;
    return frozen(JSON.parse(JSON.stringify(value)));
  }
}

/** `value` itself, which nobody else has, frozen without recursion. */
function frozen<T>(value: T): T {
  const parts: unknown[] = [value];
  for (const part of parts)
    if (typeof part === "object" && part !== null)
      for (const member of Object.values(Object.freeze(part))) parts.push(member);
  return value;
}

function copy(value: unknown): unknown {
  if (typeof value === "string" || typeof value === "boolean" || value === null) return value;
  // JSON knows neither minus zero nor numbers without end.
  if (typeof value === "number") return Number.isFinite(value) ? value + 0 : null;
  if (Array.isArray(value)) return copyItems(value);
  if (typeof value === "object" && isPlain(value)) return copyMembers(value);
  return throughText(value);
}

function isPlain(value: object): value is Record<string, unknown> {
  const prototype: unknown = Object.getPrototypeOf(value);
  return (prototype === Object.prototype || prototype === null) && !("toJSON" in value);
}

function copyItems(value: readonly unknown[]): readonly unknown[] {
  // Of its length at once: a list that grows keeps room for sixteen more items, for as long as the record is kept.
  const items = new Array<unknown>(value.length);
  // By index, as JSON goes through it: a hole is `null` too.
  for (let at = 0; at < value.length; at += 1) items[at] = copy(value[at]) ?? null;
  return Object.freeze(items);
}

function copyMembers(value: Record<string, unknown>): object {
  const members: Record<string, unknown> = {};
  for (const name of Object.keys(value)) {
    const member = copy(value[name]);
    if (member === undefined) continue;
    if (name === "__proto__") Object.defineProperty(members, name, { value: member, enumerable: true });
    else members[name] = member;
  }
  return Object.freeze(members);
}

/** What is neither plain nor primitive: JSON knows what becomes of it, `undefined` where nothing does. */
function throughText(value: unknown): unknown {
  const text = JSON.stringify(value);
  return text === undefined ? undefined : copy(JSON.parse(text));
}
