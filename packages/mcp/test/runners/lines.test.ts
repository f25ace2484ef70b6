import { expect, it } from "vitest";
import { Lines } from "../../src/runners/lines.js";

function linesOf(...pieces: string[]): string[] {
  const lines = new Lines();
  return [...pieces.flatMap((piece) => lines.take(piece)), ...lines.end()];
}

it.each([
  ["a line that comes in pieces", ["on", "e\ntw", "o\n"], ["one", "two"]],
  ["\\r\\n, also split", ["one\r\ntwo\r", "\nthree\r\n"], ["one", "two", "three"]],
  ["a last line without an end", ["one\ntwo"], ["one", "two"]],
  ["empty lines", ["\n\na\n"], ["", "", "a"]],
  ["nothing", [""], []],
  ["a line that is written over", ["10%\r50", "%\r100%\n"], ["100%"]],
])("%s", (_what, pieces, lines) => {
  expect(linesOf(...pieces)).toEqual(lines);
});

it("a line without an end takes bounded memory, and its beginning is kept", () => {
  const [line] = linesOf(...Array.from({ length: 100 }, () => "x".repeat(1000)), "end\n");
  expect(line).toHaveLength(8192);
});

it("a bar that is drawn for hours shows its last state", () => {
  const bar = Array.from({ length: 10_000 }, (_, at) => `step ${at}\r`);
  expect(linesOf(...bar, "\n")).toEqual(["step 9999"]);
});
