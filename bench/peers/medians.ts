/** Medians of runs that alternate between two sides, so that a drift of the machine meets both alike. */
export function median(values: readonly number[]): number {
  const sorted = [...values].sort((a, b) => a - b);
  const middle = sorted.length >> 1;
  return sorted.length % 2 === 1
    ? (sorted[middle] as number)
    : ((sorted[middle - 1] as number) + (sorted[middle] as number)) / 2;
}

/** Runs of each side before the first that counts: until then it is the compiler's work that is measured. */
const WARM_UP_RUNS = 4;

/**
 * `runs` measurements of each side, in the order A B, B A, A B … Garbage is left to the engine: collecting it by force
 * throws compiled code away with it, and both sides then measure three times as slow as they are.
 */
export async function alternate(
  runs: number,
  a: () => Promise<number>,
  b: () => Promise<number>,
): Promise<{ a: number[]; b: number[]; ratios: number[] }> {
  for (let run = 0; run < WARM_UP_RUNS; run += 1) {
    await a();
    await b();
  }
  const result = { a: [] as number[], b: [] as number[], ratios: [] as number[] };
  for (let run = 0; run < runs; run += 1) {
    const first = run % 2 === 0;
    const [x, y] = first ? [await a(), await b()] : [await b(), await a()];
    const [mine, theirs] = first ? [x, y] : [y, x];
    result.a.push(mine);
    result.b.push(theirs);
    result.ratios.push(mine / theirs);
  }
  return result;
}
