/** Reads the promises out of the store interface: every sentence of its doc comments. */
import { readFileSync } from "node:fs";

/** Sentence → why no case can state it. Whatever is not here has a case. */
export const NO_PROMISE: Readonly<Record<string, string>> = {
  "Which tasks a listing shows, and where it goes on": "a heading",
  "`nextCursor` of the page before": "says where the value is from; following it is promised by `list`",
  "One page of a listing": "a heading",
  "Wake-up hints between processes": "a heading",
  "Losing one costs latency and nothing else: the truth is always the record": "binds whoever listens",
  "Where records live": "a heading",
  "Prepares the store": "a heading; every case runs on an opened store",
  "Rejects with what is wrong and what would be right": "what can be wrong is each store's own; so are its tests",
  "Gives up every handle": "handles can be seen from within the store only",
  "Left out by stores whose back end expires by itself": "says who has the member",
  "Left out by stores on the host's own clock": "says who has the member",
  "Left out by stores that only one process uses": "says who has the member",
  "Set by a store that only this process can reach: its leases need no renewal and nothing in it is recovered":
    "binds the runtime",
};

/** The sentences of every doc comment from the first interface on, without their full stops. */
export function promisesOf(source: string): string[] {
  const interfaces = source.slice(source.indexOf("/**", source.indexOf("*/")));
  const comments = interfaces.match(/\/\*\*.*?\*\//gs) ?? [];
  return comments.flatMap((comment) => paragraphsOf(comment).flatMap(sentencesOf));
}

export function readStoreInterface(): string {
  return readFileSync(new URL("../../core/src/store.ts", import.meta.url), "utf8");
}

/** The comment's paragraphs and list items, each on one line. */
function paragraphsOf(comment: string): string[] {
  const lines = comment
    .replace(/^\/\*\*|\*\/$/g, "")
    .split("\n")
    .map((line) => line.replace(/^\s*\* ?/, "").trimEnd());
  const paragraphs: string[] = [""];
  for (const line of lines) {
    const item = /^\s*(?:- |@returns )(.*)$/.exec(line)?.[1];
    if (item !== undefined) paragraphs.push(item);
    else if (line.trim() === "") paragraphs.push("");
    else paragraphs.push(`${paragraphs.pop()} ${line.trim()}`.trim());
  }
  return paragraphs.filter((paragraph) => paragraph !== "");
}

function sentencesOf(paragraph: string): string[] {
  return paragraph.split(/(?<=\.) (?=[A-Z`])/).map((sentence) => sentence.replace(/\.$/, ""));
}
