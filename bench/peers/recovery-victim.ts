/** A process that creates one task of each policy on a shared store, says so, and waits to be killed. */
import { openRecoveryRuntime } from "./recovery-runtime.js";

const runtime = await openRecoveryRuntime(process.argv[2] as string, () => {});
const started = ["fail", "retry"].map(async (toolName) => {
  const { task } = await runtime.create({ owner: "bench", toolName, arguments: {} });
  return task.taskId;
});
process.send?.(await Promise.all(started));
// Ends also when nobody is left to kill it.
process.on("disconnect", () => process.exit());
