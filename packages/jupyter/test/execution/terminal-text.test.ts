import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { stripEscapes } from "../../src/execution/escapes.js";
import { TerminalText } from "../../src/execution/terminal-text.js";

/** Shows what a terminal shows after these pieces. */
function shown(...pieces: string[]): string {
  const terminal = new TerminalText(2 ** 20);
  for (const piece of pieces) terminal.write(piece);
  const { head, cut } = terminal.excerpt();
  expect(cut).toBeUndefined();
  return head;
}

/** Pieces that terminals treat in their own ways, and pieces of pieces. */
const token = fc.constantFrom(
  ..."ab \n\r\b\t\u001bé🙂".split(/(?:)/u),
  "\r\n",
  "\u001b[31m",
  "\u001b[1;32m",
  "\u001b[0m",
  "\u001b[38;5;9m",
  "\u001b[K",
  "\u001b[2K",
  "\u001b[1K",
  "\u001b[1A",
  "\u001b]8;;http://e\u0007",
  "\u001b]8;;\u001b\\",
  "\u001b[",
  "\u001b]",
  "\ud83d",
  "\ude42",
  "\u0000",
  "a longer run of text",
);
const terminalText = fc.array(token, { maxLength: 60 }).map((tokens) => tokens.join(""));

/** The same text in pieces, cut anywhere. */
function cutAt(text: string, places: readonly number[]): string[] {
  const sorted = [0, ...places.map((place) => place % (text.length + 1)), text.length].sort((a, b) => a - b);
  return sorted.slice(1).map((end, index) => text.slice(sorted[index], end));
}

describe("a carriage return", () => {
  it("lets what follows overwrite the line", () => {
    const bar = Array.from({ length: 101 }, (_, percent) => `\r${percent}%`);
    expect(shown(...bar)).toBe("100%");
    expect(shown("11111\r", "2\n")).toBe("21111\n");
  });

  it("followed by a line end leaves the line as it is", () => {
    expect(shown("one\r\ntwo\r\n")).toBe("one\ntwo\n");
  });

  it("goes to the start of its own line only", () => {
    expect(shown("first\nsecond\rS")).toBe("first\nSecond");
  });

  it("keeps the colours of what is not overwritten", () => {
    expect(shown("\u001b[31mred\u001b[0m plain\rR")).toBe("R\u001b[31med\u001b[0m plain");
  });

  it("leaves later text in the colour that was set last", () => {
    expect(shown("abc\r\u001b[32mx\n", "y\u001b[0m\n")).toBe("\u001b[32mx\u001b[0mbc\u001b[32m\ny\u001b[0m\n");
  });
});

describe("a backspace", () => {
  it("moves back without erasing", () => {
    expect(shown("|\b/\b-\b\\")).toBe("\\");
    expect(shown("abc\b\bX")).toBe("aXc");
  });

  it("does not go beyond the start of the line", () => {
    expect(shown("a\n\b\b\bb")).toBe("a\nb");
  });

  it("goes back a whole character", () => {
    expect(shown("é🙂\bx")).toBe("éx");
  });
});

describe("escapes other than colours", () => {
  it("are gone, whether they come in one message or two", () => {
    const text = "\u001b[2K\u001b[1Ax\u001b]8;;http://e\u0007L\u001b]8;;\u0007 \u001b[31mr\u001b[0m";
    for (let place = 0; place <= text.length; place++) {
      expect(stripEscapes(shown(text.slice(0, place), text.slice(place)))).toBe("xL r");
    }
    expect(shown(text)).toBe("xL \u001b[31mr\u001b[0m");
  });

  it("erase what they erase on the current line", () => {
    expect(shown("a long line\r\u001b[Kshort\n")).toBe("short\n");
    expect(shown("a long line\u001b[2K\rshort\n")).toBe("short\n");
    expect(shown("abc\b\u001b[1Kx")).toBe("  x");
  });

  it.each([
    ["a title", "\u001b]0;title\u0007"],
    ["a link that ends with ST", "\u001b]8;;http://e\u001b\\"],
    ["a device control string", "\u001bPq#0\u001b\\"],
    ["cursor movement", "\u001b[10;20H"],
    ["a private mode", "\u001b[?25l"],
    ["a character set", "\u001b(B"],
    ["saving the cursor", "\u001b7"],
    ["the bell", "\u0007"],
  ])("such as %s leave nothing behind", (_, sequence) => {
    expect(shown(`a${sequence}b`)).toBe("ab");
  });

  it("that never end do not swallow the output", () => {
    expect(shown("\u001b]8;;http://e\nnext line\n")).toContain("next line\n");
    expect(shown(`\u001b]${"x".repeat(10_000)}`)).toContain("x".repeat(10_000));
  });
});

