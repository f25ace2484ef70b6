/**
 * Looks at what a caller gave for options before anything is done with them. A compiler sees a misspelt name in an object
 * literal alone, and JavaScript none at all: the default would hold, and nobody be told.
 */

/** What one option may be. */
export interface OptionRule {
  /** Completes "must be …". */
  readonly what: string;
  readonly takes: (value: unknown) => boolean;
}

/** A rule for each of `Options`. */
export type OptionRules<Options> = { readonly [Name in keyof Options]-?: OptionRule };

/** Looked at by whoever the option is for. */
export const anything: OptionRule = { what: "anything", takes: () => true };
export const trueOrFalse: OptionRule = { what: "true or false", takes: (value) => typeof value === "boolean" };
export const aFunction: OptionRule = { what: "a function", takes: (value) => typeof value === "function" };
export const someText: OptionRule = {
  what: "a string that is not empty",
  takes: (value) => typeof value === "string" && value !== "",
};
export const anObject: OptionRule = {
  what: "an object",
  takes: (value) => typeof value === "object" && value !== null && !Array.isArray(value),
};
export const listOfText: OptionRule = {
  what: "a list of strings",
  takes: (value) => Array.isArray(value) && value.every((item) => typeof item === "string"),
};

/** `Infinity` is one: no limit. */
export function numberFrom(least: number): OptionRule {
  return { what: `a number of at least ${least}`, takes: (value) => typeof value === "number" && value >= least };
}

/** Milliseconds. `Infinity` is none: nothing can be set to happen then. */
export function durationFrom(least: number): OptionRule {
  const takes = (value: unknown): boolean => Number.isFinite(value) && (value as number) >= least;
  return { what: `a finite number of at least ${least}`, takes };
}

export function wholeNumberFrom(least: number, most: number = Number.MAX_SAFE_INTEGER): OptionRule {
  const takes = (value: unknown): boolean =>
    Number.isSafeInteger(value) && (value as number) >= least && (value as number) <= most;
  const what = most === Number.MAX_SAFE_INTEGER ? `of at least ${least}` : `from ${least} to ${most}`;
  return { what: `a whole number ${what}`, takes };
}

export function oneOf(...values: readonly string[]): OptionRule {
  const quoted = values.map((value) => JSON.stringify(value));
  return { what: quoted.join(" or "), takes: (value) => values.includes(value as string) };
}

/** An object that can do what is asked of it: of whichever class, or none. */
export function having(what: string, ...methods: readonly string[]): OptionRule {
  return {
    what: `${what}, with the methods ${methods.join(", ")}`,
    takes: (value) =>
      methods.every((method) => typeof (value as Record<string, unknown> | null)?.[method] === "function"),
  };
}

export const aClock: OptionRule = having("a clock", "now", "setTimer", "clearTimer");
export const aLogger: OptionRule = having("a logger", "debug", "info", "warn", "error");

/**
 * An option that is `undefined` is one that was left out.
 *
 * @param of whose options they are, as the caller knows it
 * @throws TypeError, RangeError that name the option, and say what was given and what would be right
 */
export function checkOptions<Options>(of: string, options: unknown, rules: OptionRules<Options>): void {
  if (typeof options !== "object" || options === null)
    throw new TypeError(`${of} takes an object of options; got ${described(options)}.`);
  for (const [name, value] of Object.entries(options)) {
    if (value === undefined) continue;
    if (!Object.hasOwn(rules, name))
      throw new TypeError(`${of} has no option ${name}; it has ${Object.keys(rules).join(", ")}.`);
    const rule = rules[name as keyof Options];
    if (rule.takes(value)) continue;
    const Wrong = typeof value === "number" ? RangeError : TypeError;
    throw new Wrong(`${of}: ${name} must be ${rule.what}; got ${described(value)}.`);
  }
}

/** No address, which may have a password in it, and nothing long. */
const SHOWN = /^[\w .-]{0,40}$/;

/** In a few words. */
function described(value: unknown): string {
  if (typeof value === "string") return SHOWN.test(value) ? JSON.stringify(value) : "a string";
  if (typeof value === "function") return "a function";
  if (Array.isArray(value)) return "a list";
  return typeof value === "object" && value !== null ? "an object" : String(value);
}
