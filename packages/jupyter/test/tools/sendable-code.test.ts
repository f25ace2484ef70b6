import { expect, test } from "vitest";
import { sendableCode } from "../../src/tools/sendable-code.js";

test.each(["", "print(1)", "'🙂é'", "'\\ud83d' # an escape", "a\u0000b"])(
  "code of whole characters is what it is: %j",
  (code) => {
    expect(sendableCode(code)).toBe(code);
  },
);

test.each([
  ["a first half", "x = 1\ny = '\ud83d'", "Line 2 of the code has half a character, U+D83D"],
  ["a second half", "'\ude42'", "Line 1 of the code has half a character, U+DE42"],
  ["halves in the wrong order behind a whole character", "'🙂\ude42\ud83d'", "U+DE42"],
])("%s is refused, with where it is", (_, code, message) => {
  expect(() => sendableCode(code)).toThrow(message);
});
