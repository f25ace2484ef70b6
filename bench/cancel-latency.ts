/**
 * From tasks/cancel to its answer, with the kernel seen idle, for a sleep, a loop and a child process, beside a raw
 * REST interrupt of the same code watched by a client of its own.
 */
import { type JupyterBench, startJupyterBench } from "./peers/jupyter.js";
import { KernelWatch } from "./peers/kernel-watch.js";
import { median } from "./peers/medians.js";

const ROUNDS = 7;

/** The first thing that each prints says that it runs. */
const WORK = {
  sleep: "import time\nprint('running', flush=True)\ntime.sleep(60)",
  loop: "print('running', flush=True)\nwhile True: pass",
  subprocess: "import subprocess\nprint('running', flush=True)\nsubprocess.run(['sleep', '60'])",
};

const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

async function throughTask({ client, kernelId }: JupyterBench, watch: KernelWatch, code: string): Promise<number> {
  const running = watch.nextOutput();
  const { task } = await client.request("tools/call", {
    name: "execute_code",
    arguments: { code, kernel_id: kernelId },
    task: {},
  });
  await running;
  await pause(50);
  const start = performance.now();
  await client.request("tasks/cancel", { taskId: (task as { taskId: string }).taskId });
  return performance.now() - start;
}

async function throughRest(bench: JupyterBench, watch: KernelWatch, code: string): Promise<number> {
  const running = watch.nextOutput();
  const idle = watch.execute(code);
  await running;
  await pause(50);
  const start = performance.now();
  await bench.rest("POST", `api/kernels/${bench.kernelId}/interrupt`);
  await idle;
  return performance.now() - start;
}

const bench = await startJupyterBench();
const watch = await KernelWatch.connect(bench);
try {
  const ratios: number[] = [];
  for (const [name, code] of Object.entries(WORK)) {
    const ours: number[] = [];
    const theirs: number[] = [];
    for (let round = 0; round <= ROUNDS; round += 1) {
      const [a, b] = [await throughTask(bench, watch, code), await throughRest(bench, watch, code)];
      // The first interrupt of a kernel imports what it needs to print a traceback.
      if (round === 0) continue;
      ours.push(a);
      theirs.push(b);
    }
    ratios.push(median(ours) / median(theirs));
    console.log(
      `${name}: tasks/cancel ${median(ours).toFixed(1)} ms, REST interrupt to idle ${median(theirs).toFixed(1)} ms (medians of ${ROUNDS})`,
    );
    console.log(`ratio cancel-latency-${name} ${(ratios.at(-1) as number).toFixed(3)}`);
  }
  console.log(`ratio cancel-latency ${Math.max(...ratios).toFixed(3)}`);
} finally {
  watch.close();
  await bench.close();
}
