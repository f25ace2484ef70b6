/** A retry is one task. */
import { FakeClock } from "@claimcheck/core/testing";
import { expect, it } from "vitest";
import { z } from "zod";
import { gate } from "./raw-client.js";
import { OPTIONAL, scene } from "./servers.js";

const keyed = (key: unknown) => ({ _meta: { "io.datalayer/idempotency-key": key } });
const inputSchema = z.looseObject({});

function counting(options = {}) {
  const counted = { calls: 0 };
  const made = scene((tasks, server) => {
    for (const name of ["dig", "fill"]) {
      tasks.registerTool(server, name, { ...OPTIONAL, inputSchema }, () => {
        counted.calls += 1;
        return "done";
      });
    }
  }, options);
  return { ...made, counted };
}

it("a retry answers the task the first attempt created, rather than starting the work again", async () => {
  const { connect, counted } = counting({ ownership: "single-user" });
  const first = await (await connect()).callTask("dig", keyed("run-3-attempt-1"));
  const again = await (await connect()).callTask("dig", keyed("run-3-attempt-1"));
  expect(again.taskId).toBe(first.taskId);
  expect(again.status).toBe("completed");
  expect(counted.calls).toBe(1);
});

it("twenty concurrent calls with one key start one run, and all get its claim check", async () => {
  const { connect, counted } = counting();
  const client = await connect();
  const tasks = await Promise.all(Array.from({ length: 20 }, () => client.callTask("dig", keyed("k"))));
  expect(new Set(tasks.map((task) => task.taskId)).size).toBe(1);
  expect(counted.calls).toBe(1);
});

it("the same key on a different call is refused rather than replayed", async () => {
  const { connect, counted } = counting();
  const client = await connect();
  await client.callTask("dig", { arguments: { depth: 1 }, ...keyed("k") });
  const otherArguments = await client.call("dig", { arguments: { depth: 2 }, task: {}, ...keyed("k") });
  const otherTool = await client.call("fill", { arguments: { depth: 1 }, task: {}, ...keyed("k") });
  expect(otherArguments.error).toMatchObject({ code: -32602, message: expect.stringContaining("other arguments") });
  expect(otherTool.error).toMatchObject({ code: -32602, message: expect.stringContaining("dig") });
  expect(counted.calls).toBe(1);
});

it("the same call written with its arguments in another order is still the same call", async () => {
  const { connect, counted } = counting();
  const client = await connect();
  const first = await client.callTask("dig", { arguments: { a: 1, b: { c: [2], d: 3 } }, ...keyed("k") });
  const again = await client.callTask("dig", { arguments: { b: { d: 3, c: [2] }, a: 1.0 }, ...keyed("k") });
  expect(again.taskId).toBe(first.taskId);
  const otherTtl = await client.callTask("dig", {
    arguments: { a: 1, b: { c: [2], d: 3 } },
    task: { ttl: 5 },
    ...keyed("k"),
  });
  expect(otherTtl.taskId).toBe(first.taskId);
  expect(counted.calls).toBe(1);
});

it("once a task has expired its key is free again", async () => {
  const clock = new FakeClock();
  const { connect, counted } = counting({ clock });
  const client = await connect();
  const first = await client.callTask("dig", { task: { ttl: 1000 }, ...keyed("k") });
  await client.request("tasks/result", { taskId: first.taskId });
  await clock.advance(1001);
  const second = await client.callTask("dig", keyed("k"));
  expect(second.taskId).not.toBe(first.taskId);
  expect(counted.calls).toBe(2);
});

it("a call that did not ask for a task is not deduplicated", async () => {
  const { connect, counted } = counting();
  const client = await connect();
  for (let i = 0; i < 3; i += 1) await client.call("dig", keyed("k"));
  expect(counted.calls).toBe(3);
  expect((await client.request("tasks/list")).result?.tasks).toEqual([]);
  // Nor is its key looked at: it is a synchronous call.
  expect((await client.call("dig", keyed(5))).result).toMatchObject({ content: [{ text: "done" }] });
});

it.each(["", " ", 5, true, null, {}, ["a"], "k".repeat(256), "\ud800"])(
  "the key %j is refused with -32602, and nothing runs",
  async (key) => {
    const { connect, counted } = counting();
    expect((await (await connect()).call("dig", { task: {}, ...keyed(key) })).error?.code).toBe(-32602);
    expect(counted.calls).toBe(0);
  },
);

it("a key that names a built-in member is an ordinary key", async () => {
  const { connect, counted } = counting();
  const client = await connect();
  for (const key of ["__proto__", "constructor", "__proto__"]) await client.callTask("dig", keyed(key));
  expect(counted.calls).toBe(2);
});

it("different owners' keys never meet", async () => {
  const { connect, counted } = counting();
  const [a, b] = [await connect(), await connect()];
  const first = await a.callTask("dig", { arguments: { who: "a" }, ...keyed("k") });
  const second = await b.callTask("dig", { arguments: { who: "b" }, ...keyed("k") });
  expect(second.taskId).not.toBe(first.taskId);
  expect(counted.calls).toBe(2);
});

it("a claim check that was lost on the way is there for the retry", async () => {
  const running = gate<string>();
  let calls = 0;
  const { connect } = scene(
    (tasks, server) =>
      tasks.registerTool(server, "dig", OPTIONAL, () => {
        calls += 1;
        return running.promise;
      }),
    { ownership: "single-user" },
  );
  const first = await connect();
  void first.call("dig", { task: {}, ...keyed("k") });
  await first.close();
  const second = await connect();
  const { taskId } = await second.callTask("dig", keyed("k"));
  running.open("dug");
  expect((await second.request("tasks/result", { taskId })).result).toMatchObject({ content: [{ text: "dug" }] });
  expect(calls).toBe(1);
});
