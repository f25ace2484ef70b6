/** Tools that are run again, or go on where they were, as their clients see it. */
import { expect, expectTypeOf, it } from "vitest";
import { z } from "zod";
import { eventually } from "../../../../test/fixtures/eventually.js";
import { RetryableError } from "../../src/index.js";
import { handOver, OPTIONAL, scene, sharedMemory } from "./servers.js";

it("a task whose tool throws what may pass is run again; a direct call is told at once", async () => {
  let runs = 0;
  const retry = { tries: 3, backOffMs: 1 };
  const { connect } = scene((tasks, server) =>
    tasks.registerTool(server, "dig", { ...OPTIONAL, recovery: { retry } }, () => {
      runs += 1;
      if (runs % 2 === 1) throw new RetryableError(`rock ${runs}`);
      return "dug";
    }),
  );
  const client = await connect();
  const { taskId } = await client.callTask("dig");
  const { result } = await client.request("tasks/result", { taskId });
  expect(result).toMatchObject({ content: [{ text: "dug" }] });
  expect(runs).toBe(2);
  const direct = await client.call("dig");
  expect(direct.result).toEqual({ content: [{ type: "text", text: "rock 3" }], isError: true });
  expect(runs).toBe(3);
});

it("between two tries its client sees it working and why; masked, the reason stays in the log", async () => {
  for (const maskErrors of [false, true]) {
    const { connect } = scene(
      (tasks, server) =>
        tasks.registerTool(server, "dig", { ...OPTIONAL, recovery: { retry: { backOffMs: 60_000 } } }, () => {
          throw new RetryableError("hunter2");
        }),
      { maskErrors },
    );
    const client = await connect();
    const { taskId } = await client.callTask("dig");
    const get = async () => (await client.request("tasks/get", { taskId })).result ?? {};
    await eventually(async () => (await get()).statusMessage !== undefined);
    expect(await get()).toMatchObject({
      status: "working",
      statusMessage: expect.stringMatching(/^Try 1 of 3 failed/),
    });
    expect(String((await get()).statusMessage).includes("hunter2")).toBe(!maskErrors);
    await client.request("tasks/cancel", { taskId });
    expect(await get()).toMatchObject({ status: "cancelled" });
  }
});

it("a task that its server hands over is resumed with its arguments as their schema makes them", async () => {
  const store = sharedMemory();
  const resumed: unknown[] = [];
  const serve = () =>
    scene(
      (tasks, server) =>
        tasks.registerTool(
          server,
          "dig",
          {
            ...OPTIONAL,
            inputSchema: z.object({ feet: z.number().default(3) }),
            recovery: {
              resume: ({ feet }, ctx, checkpoint) => {
                expectTypeOf(feet).toEqualTypeOf<number>();
                resumed.push({ feet, checkpoint, taskId: ctx.task?.taskId });
                return { dug: feet };
              },
            },
          },
          async (_args, ctx) => {
            await ctx.task?.checkpoint({ at: 1 });
            await ctx.cancelToken.wait();
            ctx.cancelToken.checkCancelled();
          },
        ),
      { store: store(), ownership: "single-user" },
    );
  const { taskId, result } = await handOver(serve);
  expect(result?.structuredContent).toEqual({ dug: 3 });
  expect(resumed).toEqual([{ feet: 3, checkpoint: { at: 1 }, taskId }]);
});

it("a recovery that is none is refused when the tool is registered, which is then not there", async () => {
  const { connect } = scene((tasks, server) => {
    const register = () =>
      tasks.registerTool(server, "dig", { ...OPTIONAL, recovery: "resume" as "retry" }, () => "dug");
    expect(register).toThrow('recovery of the tool "dig"');
    tasks.registerTool(server, "plain", {}, () => "dug");
  });
  const { result } = await (await connect()).request("tools/list");
  expect(result).toMatchObject({ tools: [{ name: "plain" }] });
});
