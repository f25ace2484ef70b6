/**
 * What a terminal would show of a stream, line by line: carriage returns, backspaces and erasures are carried out on the
 * current line, colours stay, every other escape is gone.
 *
 * Lines above the current one are final: moving the cursor up is not emulated, so a program that redraws several lines
 * shows each of its drawings. What is shown depends on the text alone, not on the pieces in which it came.
 */
import { BoundedText } from "./bounded-text.js";
import { escapeAt } from "./escapes.js";
import type { Excerpt } from "./excerpt.js";
import { applySgr, escapeBetween, type Pen, plainPen } from "./pen.js";
import { wellFormed } from "./well-formed.js";

/**
 * The longest stretch of one line that can still be overwritten, in characters. What lies before it is final: a line
 * without end must not be held twice, and no progress bar is wider.
 */
const MAX_OPEN_LINE = 65_536;

/** One column of a line that has been overwritten. */
interface Cell {
  text: string;
  pen: Pen;
}

// biome-ignore-start lint/suspicious/noControlCharactersInRegex: control characters are the subject
const CONTROL = /[\x00-\x08\x0d-\x1f\x7f-\x9f]/g;
const SGR_OR_CHARACTER = /\x1b\[([\d;:]*)m|[\s\S]/gu;
// biome-ignore-end lint/suspicious/noControlCharactersInRegex: control characters are the subject

/** @see the file comment */
export class TerminalText {
  readonly #lines: BoundedText;
  readonly #maxOpenLine: number;
  /** The current line as it came, while nothing has been overwritten in it. */
  #line = "";
  /** The current line by columns, once something has. */
  #cells: Cell[] | undefined;
  /** Where the next character goes, when there are cells. */
  #column = 0;
  /** A carriage return came, and nothing after it yet: most often a line end follows and nothing is overwritten. */
  #returned = false;
  #pen: Pen = plainPen;
  #penAtLineStart: Pen = plainPen;
  /** The beginning of an escape or of a character, whose end is still to come. */
  #pending = "";

  /** @param maxBytes how much of the text is kept (head and tail) */
  constructor(maxBytes: number) {
    this.#lines = new BoundedText(maxBytes);
    this.#maxOpenLine = Math.max(1, Math.min(MAX_OPEN_LINE, Math.floor(maxBytes / 4)));
  }

  /** Bytes held in memory, roughly: the current line counts by its length. */
  get bytes(): number {
    return this.#lines.bytes + (this.#cells?.length ?? this.#line.length);
  }

  /** The text so far, with its colours. */
  excerpt(): Excerpt {
    return this.#lines.excerpt(wellFormed(this.#currentLine() + this.#openCharacter()));
  }

  /** Writes the next piece of the stream. */
  write(piece: string): void {
    const text = this.#pending + piece;
    this.#pending = "";
    for (let index = 0; index < text.length; ) {
      CONTROL.lastIndex = index;
      const control = CONTROL.exec(text)?.index ?? text.length;
      if (control > index) this.#print(this.#holdOpenCharacter(text.slice(index, control), control === text.length));
      index = control < text.length ? this.#control(text, control) : control;
    }
  }

  /** @returns where to go on */
  #control(text: string, index: number): number {
    const character = text[index];
    if (character === "\r") this.#returned = this.#cells !== undefined || this.#line !== "";
    if (character === "\b") this.#backspace();
    return character === "\u001b" ? this.#escape(text, index) : index + 1;
  }

  #escape(text: string, index: number): number {
    const found = escapeAt(text, index);
    if (found.kind === "incomplete") {
      this.#pending = text.slice(index);
      return text.length;
    }
    if (found.kind === "stray") return index + 1;
    if (found.kind === "sgr") this.#colour(text.slice(index, index + found.length), found.parameters);
    if (found.kind === "eraseInLine") this.#erase(found.mode);
    return index + found.length;
  }

  #colour(sequence: string, parameters: string): void {
    this.#pen = applySgr(this.#pen, parameters);
    if (this.#returned) this.#openCells();
    if (!this.#cells) this.#line += sequence;
  }

  #backspace(): void {
    this.#openCells();
    this.#column = Math.max(0, this.#column - 1);
  }

  #erase(mode: string): void {
    if (this.#line === "" && !this.#cells) return;
    const cells = this.#openCells();
    if (mode === "0") cells.length = Math.min(cells.length, this.#column);
    if (mode === "1") cells.fill(blank, 0, Math.min(cells.length, this.#column + 1));
    if (mode === "2") cells.length = 0;
  }

  #print(text: string): void {
    if (this.#cells || this.#returned) this.#printOver(text);
    else this.#printOn(text);
  }

  /** Prints into a line that has something to be overwritten, up to its end. */
  #printOver(text: string): void {
    const lineEnd = text.indexOf("\n");
    const here = lineEnd === -1 ? text : text.slice(0, lineEnd);
    if (here !== "") this.#overwrite(here);
    if (lineEnd === -1) return;
    this.#endLine("");
    this.#printOn(text.slice(lineEnd + 1));
  }

  /** Prints at the end of the text: whole lines at once, whatever their number. */
  #printOn(text: string): void {
    const lastLineEnd = text.lastIndexOf("\n");
    if (lastLineEnd !== -1) this.#endLine(text.slice(0, lastLineEnd));
    this.#extend(text.slice(lastLineEnd + 1));
  }

  /** Ends the current line, or several lines when `more` has line ends in it. */
  #endLine(more: string): void {
    this.#lines.append(wellFormed(`${this.#currentLine()}${more}\n`));
    this.#startLine();
    this.#returned = false;
  }

  #startLine(): void {
    this.#line = "";
    this.#cells = undefined;
    this.#column = 0;
    this.#penAtLineStart = this.#pen;
  }

  #extend(text: string): void {
    for (let from = 0; from < text.length; ) {
      if (this.#line.length >= this.#maxOpenLine) this.#closeOpenLine();
      const room = Math.max(1, this.#maxOpenLine - this.#line.length);
      const end = characterEnd(text, from + room);
      this.#line += text.slice(from, end);
      from = end;
    }
  }

  #overwrite(text: string): void {
    const cells = this.#openCells();
    while (cells.length < this.#column) cells.push(blank);
    for (const character of text) {
      if (this.#column >= this.#maxOpenLine) this.#closeOpenLine();
      this.#openCells()[this.#column++] = { text: character, pen: this.#pen };
    }
  }

  /** Makes what has been written of the current line final. */
  #closeOpenLine(): void {
    this.#lines.append(wellFormed(this.#currentLine()));
    this.#startLine();
  }

  /** The current line by columns, with the cursor where it is. */
  #openCells(): Cell[] {
    if (!this.#cells) {
      this.#cells = toCells(this.#line, this.#penAtLineStart);
      this.#column = this.#cells.length;
      this.#line = "";
    }
    if (this.#returned) this.#column = 0;
    this.#returned = false;
    return this.#cells;
  }

  #currentLine(): string {
    return this.#cells ? fromCells(this.#cells, this.#penAtLineStart, this.#pen) : this.#line;
  }

  #openCharacter(): string {
    return this.#pending.startsWith("\u001b") ? "" : this.#pending;
  }

  /** A character outside the basic plane is two code units, and they may come in two pieces. */
  #holdOpenCharacter(text: string, atEnd: boolean): string {
    if (!atEnd || !isHighSurrogate(text, text.length - 1)) return text;
    this.#pending = text.slice(-1);
    return text.slice(0, -1);
  }
}

const blank: Cell = { text: " ", pen: plainPen };

function toCells(line: string, penAtStart: Pen): Cell[] {
  const cells: Cell[] = [];
  let pen = penAtStart;
  for (const [text, parameters] of line.matchAll(SGR_OR_CHARACTER)) {
    if (parameters === undefined) cells.push({ text, pen });
    else pen = applySgr(pen, parameters);
  }
  return cells;
}

function fromCells(cells: readonly Cell[], penAtStart: Pen, penAtEnd: Pen): string {
  let line = "";
  let pen = penAtStart;
  for (const cell of cells) {
    line += escapeBetween(pen, cell.pen) + cell.text;
    pen = cell.pen;
  }
  return line + escapeBetween(pen, penAtEnd);
}

/** `index`, or the one after when it would split a character. */
function characterEnd(text: string, index: number): number {
  return isHighSurrogate(text, index - 1) && /^[\udc00-\udfff]/.test(text[index] ?? "") ? index + 1 : index;
}

function isHighSurrogate(text: string, index: number): boolean {
  const unit = text.charCodeAt(index);
  return unit >= 0xd800 && unit <= 0xdbff;
}
