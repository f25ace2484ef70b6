/** Short runs are repeated until they have used this much processor time: the system counts it in ticks of some milliseconds. */
const LEAST_CPU_MICROS = 40_000;

/**
 * How much more one of `large` steps costs than one of `small`: 1 where the cost does not grow, `large / small` where
 * every step costs more with every step before it. In processor time and the least of five pairs, since a busy machine
 * must not decide what a test says.
 */
export async function costGrowth(
  small: number,
  large: number,
  run: (steps: number) => void | Promise<void>,
): Promise<number> {
  await run(small);
  let least = Number.POSITIVE_INFINITY;
  for (let pair = 0; pair < 5 && least > 2; pair += 1) {
    const ofSmall = await costOf(() => run(small), small);
    const ofLarge = await costOf(() => run(large), large);
    least = Math.min(least, ofLarge / ofSmall);
  }
  return least;
}

async function costOf(run: () => void | Promise<void>, steps: number): Promise<number> {
  const before = process.cpuUsage();
  for (let runs = 1; ; runs += 1) {
    await run();
    const { user, system } = process.cpuUsage(before);
    if (user + system >= LEAST_CPU_MICROS) return (user + system) / (runs * steps);
  }
}
