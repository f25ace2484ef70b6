/** Medians of runs that alternate between two sides, so that a drift of the machine meets both alike. */
export function median(values: readonly number[]): number {
  const sorted = [...values].sort((a, b) => a - b);
  const middle = sorted.length >> 1;
  return sorted.length % 2 === 1
    ? (sorted[middle] as number)
    : ((sorted[middle - 1] as number) + (sorted[middle] as number)) / 2;
}

/** `runs` measurements of each side after one warm-up, in the order A B, B A, A B … */
export async function alternate(
  runs: number,
  a: () => Promise<number>,
  b: () => Promise<number>,
): Promise<{ a: number[]; b: number[]; ratios: number[] }> {
  await a();
  await b();
  const result = { a: [] as number[], b: [] as number[], ratios: [] as number[] };
  for (let run = 0; run < runs; run += 1) {
    globalThis.gc?.();
    const first = run % 2 === 0;
    const [x, y] = first ? [await a(), await b()] : [await b(), await a()];
    const [mine, theirs] = first ? [x, y] : [y, x];
    result.a.push(mine);
    result.b.push(theirs);
    result.ratios.push(mine / theirs);
  }
  return result;
}
