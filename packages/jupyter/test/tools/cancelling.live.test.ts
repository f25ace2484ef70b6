/** Cancelling stops the work, and a cancelled task keeps what it produced; on real kernels, by every way to run code. */
import { randomInt } from "node:crypto";
import { access } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, inject, test } from "vitest";
import { eventually } from "../../../../test/fixtures/eventually.js";
import { runs } from "../../../../test/fixtures/processes.js";
import { startFaultyProxy } from "./faulty-proxy.js";
import { callOf, gateIn, startLive, textFromKernel, textOf, WAYS } from "./live-server.js";

const service = inject("jupyter");

/** Leaves a file and a line at once, and another file if it is let go on: nothing runs on its kernel before that is there. */
function prints(dir: string): string {
  const leave = (name: string): string => `open(${JSON.stringify(join(dir, name))}, "w").close()`;
  return `print("begun", flush=True)\n${leave("begun")}\nimport time\ntime.sleep(15)\n${leave("went-on")}`;
}

async function exists(dir: string, name: string): Promise<boolean> {
  return await access(join(dir, name)).then(
    () => true,
    () => false,
  );
}

describe.each(WAYS)("cancelling a task of %s", (way) => {
  test("stops the cell, keeps what it printed, and leaves the kernel free", async () => {
    const live = await startLive(service);
    const client = await live.connect();
    const { name, args, path } = await callOf(live, way, prints(live.dir));
    const { taskId } = await client.start(name, args);
    await client.poll(taskId, ({ statusMessage }) => statusMessage?.includes("begun") === true);

    expect(await client.cancel(taskId)).toMatchObject({ taskId, status: "cancelled" });

    const { result } = await client.result(taskId);
    expect(textOf(result)).toMatch(/^begun\n/);
    expect(await textFromKernel(client, live, path, "'free'")).toBe("'free'");
    expect(await exists(live.dir, "went-on")).toBe(false);
  });

  test("that has produced nothing leaves no result", async () => {
    const live = await startLive(service);
    const client = await live.connect();
    const { name, args, path } = await callOf(
      live,
      way,
      `open(${JSON.stringify(join(live.dir, "begun"))}, "w").close()\nimport time\ntime.sleep(30)`,
    );
    const { taskId } = await client.start(name, args);
    await eventually(() => exists(live.dir, "begun"));
    expect(await client.cancel(taskId)).toMatchObject({ status: "cancelled" });
    expect(await client.result(taskId)).toMatchObject({
      error: { code: -32603, message: expect.stringContaining("produced nothing") },
    });
    expect(await textFromKernel(client, live, path, "1 + 1")).toBe("2");
  });
});

test.each([
  ["a loop", "while True: pass"],
  ["a top-level await", "import asyncio; await asyncio.sleep(600)"],
  ["a lock", "import threading; lock = threading.Lock(); lock.acquire(); lock.acquire()"],
])("cancelling %s frees the kernel within five seconds", async (_, code) => {
  const live = await startLive(service);
  const client = await live.connect();
  const begun = `open(${JSON.stringify(join(live.dir, "begun"))}, "w").close()`;
  const { taskId } = await client.start("execute_code", { code: `${begun}\n${code}` });
  await eventually(() => exists(live.dir, "begun"));
  const from = performance.now();
  expect(await client.cancel(taskId)).toMatchObject({ status: "cancelled" });
  expect(performance.now() - from).toBeLessThan(5_000);
  expect(await textFromKernel(client, live, undefined, "'free'")).toBe("'free'");
});

