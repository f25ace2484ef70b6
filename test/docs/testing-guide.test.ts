import { createTasks, type ToolContext } from "@claimcheck/mcp";
import { connectInMemory, DIALECTS, runDirectly, runTask } from "@claimcheck/mcp/testing";
import { McpServer } from "@modelcontextprotocol/server";
import { describe, expect, onTestFinished, test } from "vitest";
import { z } from "zod";

async function copyFiles({ count }: { count: number }, ctx: ToolContext) {
  const sure = await ctx.elicit({ message: `Copy ${count} files?`, requestedSchema: z.object({ to: z.string() }) });
  if (sure.action !== "accept") return "Nothing was copied.";
  for (let copied = 1; copied <= count; copied++) {
    ctx.cancelToken.checkCancelled();
    await new Promise((resolve) => setImmediate(resolve)); // stands for the work
    ctx.sendProgress(copied, { total: count });
    ctx.task?.recordOutput([`${copied} copied`]);
  }
  return { copied: count, to: sure.content.to };
}

test("copies what it was told to, where it was told to", async () => {
  const run = await runTask(copyFiles, { count: 2 });
  const question = await run.question();
  expect(question.params.message).toBe("Copy 2 files?");
  await question.answer({ action: "accept", content: { to: "/backup" } });
  expect(await run.returned).toEqual({ copied: 2, to: "/backup" });
  expect(run.progress).toEqual([
    { current: 1, total: 2 },
    { current: 2, total: 2 },
  ]);
  expect(await run.ended).toMatchObject({ status: "completed" });
});

test("keeps what was done when it is cancelled", async () => {
  const run = await runTask(copyFiles, { count: 1_000_000 });
  await (await run.question()).answer({ action: "accept", content: { to: "/backup" } });
  await run.until(({ progress }) => progress !== undefined);
  expect(await run.cancel()).toMatchObject({ status: "cancelled", partialOutput: [expect.stringMatching(/copied/)] });
});

test("asks a plain caller as well", async () => {
  const run = runDirectly(copyFiles, { count: 1 });
  await (await run.question()).answer({ action: "decline" });
  expect(await run.returned).toBe("Nothing was copied.");
});

test("gives up on a person who does not answer within the tool's limit", async () => {
  const deaf = (_args: object, ctx: ToolContext) => ctx.elicit({ url: "https://example.com", timeoutMs: 3_600_000 });
  const run = await runTask(deaf, {});
  await run.question();
  await run.clock.advance(3_600_000); // an hour, at once
  await expect(run.returned).rejects.toMatchObject({ reason: "timed_out" });
});

describe.each(DIALECTS)("in %s", (dialect) => {
  test("a client gets its result, and a retry gets the same task", async () => {
    const tasks = createTasks();
    const server = new McpServer({ name: "files", version: "1.0.0" });
    const config = { inputSchema: z.object({ count: z.number() }), execution: { taskSupport: "optional" } } as const;
    tasks.registerTool(server, "copy_files", config, copyFiles);
    const client = await connectInMemory(tasks, server, { dialect });
    onTestFinished(async () => {
      await client.close();
      await tasks.close();
    });

    const { taskId } = await client.create("copy_files", { count: 1 }, { idempotencyKey: "monday" });
    const question = await client.question(taskId);
    await question.answer({ action: "accept", content: { to: "/backup" } });
    const result = await client.result(taskId);
    expect(result.structuredContent).toEqual({ copied: 1, to: "/backup" });

    const retry = await client.create("copy_files", { count: 1 }, { idempotencyKey: "monday" });
    expect(retry.taskId).toBe(taskId);
  });
});
