/** Short runs are repeated until they have used this much processor time: the system counts it in ticks of some milliseconds. */
const LEAST_CPU_MICROS = 40_000;

/**
 * How much more one of `large` steps costs than one of `small`: 1 where the cost does not grow, `large / small` where
 * every step costs more with every step before it. In processor time and the best of three, since a busy machine must
 * not decide what a test says.
 */
export async function costGrowth(
  small: number,
  large: number,
  run: (steps: number) => void | Promise<void>,
): Promise<number> {
  await run(small);
  const perStep = async (steps: number): Promise<number> => {
    const costs: number[] = [];
    for (let round = 0; round < 3; round += 1) costs.push(await costOf(() => run(steps), steps));
    return Math.min(...costs);
  };
  return (await perStep(large)) / (await perStep(small));
}

async function costOf(run: () => void | Promise<void>, steps: number): Promise<number> {
  const before = process.cpuUsage();
  for (let runs = 1; ; runs += 1) {
    await run();
    const { user, system } = process.cpuUsage(before);
    if (user + system >= LEAST_CPU_MICROS) return (user + system) / (runs * steps);
  }
}
