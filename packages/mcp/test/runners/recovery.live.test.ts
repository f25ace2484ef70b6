/** Tools of other runners that are run again, or go on in another process. */
import { existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, it, onTestFinished } from "vitest";
import { z } from "zod";
import { runs } from "../../../../test/fixtures/processes.js";
import type { TasksOptions } from "../../src/index.js";
import { handOver, scene, sharedMemory } from "../wire/servers.js";

const module = new URL("../programs/worker-tools.mjs", import.meta.url);
const THREADS: TasksOptions = { workerThreads: { execArgv: [] } };

function fileIn(): string {
  const folder = mkdtempSync(join(tmpdir(), "claimcheck-recovery-"));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  return join(folder, "file");
}

it("a worker's task that its server hands over is told so, and goes on in a thread of the next server", async () => {
  const store = sharedMemory();
  const file = fileIn();
  const serve = () =>
    scene(
      (tasks, server) =>
        tasks.registerTool(
          server,
          "dig",
          {
            inputSchema: z.object({ file: z.string() }),
            execution: { taskSupport: "optional", runner: "worker" },
            recovery: { resume: { module, export: "goOn" } },
          },
          { module, export: "untilHandedOver" },
        ),
      { ...THREADS, store: store(), ownership: "single-user" },
    );
  const { taskId, result } = await handOver(serve, { file });
  expect(result?.structuredContent).toEqual({ checkpoint: { at: 1 }, taskId });
  expect(readFileSync(file, "utf8")).toBe("true");
});

it("a command whose task is handed over does not run on; the next server runs what resumes it", async () => {
  const store = sharedMemory();
  const file = fileIn();
  const serve = () =>
    scene(
      (tasks, server) =>
        tasks.registerTool(
          server,
          "dig",
          {
            inputSchema: z.object({ file: z.string() }),
            execution: { taskSupport: "optional", runner: "subprocess" },
            recovery: {
              resume: ({ file }, _ctx, checkpoint) => ({
                argv: ["echo", existsSync(file) ? "ran on" : "was ended", JSON.stringify(checkpoint)],
              }),
            },
          },
          async ({ file }, ctx) => {
            await ctx.task?.checkpoint({ at: 1 });
            return { argv: ["sh", "-c", `sleep 60; touch ${file}`] };
          },
        ),
      { store: store(), ownership: "single-user" },
    );
  const { result } = await handOver(serve, { file });
  expect(result?.content).toEqual([{ type: "text", text: 'was ended {"at":1}\n' }]);
  expect(await runs(file)).toBe(false);
});

it("an error of a worker that may pass is one here, with its own members", async () => {
  const seen: unknown[] = [];
  const isRetryable = (error: unknown) => seen.push(error) > 0;
  const { connect } = scene(
    (tasks, server) =>
      tasks.registerTool(
        server,
        "dig",
        { execution: { taskSupport: "optional", runner: "worker" }, recovery: { retry: { isRetryable } } },
        { module, export: "failOnce" },
      ),
    { ...THREADS, workerThreads: { ...THREADS.workerThreads, max: 1 } },
  );
  const client = await connect();
  const { taskId } = await client.callTask("dig");
  expect((await client.request("tasks/result", { taskId })).result).toMatchObject({ content: [{ text: "dug" }] });
  expect(seen).toMatchObject([{ name: "RetryableError", message: "not yet", retryAfterMs: 1 }]);
});

it("what a worker's tool resumes with is checked when it is registered", async () => {
  const { connect } = scene((tasks, server) =>
    tasks.registerTool(
      server,
      "dig",
      { execution: { taskSupport: "optional", runner: "worker" }, recovery: { resume: { module: "./go-on.js" } } },
      { module, export: "goOn" },
    ),
  );
  await expect(connect()).rejects.toThrow("module must be a file: URL");
});