describe("the size", () => {
  /** All that a bounded terminal says about a text: what it keeps, and what it counts. */
  function bounded(maxBytes: number, ...pieces: string[]) {
    const terminal = new TerminalText(maxBytes);
    for (const piece of pieces) terminal.write(piece);
    return terminal.excerpt();
  }

  it("is bounded, head and tail kept, and the gap counted exactly", () => {
    const lines = Array.from({ length: 5_000 }, (_, index) => `line ${index}\n`);
    const { head, tail, cut } = bounded(1_000, ...lines);
    expect(head.startsWith("line 0\nline 1\n")).toBe(true);
    expect(tail.endsWith("line 4998\nline 4999\n")).toBe(true);
    const all = lines.join("");
    const gap = all.slice(head.length, all.length - tail.length);
    expect(cut).toEqual({ bytes: gap.length, lines: gap.split("\n").length - 1 });
    expect(head + gap + tail).toBe(all);
    expect(head.length + tail.length).toBeGreaterThan(700);
  });

  it("holds for one line without end, cut between characters", () => {
    const { head, tail, cut } = bounded(1_000, "é🙂".repeat(10_000), "end");
    expect(head).toMatch(/^(?:é🙂)+é?$/u);
    expect(tail).toMatch(/^🙂?(?:é🙂)+end$/u);
    expect(Buffer.byteLength(head) + Buffer.byteLength(tail) + (cut?.bytes ?? 0)).toBe(60_003);
  });

  it("never cuts inside a colour escape", () => {
    fc.assert(
      fc.property(fc.integer({ min: 40, max: 400 }), (maxBytes) => {
        const { head, tail } = bounded(maxBytes, "\u001b[38;2;10;20;30mx\u001b[0m".repeat(200));
        expect(stripEscapes(head)).toMatch(/^x*$/);
        expect(stripEscapes(tail)).toMatch(/^x*$/);
      }),
    );
  });

  it("adds up, whatever the text and the limit", () => {
    fc.assert(
      fc.property(
        fc.string({ unit: fc.constantFrom("a", "\n", "é", "🙂"), maxLength: 400 }),
        fc.nat(200),
        (text, max) => {
          const { head, tail, cut } = bounded(max, text);
          const kept = Buffer.byteLength(head) + Buffer.byteLength(tail);
          expect(kept).toBeLessThanOrEqual(max);
          expect(kept + (cut?.bytes ?? 0)).toBe(Buffer.byteLength(text));
          expect(text.startsWith(head) && text.endsWith(tail)).toBe(true);
        },
      ),
    );
  });

  it("of 20 MB in 20,000 messages costs no more than reading them", () => {
    const message = `${"x".repeat(99)}\n`.repeat(10);
    const startedAt = performance.now();
    const { cut } = bounded(2 ** 20, ...Array.from({ length: 20_000 }, () => message));
    expect(performance.now() - startedAt).toBeLessThan(3_000);
    expect(cut?.bytes).toBeGreaterThan(18 * 2 ** 20);
  });

  it("of a progress bar is the bar's, however often it is drawn", () => {
    const terminal = new TerminalText(2 ** 20);
    for (let step = 0; step < 20_000; step++) terminal.write(`\r${"#".repeat(80)} ${step}`);
    expect(terminal.bytes).toBeLessThan(200);
    expect(terminal.excerpt().head).toBe(`${"#".repeat(80)} 19999`);
  });
});

describe("where messages begin and end", () => {
  it("makes no difference", () => {
    fc.assert(
      fc.property(terminalText, fc.array(fc.nat(), { maxLength: 12 }), (text, places) => {
        expect(shown(...cutAt(text, places))).toBe(shown(text));
      }),
      { numRuns: 1_000 },
    );
  });

  it("makes no difference to what is kept of too much", () => {
    fc.assert(
      fc.property(
        terminalText,
        fc.array(fc.nat(), { maxLength: 12 }),
        fc.integer({ min: 4, max: 120 }),
        (text, places, max) => {
          const whole = new TerminalText(max);
          whole.write(text);
          const inPieces = new TerminalText(max);
          for (const piece of cutAt(text, places)) inPieces.write(piece);
          expect(inPieces.excerpt()).toEqual(whole.excerpt());
        },
      ),
      { numRuns: 1_000 },
    );
  });

  it("leaves no half character behind", () => {
    expect(shown("\ud83d", "\ude42")).toBe("🙂");
    expect(shown("\ud83d")).toBe("\ufffd");
    expect(shown("\ud83d", "a")).toBe("\ufffda");
    fc.assert(
      fc.property(terminalText, (text) => {
        expect(shown(text)).not.toMatch(/\p{Surrogate}/u);
      }),
    );
  });
});
