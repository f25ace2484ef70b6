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
    for (let round = 0; round < 3; round += 1) {
      const before = process.cpuUsage();
      await run(steps);
      const { user } = process.cpuUsage(before);
      costs.push(user / steps);
    }
    return Math.min(...costs);
  };
  return (await perStep(large)) / (await perStep(small));
}
