import { PlainStore } from "../plain-store.js";
import type { WrongStore } from "./wrong-store.js";

class KeepsTheCallersObjects extends PlainStore {
  protected override copy<T>(value: T): T {
    return value;
  }
}

class KeepsUndefined extends PlainStore {
  protected override copy<T>(value: T): T {
    return structuredClone(value);
  }
}

class LosesPrecision extends PlainStore {
  protected override copy<T>(value: T): T {
    return JSON.parse(JSON.stringify(value), (_name, member: unknown) =>
      typeof member === "number" ? Number(member.toPrecision(15)) : member,
    );
  }
}

class CutsDeepValues extends PlainStore {
  protected override copy<T>(value: T): T {
    const text = JSON.stringify(value);
    if (/[[{]{128}|(\[{"v":){64}/.test(text)) throw new Error("nested too deeply");
    return JSON.parse(text) as T;
  }
}

class BoundedValues extends PlainStore {
  protected override copy<T>(value: T): T {
    const text = JSON.stringify(value);
    if (text.length > 2 ** 20) throw new Error("too large");
    return JSON.parse(text) as T;
  }
}

class DropsEmptyOutput extends PlainStore {
  protected override copy<T>(value: T): T {
    return JSON.parse(JSON.stringify(value), function (this: unknown, name, member: unknown) {
      return name === "partialOutput" && Array.isArray(member) && member.length === 0 ? undefined : member;
    });
  }
}

class RefusesNul extends PlainStore {
  protected override copy<T>(value: T): T {
    const text = JSON.stringify(value);
    if (text.includes("\\u0000")) throw new Error("invalid byte sequence");
    return JSON.parse(text) as T;
  }
}

class CopiesByAssignment extends PlainStore {
  protected override copy<T>(value: T): T {
    return copyByAssignment(value) as T;
  }
}

function copyByAssignment(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(copyByAssignment);
  if (typeof value !== "object" || value === null) return value ?? undefined;
  const copy: Record<string, unknown> = {};
  for (const [name, member] of Object.entries(value)) if (member !== undefined) copy[name] = copyByAssignment(member);
  return copy;
}

export const valuesMistakes: readonly WrongStore[] = [
  {
    name: "records are the caller's objects",
    store: KeepsTheCallersObjects,
    fails: [
      "Values come back as JSON would bring them back, and nothing that a caller does to a value afterwards changes what is stored",
      "Values come back as JSON would bring them back, and nothing that a caller does to a value afterwards changes what is stored — members that are undefined are absent",
    ],
  },
  {
    name: "undefined members are kept",
    store: KeepsUndefined,
    fails: [
      "Values come back as JSON would bring them back, and nothing that a caller does to a value afterwards changes what is stored — members that are undefined are absent",
    ],
  },
  {
    name: "numbers lose digits",
    store: LosesPrecision,
    fails: [
      "Values come back as JSON would bring them back, and nothing that a caller does to a value afterwards changes what is stored — numbers at their limits included",
    ],
  },
  {
    name: "deep values are refused",
    store: CutsDeepValues,
    fails: [
      "Values come back as JSON would bring them back, and nothing that a caller does to a value afterwards changes what is stored — however deep they are nested",
    ],
  },
  {
    name: "large values are refused",
    store: BoundedValues,
    fails: [
      "Values come back as JSON would bring them back, and nothing that a caller does to a value afterwards changes what is stored — megabytes included",
    ],
  },
  {
    name: "empty output is dropped",
    store: DropsEmptyOutput,
    fails: [
      "Values come back as JSON would bring them back, and nothing that a caller does to a value afterwards changes what is stored — an empty value is not an absent one",
    ],
  },
  {
    name: "NUL is refused",
    store: RefusesNul,
    fails: [
      "Keys of different owners never meet — whatever characters join or end them",
      "Keys of different owners never meet — nor do two that only look or fold alike",
      "NUL characters, lone surrogates, a member named `__proto__` and empty strings survive",
      "NUL characters, lone surrogates, a member named `__proto__` and empty strings survive — in owners, keys and names as well",
    ],
  },
  {
    name: "members are copied by assignment",
    store: CopiesByAssignment,
    fails: [
      "Answers the changed record; its version is one higher",
      "Values come back as JSON would bring them back, and nothing that a caller does to a value afterwards changes what is stored — members that are undefined are absent",
      "Values come back as JSON would bring them back, and nothing that a caller does to a value afterwards changes what is stored — an empty value is not an absent one",
      "NUL characters, lone surrogates, a member named `__proto__` and empty strings survive",
      "NUL characters, lone surrogates, a member named `__proto__` and empty strings survive — as data, and reach no prototype",
    ],
  },
];
