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

it("tells every new message, also where the number has not grown, and the number grows all the same", async () => {
  const said: [number, string][] = [
    [0, "looking"],
    [0, "installing"],
    [0, "installing"],
    [0, "starting"],
    [7, "one"],
    [3, "back at three"],
    [Number.NaN, "lost count"],
    [8, "one"],
  ];
  const told: boolean[] = [];
  const client = await called((ctx) => {
    told.push(...said.map(([current, message]) => ctx.sendProgress(current, { message })));
  });
  await client.call("dig", { _meta: { progressToken: 1 } });
  const heard = progress(client) as unknown as { progress: number; message: string }[];
  expect(heard.map(({ message }) => message)).toEqual([
    "looking",
    "installing",
    "starting",
    "one",
    "back at three",
    "one",
  ]);
  const numbers = heard.map((each) => Math.fround(each.progress));
  expect(numbers).toEqual([...new Set(numbers)].sort((a, b) => a - b));
  expect(numbers.map(Math.round)).toEqual([0, 0, 0, 7, 7, 8]);
  expect(told).toEqual([true, true, false, true, true, true, false, true]);
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
