/**
 * The code if a kernel can be sent it. A kernel that is sent half a character (a surrogate without its partner, which UTF-8
 * has no place for) fails while it takes the request, and never answers it.
 *
 * @throws Error for half a character, with where it is
 */
export function sendableCode(code: string): string {
  const half = code.search(/\p{Surrogate}/u);
  if (half === -1) return code;
  const line = code.slice(0, half).split("\n").length;
  const number = code.charCodeAt(half).toString(16).toUpperCase();
  throw new Error(
    `Line ${line} of the code has half a character, U+${number}, which no kernel can be sent. Write the whole character, or an escape of the language.`,
  );
}
