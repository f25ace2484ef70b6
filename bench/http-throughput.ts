/**
 * Tasks per second over HTTP, created and collected in two requests, beside plain tools/call of the same tool on the
 * same server, sixteen at a time: in a session of 2025-11-25, and on 2026-07-28.
 */
import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import { type HttpWire, wire2025, wire2026 } from "./peers/http-wire.js";
import { reportRatio } from "./peers/limit.js";
import { alternate, median } from "./peers/medians.js";

const LEAST = 0.4;
const RUNS = 9;
const WAYS = 16;
const A_RUN = 200;

type Once = (text: string) => Promise<void>;

async function perSecond(once: Once): Promise<number> {
  let left = A_RUN;
  const way = async (): Promise<void> => {
    while (left > 0) {
      left -= 1;
      await once(`text ${left}`);
    }
  };
  const start = performance.now();
  await Promise.all(Array.from({ length: WAYS }, way));
  return A_RUN / ((performance.now() - start) / 1000);
}

function check(result: unknown, text: string): void {
  const got = (result as { content?: { text: string }[] } | undefined)?.content?.[0]?.text;
  if (got !== text) throw new Error(`wrong result: ${JSON.stringify(result)}`);
}

const plainCall =
  (wire: HttpWire): Once =>
  async (text) =>
    check(await wire.request("tools/call", { name: "echo", arguments: { text } }), text);

const task2025 =
  (wire: HttpWire): Once =>
  async (text) => {
    const { task } = await wire.request("tools/call", { name: "echo", arguments: { text }, task: {} });
    check(await wire.request("tasks/result", { taskId: (task as { taskId: string }).taskId }), text);
  };

const task2026 =
  (wire: HttpWire): Once =>
  async (text) => {
    const { taskId } = await wire.request("tools/call", { name: "echo", arguments: { text } });
    const { result } = await wire.request("tasks/get", { taskId });
    check(result, text);
  };

async function startServer(): Promise<{ child: ChildProcess; url: string }> {
  const child = fork(fileURLToPath(new URL("./peers/http-echo-server.ts", import.meta.url)));
  const [url] = (await once(child, "message")) as [string];
  return { child, url };
}

const { child, url } = await startServer();
try {
  const session = await wire2025(url, WAYS);
  const declared = wire2026(url, WAYS, { "io.modelcontextprotocol/tasks": {} });
  const undeclared = wire2026(url, WAYS, {});
  const sides: Record<string, [task: Once, call: Once]> = {
    "2025-11-25": [task2025(session), plainCall(session)],
    "2026-07-28": [task2026(declared), plainCall(undeclared)],
  };
  const least: number[] = [];
  for (const [revision, [task, call]] of Object.entries(sides)) {
    const { a, b, ratios } = await alternate(
      RUNS,
      () => perSecond(task),
      () => perSecond(call),
    );
    least.push(median(ratios));
    console.log(`${revision}: ${median(a).toFixed(0)} tasks/s, ${median(b).toFixed(0)} plain calls/s`);
    console.log(
      `ratio http-throughput-${revision} ${median(ratios).toFixed(3)} (${Math.min(...ratios).toFixed(2)} to ${Math.max(...ratios).toFixed(2)})`,
    );
  }
  for (const wire of [session, declared, undeclared]) wire.close();
  reportRatio("http-throughput", Math.min(...least), { atLeast: LEAST });
} finally {
  child.disconnect();
}
