/**
 * The colours and styles that text is written with, as ANSI "select graphic rendition" (SGR) escapes set them.
 *
 * Needed only where text is overwritten: the characters that stay must keep their colours whatever is written beside them.
 */

/** What is switched on: the aspect (`colour`, `weight`, …) to its SGR parameters. */
export type Pen = Readonly<Partial<Record<Aspect, string>>>;

type Aspect =
  | "bold"
  | "dim"
  | "italic"
  | "underline"
  | "blink"
  | "inverse"
  | "conceal"
  | "strike"
  | "overline"
  | "colour"
  | "background"
  | "underlineColour";

/** Nothing switched on. */
export const plainPen: Pen = {};

const SWITCHED_ON: Readonly<Record<number, Aspect>> = {
  1: "bold",
  2: "dim",
  3: "italic",
  4: "underline",
  5: "blink",
  6: "blink",
  7: "inverse",
  8: "conceal",
  9: "strike",
  21: "underline",
  53: "overline",
};

const SWITCHED_OFF: Readonly<Record<number, readonly Aspect[]>> = {
  22: ["bold", "dim"],
  23: ["italic"],
  24: ["underline"],
  25: ["blink"],
  27: ["inverse"],
  28: ["conceal"],
  29: ["strike"],
  39: ["colour"],
  49: ["background"],
  55: ["overline"],
  59: ["underlineColour"],
};

/** The pen after the escape `ESC [ parameters m`. What is not known is ignored. */
export function applySgr(pen: Pen, parameters: string): Pen {
  const codes = parameters.split(";");
  let next = pen;
  for (let index = 0; index < codes.length; ) {
    const used = extendedColourLength(codes, index);
    next = applyCode(next, codes.slice(index, index + used).join(";"));
    index += used;
  }
  return next;
}

/** The escape that turns one pen into another; empty when they are the same. */
export function escapeBetween(from: Pen, to: Pen): string {
  if (from === to) return "";
  const before = Object.values(from).join(";");
  const after = Object.values(to).join(";");
  if (before === after) return "";
  if (before === "") return `\u001b[${after}m`;
  return after === "" ? "\u001b[0m" : `\u001b[0;${after}m`;
}

/** `38;5;n` and `38;2;r;g;b` (likewise 48 and 58) are one code in several parameters. */
function extendedColourLength(codes: readonly string[], index: number): number {
  if (!/^[345]8$/.test(codes[index] ?? "")) return 1;
  if (codes[index + 1] === "5") return 3;
  return codes[index + 1] === "2" ? 5 : 1;
}

function applyCode(pen: Pen, code: string): Pen {
  const number = Number.parseInt(code, 10) || 0;
  if (number === 0) return plainPen;
  const aspect = SWITCHED_ON[number] ?? colourAspect(number);
  // `4:0` is the one sub-parameter that switches off.
  if (aspect && code !== "4:0") return { ...pen, [aspect]: code };
  const off = code === "4:0" ? (["underline"] as const) : SWITCHED_OFF[number];
  return off ? without(pen, off) : pen;
}

function colourAspect(number: number): Aspect | undefined {
  if ((number >= 30 && number <= 38) || (number >= 90 && number <= 97)) return "colour";
  if ((number >= 40 && number <= 48) || (number >= 100 && number <= 107)) return "background";
  return number === 58 ? "underlineColour" : undefined;
}

function without(pen: Pen, aspects: readonly Aspect[]): Pen {
  return Object.fromEntries(Object.entries(pen).filter(([aspect]) => !aspects.includes(aspect as Aspect)));
}
