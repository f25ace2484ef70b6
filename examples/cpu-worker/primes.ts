/** The work of the tool, in a module of its own: a worker thread loads it. It never lets go of its thread. */
import type { ToolContext } from "@claimcheck/mcp";

/** Numbers between two reports. */
const STEP = 250_000;

/** Counts the primes below `below`, one number after the other. */
export function countPrimes({ below }: { below: number }, ctx: ToolContext): { below: number; primes: number } {
  let primes = 0;
  for (let candidate = 2; candidate < below; candidate += 1) {
    if (isPrime(candidate)) primes += 1;
    if (candidate % STEP !== 0) continue;
    ctx.cancelToken.checkCancelled();
    ctx.sendProgress(candidate, { total: below, message: `${primes} primes so far` });
    ctx.task?.recordOutput([`${primes} primes below ${candidate}`]);
  }
  return { below, primes };
}

function isPrime(candidate: number): boolean {
  for (let divisor = 2; divisor * divisor <= candidate; divisor += 1) if (candidate % divisor === 0) return false;
  return true;
}
