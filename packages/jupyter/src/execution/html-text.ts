/**
 * The text of a piece of HTML, for a reader that sees text alone. An extract and not a renderer: what a page looks like
 * is lost, what it says is not.
 *
 * One pass from left to right. Patterns that look ahead for an end would cost the square of a hostile page's length.
 */

/** Elements whose content is not for reading. */
const HIDDEN_ELEMENT = /^(script|style|head|template)$/;
const LINE_ELEMENT = /^(br|p|div|li|tr|h[1-6]|table|ul|ol|pre|section|article|dt|dd|blockquote)$/;
const ENTITY = /&(?:#(\d{1,7})|#x([0-9a-f]{1,6})|([a-z]{2,8}));/gi;
const NAMED: Readonly<Record<string, string>> = { amp: "&", lt: "<", gt: ">", quot: '"', apos: "'", nbsp: " " };

/** @see the file comment */
export function textOfHtml(html: string): string {
  const lines = textWithLineEnds(html)
    .split("\n")
    .map((line) => line.trim());
  return lines
    .join("\n")
    .replace(/\n{3,}/g, "\n\n")
    .trim();
}

function textWithLineEnds(html: string): string {
  const lowerCase = html.toLowerCase();
  const parts: string[] = [];
  for (let from = 0; from < html.length; ) {
    const open = html.indexOf("<", from);
    if (open !== from) parts.push(inlineText(html.slice(from, open === -1 ? html.length : open)));
    if (open === -1) break;
    const tag = tagAt(html, lowerCase, open);
    parts.push(tag.text);
    from = tag.end;
  }
  return parts.join("");
}

/** What stands for the tag at `open` in the text, and where to go on. */
function tagAt(html: string, lowerCase: string, open: number): { text: string; end: number } {
  if (html.startsWith("<!--", open)) return { text: "", end: endOf(html, "-->", open) };
  const [, slash = "", name = ""] = /^<(\/?)([a-z][a-z0-9]*|!)/.exec(lowerCase.slice(open, open + 16)) ?? [];
  if (name === "") return { text: "<", end: open + 1 };
  if (slash === "" && HIDDEN_ELEMENT.test(name)) {
    return { text: "", end: endOf(lowerCase, ">", endOf(lowerCase, `</${name}`, open)) };
  }
  return { text: textOfTag(name, slash === "/"), end: endOf(html, ">", open) };
}

function textOfTag(name: string, isEnd: boolean): string {
  if (isEnd && /^t[dh]$/.test(name)) return "\t";
  return LINE_ELEMENT.test(name) && (isEnd || name === "br") ? "\n" : "";
}

/** Behind the next `end`; what is never ended goes on to the last character, as in a browser. */
function endOf(html: string, end: string, from: number): number {
  const index = html.indexOf(end, from);
  return index === -1 ? html.length : index + end.length;
}

function inlineText(text: string): string {
  return text.replace(/\s+/g, " ").replace(ENTITY, decode);
}

function decode(entity: string, decimal?: string, hexadecimal?: string, name?: string): string {
  if (name) return NAMED[name.toLowerCase()] ?? entity;
  const codePoint = decimal ? Number.parseInt(decimal, 10) : Number.parseInt(hexadecimal ?? "", 16);
  const isCharacter = codePoint <= 0x10ffff && !(codePoint >= 0xd800 && codePoint <= 0xdfff);
  return isCharacter ? String.fromCodePoint(codePoint) : entity;
}
