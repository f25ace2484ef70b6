import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { BoundedText } from "../../src/execution/bounded-text.js";

/** Pieces as the terminal hands them over: from a few characters to more than everything that is kept. */
const piece = fc
  .tuple(fc.constantFrom("a", "é\n", "🙂", "line\n", "\u001b[31mx\u001b[0m", "long line without its end "), fc.nat(400))
  .map(([text, times]) => text.repeat(times + 1));
const pieces = fc.array(piece, { maxLength: 12 });
const limit = fc.integer({ min: 200, max: 3_000 });

function bounded(maxBytes: number, texts: readonly string[]): BoundedText {
  const text = new BoundedText(maxBytes);
  for (const each of texts) text.append(each);
  return text;
}

describe("a bounded text", () => {
  it("keeps its head and tail within the limit, and counts what is between exactly", () => {
    fc.assert(
      fc.property(pieces, limit, (texts, maxBytes) => {
        const whole = texts.join("");
        const { head, tail, cut } = bounded(maxBytes, texts).excerpt("");
        expect(whole.startsWith(head) && whole.endsWith(tail)).toBe(true);
        const gap = whole.slice(head.length, whole.length - tail.length);
        expect(cut ?? { bytes: 0, lines: 0 }).toEqual({
          bytes: Buffer.byteLength(gap),
          lines: gap.split("\n").length - 1,
        });
        expect(Buffer.byteLength(head + tail)).toBeLessThanOrEqual(maxBytes);
        expect(cut === undefined).toBe(Buffer.byteLength(whole) <= maxBytes);
      }),
    );
  });

  it("is the same however it came, and whether its end is appended or still open", () => {
    fc.assert(
      fc.property(pieces, limit, (texts, maxBytes) => {
        const whole = bounded(maxBytes, [texts.join("")]).excerpt("");
        expect(bounded(maxBytes, texts).excerpt("")).toEqual(whole);
        expect(bounded(maxBytes, texts.slice(0, -1)).excerpt(texts.at(-1) ?? "")).toEqual(whole);
      }),
    );
  });

  it("holds little more in memory than it keeps", () => {
    fc.assert(
      fc.property(pieces, limit, (texts, maxBytes) => {
        // What is kept to look at before a cut, and the one piece that was not worth cutting.
        expect(bounded(maxBytes, texts).bytes).toBeLessThan(2 * maxBytes + 2_000);
      }),
    );
  });
});
