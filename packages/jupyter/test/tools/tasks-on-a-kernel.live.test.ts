/** What is promised of tasks, where the work is a cell, on real kernels. */
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, inject, test } from "vitest";
import { callOf, type Live, startLive, textOf, WAYS } from "./live-server.js";

const service = inject("jupyter");

/** Leaves a mark for each time that it runs. */
function counts({ dir }: Pick<Live, "dir">): string {
  return `with open(${JSON.stringify(join(dir, "runs"))}, "a") as f: f.write("x")`;
}

async function runsOf({ dir }: Pick<Live, "dir">): Promise<number> {
  return (await readFile(join(dir, "runs"), "utf8").catch(() => "")).length;
}

function key(name: string): Record<string, unknown> {
  return { _meta: { "io.datalayer/idempotency-key": name } };
}

describe.each(WAYS)("%s as a task", (way) => {
  test("answers with a task id while the cell runs, and serves its whole output to another connection", async () => {
    const live = await startLive(service);
    const first = await live.connect();
    const { name, args } = await callOf(
      live,
      way,
      "import time\nfor i in range(300):\n    print(i)\n    time.sleep(0.005)\n'done'",
    );
    const { taskId, status } = await first.start(name, args);
    expect(status).toBe("working");
    await first.close();

    const second = await live.connect();
    const result = await second.collect(taskId);
    const lines = Array.from({ length: 300 }, (_, index) => index).join("\n");
    expect(textOf(result)).toBe(`${lines}\n'done'`);
    expect(result.structuredContent?.status).toBe("completed");
  });

  test("refuses the result while the cell is running", async () => {
    const live = await startLive(service);
    const client = await live.connect();
    const { name, args } = await callOf(live, way, "import time; time.sleep(1); 'done'");
    const { taskId } = await client.start(name, args);
    const refusal = { code: -32602, data: { status: "working", pollInterval: 1000 } };
    expect((await client.result(taskId)).error).toMatchObject(refusal);
    expect(textOf(await client.collect(taskId))).toBe("'done'");
  });

  test("that raises an exception serves what was printed and the traceback", async () => {
    const live = await startLive(service);
    const client = await live.connect();
    const { name, args } = await callOf(live, way, "print('for nine minutes')\n1 / 0");
    const { taskId } = await client.start(name, args);
    const result = await client.collect(taskId);
    expect(result).toMatchObject({
      isError: true,
      structuredContent: { status: "errored", error: { ename: "ZeroDivisionError" } },
    });
    expect(textOf(result)).toMatch(/^for nine minutes\n[\s\S]*ZeroDivisionError: division by zero/);
    expect(await client.get(taskId)).toMatchObject({ status: "completed" });
  });

  test("twenty concurrent calls with one key start one cell", async () => {
    const live = await startLive(service);
    const client = await live.connect();
    const { name, args } = await callOf(live, way, counts(live));
    const tasks = await Promise.all(Array.from({ length: 20 }, () => client.start(name, args, key("run-3-attempt-1"))));
    expect(new Set(tasks.map(({ taskId }) => taskId)).size).toBe(1);
    await client.collect(tasks[0]?.taskId ?? "");
    expect(await runsOf(live)).toBe(1);
  });

  test("answers a retry that comes after the end with the first task, and runs nothing again", async () => {
    const live = await startLive(service);
    const client = await live.connect();
    const { name, args } = await callOf(live, way, counts(live));
    const { taskId } = await client.start(name, args, key("k"));
    await client.collect(taskId);
    const reordered = Object.fromEntries(Object.entries(args).reverse());
    expect(await client.start(name, reordered, key("k"))).toMatchObject({ taskId, status: "completed" });
    expect(await runsOf(live)).toBe(1);
  });
});

test("without task metadata a call runs directly and returns the tool's output", async () => {
  const live = await startLive(service);
  const client = await live.connect();
  expect(textOf(await client.run("execute_code", { code: "6 * 7" }))).toBe("42");
  expect((await client.request("tasks/list", {})).result).toMatchObject({ tasks: [] });
});

