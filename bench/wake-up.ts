/**
 * How long after the end of a 20 ms job a client that waits in tasks/result has its answer, beside SDK v1's server,
 * which polls. The value is milliseconds from the end of the work to the answer, claimcheck's median.
 */
import { median } from "./peers/medians.js";
import { claimcheckPeer, type Peer, sdkV1Peer } from "./peers/servers.js";

const WORK_MS = 20;

async function lateness({ client, endedAt }: Peer): Promise<number> {
  const { task } = await client.request("tools/call", {
    name: "echo",
    arguments: { text: "x" },
    task: { ttl: 60_000 },
  });
  await client.request("tasks/result", { taskId: (task as { taskId: string }).taskId });
  return performance.now() - endedAt();
}

async function measure(peer: Peer, rounds: number): Promise<number[]> {
  const values: number[] = [];
  for (let round = 0; round < rounds; round += 1) values.push(await lateness(peer));
  return values;
}

const ours = await claimcheckPeer({ workMs: WORK_MS });
const theirs = await sdkV1Peer({ workMs: WORK_MS });
const mine = await measure(ours, 100);
const peer = await measure(theirs, 5);
await ours.close();
await theirs.close();
const sorted = [...mine].sort((a, b) => a - b);
console.log(
  `claimcheck: median ${median(mine).toFixed(2)} ms, p99 ${(sorted[98] as number).toFixed(2)} ms after the end of the work`,
);
console.log(`sdk-v1:     median ${median(peer).toFixed(2)} ms after the end of the work`);
console.log(`ratio wake-up ${median(mine).toFixed(3)}`);
