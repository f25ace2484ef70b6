/**
 * `pass` through an MCP call beside Python's BlockingKernelClient on the same kernel: the median time of a call from
 * request to answer, in alternating batches of one run.
 */
import { spawn } from "node:child_process";
import { readdir } from "node:fs/promises";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { type JupyterBench, startJupyterBench } from "./peers/jupyter.js";
import { median } from "./peers/medians.js";

const BATCHES = 15;
const RUNS_PER_BATCH = 20;

async function ourBatch({ client, kernelId }: JupyterBench): Promise<number[]> {
  const times: number[] = [];
  for (let run = 0; run < RUNS_PER_BATCH; run += 1) {
    const start = performance.now();
    const result = await client.request("tools/call", {
      name: "execute_code",
      arguments: { code: "pass", kernel_id: kernelId },
    });
    times.push(performance.now() - start);
    if (result.isError === true) throw new Error(`the call failed: ${JSON.stringify(result)}`);
  }
  return times;
}

interface PythonClient {
  batch(): Promise<number[]>;
  close(): void;
}

async function pythonClient({ python, runtimeDir, kernelId }: JupyterBench): Promise<PythonClient> {
  const files = await readdir(runtimeDir);
  const connectionFile = files.find((file) => file.includes(kernelId));
  if (connectionFile === undefined) throw new Error(`no connection file of kernel ${kernelId} in ${files.join(", ")}`);
  const script = fileURLToPath(new URL("./peers/blocking_client.py", import.meta.url));
  const child = spawn(python, [script, join(runtimeDir, connectionFile)], { stdio: ["pipe", "pipe", "inherit"] });
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  return {
    batch: async () => {
      child.stdin.write(`${RUNS_PER_BATCH}\n`);
      const { value, done } = await lines.next();
      if (done === true) throw new Error("the Python client ended");
      return JSON.parse(value as string) as number[];
    },
    close: () => void child.stdin.end(),
  };
}

const bench = await startJupyterBench();
try {
  const python = await pythonClient(bench);
  await ourBatch(bench);
  await python.batch();
  const ours: number[] = [];
  const theirs: number[] = [];
  for (let batch = 0; batch < BATCHES; batch += 1) {
    ours.push(...(await ourBatch(bench)));
    theirs.push(...(await python.batch()));
  }
  python.close();
  console.log(
    `MCP call ${median(ours).toFixed(2)} ms, BlockingKernelClient ${median(theirs).toFixed(2)} ms (medians of ${ours.length})`,
  );
  console.log(`ratio cell-overhead ${(median(ours) / median(theirs)).toFixed(3)}`);
} finally {
  await bench.close();
}