test("a synchronous call carrying a key is still a synchronous call", async () => {
  const live = await startLive(service);
  const client = await live.connect();
  const { name, args } = await callOf(live, "execute_cell, stream true", counts(live));
  await client.run(name, args, key("k"));
  await client.run(name, args, key("k"));
  expect(await runsOf(live)).toBe(2);
});

test("the same key on a different call is refused rather than replayed, and runs nothing", async () => {
  const live = await startLive(service);
  const client = await live.connect();
  const path = await live.notebook(["'first'", counts(live)]);
  await client.start("execute_cell", { notebook_path: path, cell_index: 0 }, key("k"));
  const different = await client.call("execute_cell", {
    arguments: { notebook_path: path, cell_index: 1 },
    task: {},
    ...key("k"),
  });
  expect(different.error?.code).toBe(-32602);
  await client.run("execute_cell", { notebook_path: path, cell_index: 0 });
  expect(await runsOf(live)).toBe(0);
});

test("a task that is still running never expires", async () => {
  const live = await startLive(service);
  const client = await live.connect();
  const { taskId } = await client.start("execute_code", { code: "import time; time.sleep(1.5)" }, { task: { ttl: 1 } });
  await new Promise((resolve) => setTimeout(resolve, 500));
  expect(await client.get(taskId)).toMatchObject({ status: "working" });
});

test("the end of a cell is notified with its status and never the result", async () => {
  const live = await startLive(service);
  const client = await live.connect();
  const { taskId } = await client.start("execute_code", { code: "print('a megabyte')" });
  await client.collect(taskId);
  const notified = client.heard.filter(({ method }) => method === "notifications/tasks/status");
  expect(notified.map(({ params }) => params)).toMatchObject([{ taskId, status: "completed" }]);
  expect(JSON.stringify(notified)).not.toContain("megabyte");
});

describe.each(["a task", "a direct call"] as const)("progress of %s", (how) => {
  async function progressOf(extra: Record<string, unknown>) {
    const live = await startLive(service);
    const client = await live.connect();
    const code = "import time\nfor i in range(3):\n    print('epoch', i, flush=True)\n    time.sleep(0.4)";
    if (how === "a direct call") await client.run("execute_code", { code }, extra);
    else await client.collect((await client.start("execute_code", { code }, extra)).taskId);
    return client.heard.filter(({ method }) => method === "notifications/progress").map(({ params }) => params);
  }

  test("says the elapsed time, how many outputs there are, and the last line", async () => {
    const messages = await progressOf({ _meta: { progressToken: 0 } });
    expect(messages.length).toBeGreaterThan(1);
    const message = expect.stringMatching(/^\d+\.\d s, 1 output: epoch 2$/);
    expect(messages.at(-1)).toMatchObject({ progressToken: 0, message });
    const facts = messages.map((params) => String(params.message).replace(/^\S+ s, /, ""));
    expect(new Set(facts).size).toBe(facts.length);
  });

  test("is not sent to who did not ask for it", async () => {
    expect(await progressOf({})).toEqual([]);
  });
});

test("what was produced so far can be read while the cell runs", async () => {
  const live = await startLive(service);
  const client = await live.connect();
  const { taskId } = await client.start("execute_code", {
    code: "print('halfway', flush=True)\nimport time; time.sleep(60)",
  });
  await client.poll(taskId, ({ statusMessage }) => statusMessage?.includes("halfway") === true);
  const partialOutput = "io.datalayer/partial-output";
  const { result } = await client.request("tasks/get", { taskId, _meta: { [partialOutput]: true } });
  expect(result).toMatchObject({ _meta: { [partialOutput]: [{ type: "text", text: "halfway" }] } });
  await client.cancel(taskId);
});

test("a cancelled cell's five hundred lines are all there", async () => {
  const live = await startLive(service);
  const client = await live.connect();
  const { name, args } = await callOf(
    live,
    "execute_cell, stream true",
    "for i in range(500): print('line', i)\nimport time; time.sleep(600)",
  );
  const { taskId } = await client.start(name, args);
  await client.poll(taskId, ({ statusMessage }) => statusMessage?.includes("line 499") === true);
  await client.cancel(taskId);
  const text = textOf((await client.result(taskId)).result);
  expect(text.split("\n").filter((line) => line.startsWith("line "))).toHaveLength(500);
});