test.each([
  ["a subprocess", (seconds: string) => `import subprocess; subprocess.run(["sleep", "${seconds}"])`],
  ["a shell command", (seconds: string) => `get_ipython().system("sleep ${seconds}")`],
])("cancelling %s frees the kernel within five seconds, and leaves no child process", async (_, sleeping) => {
  const live = await startLive(service);
  const client = await live.connect();
  const seconds = `61.${randomInt(1e6, 1e7)}`;
  const { taskId } = await client.start("execute_code", { code: sleeping(seconds) });
  // IPython ends a child that it waits for; one that it is only just starting is beyond it.
  await eventually(() => runs(`sleep ${seconds}`));
  const from = performance.now();
  expect(await client.cancel(taskId)).toMatchObject({ status: "cancelled" });
  expect(performance.now() - from).toBeLessThan(5_000);
  expect(await textFromKernel(client, live, undefined, "'free'")).toBe("'free'");
  await eventually(async () => !(await runs(`sleep ${seconds}`)));
});

test("a cell that ignores the interrupt is cancelled within the grace period, its kernel stays its own until it ends, and what it then says changes nothing", async () => {
  const live = await startLive(service);
  const client = await live.connect();
  const stubborn = `
import signal, time
signal.signal(signal.SIGINT, signal.SIG_IGN)
print("begun", flush=True)
time.sleep(10)
print("late")`;
  const { taskId } = await client.start("execute_code", { code: stubborn });
  await client.poll(taskId, ({ statusMessage }) => statusMessage?.includes("begun") === true);
  const from = performance.now();
  expect(await client.cancel(taskId)).toMatchObject({ status: "cancelled" });
  const ms = performance.now() - from;
  expect(ms).toBeGreaterThan(4_000);
  expect(ms).toBeLessThan(9_000);
  const before = await client.result(taskId);
  expect(textOf(before.result)).toBe("begun");
  // The next run waits for the kernel and does not collide with the old one.
  expect(await textFromKernel(client, live, undefined, "print('next')")).toBe("next");
  expect(await client.result(taskId)).toEqual({ ...before, id: expect.anything() });
  expect(await client.get(taskId)).toMatchObject({ status: "cancelled" });
}, 90_000);

test("cancelling a queued cell never runs it, and never touches the one that runs", async () => {
  const live = await startLive(service);
  const client = await live.connect();
  const gate = gateIn(live);
  const path = await live.notebook([
    `${gate.wait}\n'first'`,
    `open(${JSON.stringify(join(live.dir, "ran"))}, "w").close()`,
    "'third'",
  ]);
  const cell = (cell_index: number) => client.start("execute_cell", { notebook_path: path, cell_index });
  const [first, second, third] = [await cell(0), await cell(1), await cell(2)];
  await client.poll(second.taskId, ({ statusMessage }) => statusMessage?.includes("queued") === true);
  expect(await client.cancel(second.taskId)).toMatchObject({ status: "cancelled" });
  expect(await client.get(first.taskId)).toMatchObject({ status: "working" });
  await gate.open();
  expect((await client.result(second.taskId)).error).toMatchObject({ code: -32603 });
  expect(textOf(await client.collect(first.taskId))).toBe("'first'");
  expect(textOf(await client.collect(third.taskId))).toBe("'third'");
  expect(await exists(live.dir, "ran")).toBe(false);
});

test("cancelling while the kernel is still being started runs nothing", async () => {
  const live = await startLive(service);
  const client = await live.connect();
  const { taskId } = await client.start("execute_code", {
    code: `open(${JSON.stringify(join(live.dir, "ran"))}, "w").close()`,
  });
  expect(await client.cancel(taskId)).toMatchObject({ status: "cancelled" });
  expect(await textFromKernel(client, live, undefined, "'free'")).toContain("'free'");
  expect(await exists(live.dir, "ran")).toBe(false);
});

test("a cell that ends as it is cancelled has one end, with everything that it printed", async () => {
  const live = await startLive(service);
  const client = await live.connect();
  await client.run("execute_code", { code: "1" });
  for (const delayMs of [0, 1, 2, 3, 5, 8, 13, 21, 34]) {
    const { taskId } = await client.start("execute_code", { code: "print('all of it')" });
    await new Promise((resolve) => setTimeout(resolve, delayMs));
    const { status } = await client.cancel(taskId);
    const { result, error } = await client.result(taskId);
    expect(["completed", "cancelled"]).toContain(status);
    if (result !== undefined) expect(textOf(result)).toMatch(/^all of it/);
    else expect({ status, error }).toMatchObject({ status: "cancelled", error: { code: -32603 } });
    expect(await client.get(taskId)).toMatchObject({ status });
    expect(await textFromKernel(client, live, undefined, "'next'")).toBe("'next'");
  }
});

