/**
 * Create → complete → result on the 2025-11-25 wire, in memory, beside SDK v1's InMemoryTaskStore. One raw client
 * loop drives both servers in alternation; sequential is time per task (lower is better), fifty-way is tasks per
 * second (higher is better).
 */
import { roundTrip, type WireClient } from "./peers/in-memory-wire.js";
import { reportRatio } from "./peers/limit.js";
import { alternate, median } from "./peers/medians.js";
import { claimcheckPeer, type Peer, sdkV1Peer } from "./peers/servers.js";

const TASKS = 2000;
const RUNS = 11;
const WAYS = 50;
const MOST_TIME = 0.7;
const LEAST_THROUGHPUT = 1;

async function sequential(client: WireClient): Promise<number> {
  const start = performance.now();
  for (let task = 0; task < TASKS; task += 1) await roundTrip(client, `text ${task}`);
  return ((performance.now() - start) / TASKS) * 1000;
}

async function fiftyWay(client: WireClient): Promise<number> {
  let left = TASKS;
  const start = performance.now();
  const way = async (): Promise<void> => {
    while (left > 0) {
      left -= 1;
      await roundTrip(client, `text ${left}`);
    }
  };
  await Promise.all(Array.from({ length: WAYS }, way));
  return TASKS / ((performance.now() - start) / 1000);
}

/** Each run gets servers of its own: what earlier runs retain would otherwise be part of the measurement. */
async function once(make: () => Promise<Peer>, measure: (client: WireClient) => Promise<number>): Promise<number> {
  const peer = await make();
  try {
    return await measure(peer.client);
  } finally {
    await peer.close();
  }
}

const ours = (): Promise<Peer> => claimcheckPeer({ workMs: 0 });
const theirs = (): Promise<Peer> => sdkV1Peer({ workMs: 0 });

const alone = await alternate(
  RUNS,
  () => once(ours, sequential),
  () => once(theirs, sequential),
);
console.log(
  `sequential: claimcheck ${median(alone.a).toFixed(1)} µs/task, sdk-v1 ${median(alone.b).toFixed(1)} µs/task`,
);
const together = await alternate(
  RUNS,
  () => once(ours, fiftyWay),
  () => once(theirs, fiftyWay),
);
console.log(
  `fifty-way: claimcheck ${median(together.a).toFixed(0)} tasks/s, sdk-v1 ${median(together.b).toFixed(0)} tasks/s`,
);
reportRatio("task-roundtrip-sequential", median(alone.ratios), { atMost: MOST_TIME });
reportRatio("task-roundtrip-throughput", median(together.ratios), { atLeast: LEAST_THROUGHPUT });
