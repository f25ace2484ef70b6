/** The runtime of both sides of a crash: two tools that never end by themselves, one of which may be run again. */
import { TaskRuntime } from "@claimcheck/core";
import { PostgresStore } from "@claimcheck/postgres";
import { SqliteStore } from "@claimcheck/sqlite";

/**
 * @param where a URL of PostgreSQL, or a file
 * @param onRun told of every task whose handler begins
 */
export async function openRecoveryRuntime(where: string, onRun: (taskId: string) => void): Promise<TaskRuntime> {
  const store = where.startsWith("postgres:") ? new PostgresStore({ url: where }) : new SqliteStore({ path: where });
  const runtime = new TaskRuntime({ store, cancelGraceMs: 100 });
  for (const recovery of ["fail", "retry"] as const) {
    runtime.define({
      name: recovery,
      recovery,
      handler: (_args, { task, cancelToken }) => {
        onRun(task?.taskId ?? "");
        return cancelToken.wait().then(() => ({ kind: "result", result: {} }));
      },
    });
  }
  await runtime.open();
  return runtime;
}
