/** Ending the server: everything in order, nothing lost, and nothing ended that is not ours. */
import { expect, inject, test } from "vitest";
import { createJupyterServer } from "../../src/index.js";
import { kernelOf, startLive, textOf, warmUp } from "./live-server.js";

const service = inject("jupyter");

test("close ends the kernels that were started for no notebook, and no others", async () => {
  const live = await startLive(service);
  const client = await live.connect();
  const path = await live.notebook(["x = 1"]);
  await client.run("execute_cell", { notebook_path: path, cell_index: 0 });
  const ours = (await client.run("execute_code", { code: "1" })).structuredContent?.kernel.id ?? "";
  const notebooks = await kernelOf(live, path);
  await live.jupyter.close();
  await expect(live.rest.getKernel(ours)).rejects.toMatchObject({ code: "not_found" });
  expect(await live.rest.getKernel(notebooks)).toMatchObject({ id: notebooks });
});

test("a task that runs when the server is closed fails, says why, and keeps what was printed", async () => {
  const live = await startLive(service);
  const client = await live.connect();
  const path = await live.notebook(["print('begun', flush=True)\nimport time; time.sleep(600)"]);
  const { taskId } = await client.start("execute_cell", { notebook_path: path, cell_index: 0 });
  await client.poll(taskId, ({ statusMessage }) => statusMessage?.includes("begun") === true);
  const { runtime } = live.jupyter.tasks;
  const ended = runtime.wait(JSON.stringify(["single-user"]), taskId);
  await live.jupyter.close();
  expect(await ended).toMatchObject({
    status: "failed",
    partialOutput: [{ text: "begun" }, { text: expect.stringContaining("KeyboardInterrupt") }],
  });
  expect(await live.read(path)).toMatchObject({
    cells: [{ outputs: [{ text: "begun\n" }, { ename: "KeyboardInterrupt" }] }],
  });
});

test("a task that ends while the server drains is completed", async () => {
  const live = await startLive(service);
  const client = await live.connect();
  const { taskId } = await client.start("execute_code", {
    code: "print('begun', flush=True)\nimport time; time.sleep(1)\nprint('done')",
  });
  await client.poll(taskId, ({ statusMessage }) => statusMessage?.includes("begun") === true);
  const ended = live.jupyter.tasks.runtime.wait(JSON.stringify(["single-user"]), taskId);
  await live.jupyter.close({ drainMs: 10_000 });
  const task = await ended;
  expect(task).toMatchObject({ status: "completed" });
  expect(textOf((task as unknown as { outcome: { result: unknown } }).outcome.result)).toBe("begun\ndone");
});

test("what a run printed that its caller left is in the notebook after close", async () => {
  const live = await startLive(service);
  const client = await live.connect();
  const path = await live.notebook(["print('begun', flush=True)\nimport time; time.sleep(600)"]);
  await warmUp(client, live, path);
  await client.run("execute_cell", { notebook_path: path, cell_index: 0, stream: false, timeout: 2 });
  const kernelId = await kernelOf(live, path);
  await live.jupyter.close();
  expect(await live.read(path)).toMatchObject({ cells: [{ outputs: [{ text: "begun\n" }] }] });
  await live.rest.interruptKernel(kernelId);
});

test("a closed server may be closed again, and refuses calls", async () => {
  const live = await startLive(service);
  const client = await live.connect();
  await Promise.all([live.jupyter.close(), live.jupyter.close()]);
  expect(await client.run("execute_code", { code: "1" })).toMatchObject({ isError: true });
});

test("settings that cannot have an effect are warned of", async () => {
  const { tasks } = await createJupyterServer();
  const jupyter = await createJupyterServer({ token: "t", tasks });
  expect(jupyter.warnings).toEqual(["A token has no effect without a URL: a private Jupyter Server has its own."]);
  const given = await createJupyterServer({
    url: service.url,
    token: service.token,
    rootDir: "/",
    dataDir: "/",
    outlive: true,
    tasks,
  });
  expect(given.warnings).toEqual([
    "rootDir has no effect on a Jupyter Server that is running already.",
    "dataDir has no effect on a Jupyter Server that is running already.",
    "outlive has no effect on a Jupyter Server that is running already.",
  ]);
});

test("a URL that cannot be one is refused at the start", async () => {
  await expect(createJupyterServer({ url: "localhost:8888" })).rejects.toMatchObject({ code: "invalid_address" });
});
