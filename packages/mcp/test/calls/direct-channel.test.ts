/** Progress of a direct call: for a caller that asked for it, and before its answer. */
import { expect, it } from "vitest";
import { eventually } from "../../../../test/fixtures/eventually.js";
import type { ToolContext } from "../../src/index.js";
import type { RawClient } from "../wire/raw-client.js";
import { OPTIONAL, scene } from "../wire/servers.js";

async function called(dig: (ctx: ToolContext) => unknown): Promise<RawClient> {
  const { connect } = scene((tasks, server) =>
    tasks.registerTool(server, "dig", OPTIONAL, (_args, ctx) => dig(ctx) as undefined),
  );
  return await connect();
}

const progress = ({ heard }: RawClient) =>
  heard.filter(({ method }) => method === "notifications/progress").map(({ params }) => params);

it.each([0, "", "token"])("is told under the token %j", async (progressToken) => {
  const told: boolean[] = [];
  const client = await called((ctx) => {
    told.push(ctx.sendProgress(1, { total: 2, message: "half-way" }), ctx.sendProgress(2));
  });
  await client.call("dig", { _meta: { progressToken } });
  expect(progress(client)).toEqual([
    { progressToken, progress: 1, total: 2, message: "half-way" },
    { progressToken, progress: 2 },
  ]);
  expect(told).toEqual([true, true]);
});

it("is told to nobody who did not ask", async () => {
  const told: boolean[] = [];
  const client = await called((ctx) => {
    told.push(ctx.sendProgress(1));
  });
  await client.call("dig");
  await client.request("ping");
  expect(progress(client)).toEqual([]);
  expect(told).toEqual([false]);
});

it("that does not grow, or comes after the answer, is not told", async () => {
  let left: ToolContext | undefined;
  const client = await called((ctx) => {
    left = ctx;
    ctx.sendProgress(2);
    ctx.sendProgress(2);
    ctx.sendProgress(1);
    ctx.sendProgress(Number.NaN);
  });
  await client.call("dig", { _meta: { progressToken: 1 } });
  expect(left?.sendProgress(3)).toBe(false);
  await client.request("ping");
  expect(progress(client)).toEqual([{ progressToken: 1, progress: 2 }]);
});

it("on a task is the task's", async () => {
  const client = await called((ctx) => {
    ctx.sendProgress(1, { message: "half-way" });
  });
  const { taskId } = await client.callTask("dig", { _meta: { progressToken: 1 } });
  await eventually(() => progress(client).length > 0);
  expect(progress(client)).toMatchObject([{ progress: 1, message: "half-way", _meta: expect.anything() }]);
  expect(JSON.stringify(progress(client))).toContain(taskId);
});
