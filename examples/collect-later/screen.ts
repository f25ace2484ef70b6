/** What the story looks like: a bar that fills on a terminal, plain lines where there is none. */
import { styleText } from "node:util";

const out = process.stdout;
const isLive = out.isTTY === true && process.env.TERM !== "dumb";

type Style = Parameters<typeof styleText>[0];

function styled(style: Style, text: string): string {
  const isColoured = isLive && process.env.NO_COLOR === undefined;
  return isColoured ? styleText(style, text) : text;
}

export function title(text: string): void {
  out.write(`\n  ${styled("bold", text)}\n`);
}

export function step(number: number, text: string): void {
  out.write(`\n  ${styled("cyan", `${number}`)}  ${styled("bold", text)}\n`);
}

/** One thing that happened, in two columns. */
export function fact(name: string, value: string): void {
  out.write(`     ${styled("dim", name.padEnd(14))}${value}\n`);
}

export function text(line: string): void {
  out.write(`  ${line}\n`);
}

export function aside(line: string): void {
  out.write(`     ${styled("dim", line)}\n`);
}

/** Text that a cell printed. */
export function quote(printed: string): void {
  for (const line of printed.trimEnd().split("\n")) out.write(`     ${styled("dim", "│")} ${line}\n`);
}

export function done(line: string): void {
  out.write(`     ${styled("green", "✓")} ${line}\n`);
}

export function wrong(line: string): void {
  out.write(`     ${styled("red", "✗")} ${line}\n`);
}

const BAR_WIDTH = 32;
/** Shows how far something has come. On a terminal one line is drawn over; elsewhere each new step is a line. */
export class ProgressBar {
  readonly #total: number;
  #shown = "";

  constructor(total: number) {
    this.#total = total;
  }

  show(current: number, note: string): void {
    if (isLive) this.#draw(current, note);
    else this.#print(current, note);
  }

  #print(current: number, note: string): void {
    // Before the first step, what is being prepared is the news.
    const news = current === 0 ? note : `${current}`;
    if (news === this.#shown) return;
    fact("progress", `${current}/${this.#total}  ${note}`);
    this.#shown = news;
  }

  #draw(current: number, note: string): void {
    const filled = Math.round((current / this.#total) * BAR_WIDTH);
    const bar = styled("green", "━".repeat(filled)) + styled("dim", "━".repeat(BAR_WIDTH - filled));
    const count = `${current}/${this.#total}`;
    // A line that wraps cannot be drawn over. A terminal that does not know its width says 0.
    const room = Math.max(0, (out.columns || 80) - BAR_WIDTH - count.length - 10);
    const short = note.length > room ? `${note.slice(0, Math.max(0, room - 1))}…` : note;
    out.write(`\r\u001b[2K     ${bar}  ${count}  ${styled("dim", short)}`);
  }

  /** Leaves the line as it is, and goes on below it. */
  end(): void {
    if (isLive) out.write("\n");
  }
}
