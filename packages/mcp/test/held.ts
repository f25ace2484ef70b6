/** Lists of what other projects test of their tasks, or trip over: each with the test that holds it here. */
import { readFileSync } from "node:fs";
import { expect, it } from "vitest";

/** `file` is below this folder, without `.test.ts`; the test's source has `title` in it. */
export type Held = [what: string, file: string, title: string];

export function testsHold(rows: readonly Held[]): void {
  it.each(rows)("%s: %s", (_what, file, title) => {
    expect(readFileSync(new URL(`${file}.test.ts`, import.meta.url), "utf8")).toContain(title);
  });
}
