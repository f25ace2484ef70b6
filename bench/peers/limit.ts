/** What a benchmark says in the end: each ratio, what it may be, and whether it is. */

export type Limit = { atMost: number } | { atLeast: number };

/** Prints the ratio and its limit; past it, the benchmark's process exits with 1. The ratio comes last: `scripts/bench.mjs` looks for it. */
export function reportRatio(name: string, ratio: number, limit: Limit): void {
  const [isMet, wanted] =
    "atMost" in limit
      ? [ratio <= limit.atMost, `at most ${limit.atMost}`]
      : [ratio >= limit.atLeast, `at least ${limit.atLeast}`];
  console.log(`limit ${name} ${wanted}: ${isMet ? "met" : "MISSED"}`);
  console.log(`ratio ${name} ${ratio.toFixed(3)}`);
  if (!isMet) process.exitCode = 1;
}
