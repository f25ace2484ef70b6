/** Text that comes in pieces, line by line. */

/** In UTF-16 units. What goes on without an end of line is not kept for ever. */
const MAX_LINE = 8192;

/** A line ends with `\n` or `\r\n`. Of one that is written over (a lone `\r`, as progress bars do) only the last writing counts. */
export class Lines {
  #rest = "";

  /** The lines that `text` completes. */
  take(text: string): string[] {
    const pieces = text.split("\n");
    const unfinished = pieces.pop() as string;
    const lines = pieces.map((piece, index) => asShown(index === 0 ? this.#rest + piece : piece));
    this.#rest = bounded(pieces.length === 0 ? this.#rest + unfinished : unfinished);
    return lines;
  }

  /** The last line, where nothing ended it. */
  end(): string[] {
    const rest = asShown(this.#rest);
    this.#rest = "";
    return rest === "" ? [] : [rest];
  }
}

function asShown(line: string): string {
  const text = line.endsWith("\r") ? line.slice(0, -1) : line;
  return text.slice(text.lastIndexOf("\r") + 1, text.lastIndexOf("\r") + 1 + MAX_LINE);
}

function bounded(unfinished: string): string {
  if (unfinished.length <= MAX_LINE) return unfinished;
  // The last unit may be the `\r` of a line end whose `\n` is still to come.
  return unfinished.slice(unfinished.lastIndexOf("\r", unfinished.length - 2) + 1).slice(0, MAX_LINE);
}