test("after many cancellations nothing is left that holds a later run up", async () => {
  const live = await startLive(service);
  const client = await live.connect();
  await client.run("execute_code", { code: "1" });
  const tasks = await Promise.all(
    Array.from({ length: 30 }, () => client.start("execute_code", { code: "import time; time.sleep(30)" })),
  );
  await Promise.all(tasks.map(({ taskId }) => client.cancel(taskId)));
  const from = performance.now();
  expect(await textFromKernel(client, live, undefined, "'at once'")).toBe("'at once'");
  // Less than one of them takes.
  expect(performance.now() - from).toBeLessThan(15_000);
});

describe("an interrupt that fails", () => {
  test("does not stop the cancellation, keeps the partial output, and is logged at error", async () => {
    const proxy = await startFaultyProxy(service.url);
    const errors: { fields: object; message: string }[] = [];
    const silent = (): void => {};
    const logger = {
      debug: silent,
      info: silent,
      warn: silent,
      error: (fields: object, message: string) => void errors.push({ fields, message }),
    };
    const live = await startLive(service, { logger }, { url: proxy.url });
    const client = await live.connect();
    proxy.refuse(/\/interrupt$/);
    const { taskId } = await client.start("execute_code", {
      code: "print('begun', flush=True)\nimport time; time.sleep(12)",
    });
    await client.poll(taskId, ({ statusMessage }) => statusMessage?.includes("begun") === true);
    expect(await client.cancel(taskId)).toMatchObject({ status: "cancelled" });
    expect(textOf((await client.result(taskId)).result)).toBe("begun");
    expect(JSON.stringify(errors)).toMatch(/an interrupt failed.*|The server refused an interrupt/);
    expect(errors.some(({ fields }) => "taskId" in fields && fields.taskId === taskId)).toBe(true);
  });
});

describe("a direct call", () => {
  test.each(WAYS)("of %s that its caller cancels stops the cell, and the next one runs at once", async (way) => {
    const live = await startLive(service);
    const client = await live.connect();
    const { name, args, path } = await callOf(live, way, prints(live.dir));
    await client.run("execute_code", { code: "1" });
    // Request id 0: no id is mistaken for none.
    void client.request("tools/call", { name, arguments: args }, 0);
    await eventually(() => exists(live.dir, "begun"));
    await client.send({ jsonrpc: "2.0", method: "notifications/cancelled", params: { requestId: 0 } });
    expect(await textFromKernel(client, live, path, "1 + 1")).toBe("2");
    expect(await exists(live.dir, "went-on")).toBe(false);
  });

  test("whose connection closes stops the cell", async () => {
    const live = await startLive(service);
    const client = await live.connect();
    await client.run("execute_code", { code: "1" });
    const leaving = await live.connect();
    void leaving.call("execute_code", { arguments: { code: prints(live.dir) } });
    await eventually(() => exists(live.dir, "begun"));
    await leaving.close();
    expect(await textFromKernel(client, live, undefined, "1 + 1")).toBe("2");
    expect(await exists(live.dir, "went-on")).toBe(false);
  });
});

test("cancelling the request that created a task changes nothing: only tasks/cancel does", async () => {
  const live = await startLive(service);
  const client = await live.connect();
  const reply = client.request(
    "tools/call",
    { name: "execute_code", arguments: { code: "import time; time.sleep(1); 'done'" }, task: {} },
    7,
  );
  const { taskId } = ((await reply).result as { task: { taskId: string } }).task;
  await client.send({ jsonrpc: "2.0", method: "notifications/cancelled", params: { requestId: 7 } });
  expect(textOf(await client.collect(taskId))).toBe("'done'");
});
