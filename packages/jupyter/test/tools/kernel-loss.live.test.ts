/** Kernels that die, are restarted or cannot be reached while a cell runs: told within seconds, and nothing that was printed is lost. */
import { describe, expect, inject, test } from "vitest";
import { startExtraJupyter } from "../../../../test/services/jupyter.js";
import { callOf, kernelOf, startLive, textFromKernel, textOf, WAYS } from "./live-server.js";

const service = inject("jupyter");

/** The pause lets the kernel send what it printed: flushing hands it to a thread that the signal ends as well. */
const KILLED = "import os, signal, time; print('x', flush=True); time.sleep(1); os.kill(os.getpid(), signal.SIGKILL)";

describe.each(WAYS)("a kernel that is killed while it runs %s", (way) => {
  test("fails the task within seconds, with what was printed, and is not asked again", async () => {
    const live = await startLive(service);
    const client = await live.connect();
    const { name, args, path } = await callOf(live, way, KILLED);
    const { taskId } = await client.start(name, args);
    const task = await client.poll(taskId);
    expect(task).toMatchObject({ status: "failed", statusMessage: expect.stringMatching(/^Kernel \S+ died:/) });
    const { error } = await client.result(taskId);
    expect(error).toMatchObject({
      code: -32603,
      message: expect.stringContaining("died"),
      data: { partialOutput: [{ type: "text", text: "x" }] },
    });
    expect(await textFromKernel(client, live, path, "'alive again'")).toContain("'alive again'");
  });

  test("is told to a direct call, with what was printed", async () => {
    const live = await startLive(service);
    const client = await live.connect();
    const { name, args } = await callOf(live, way, KILLED);
    const result = await client.run(name, args);
    expect(result).toMatchObject({ isError: true, structuredContent: { status: "kernel_died" } });
    expect(textOf(result)).toMatch(/^x\n\[kernel \S+ died: /);
  });
});

test("what a cell printed before its kernel died is in the notebook", async () => {
  const live = await startLive(service);
  const client = await live.connect();
  const path = await live.notebook([KILLED]);
  const result = await client.run("execute_cell", { notebook_path: path, cell_index: 0 });
  expect(result.structuredContent?.cell).toMatchObject({ saved: true });
  expect(await live.read(path)).toMatchObject({ cells: [{ outputs: [{ output_type: "stream", text: "x\n" }] }] });
});

/** Deaf to the interrupt by which the server begins a restart: else the cell may say its last word first. */
const DEAF = "import signal, time; signal.signal(signal.SIGINT, signal.SIG_IGN); time.sleep(600)";

test("a restart by somebody else ends the run, and says so", async () => {
  const live = await startLive(service);
  const client = await live.connect();
  const path = await live.notebook([`print('begun', flush=True)\n${DEAF}`]);
  const { taskId } = await client.start("execute_cell", { notebook_path: path, cell_index: 0 });
  await client.poll(taskId, ({ statusMessage }) => statusMessage?.includes("begun") === true);
  await live.rest.restartKernel(await kernelOf(live, path));
  const task = await client.poll(taskId);
  expect(task).toMatchObject({
    status: "failed",
    statusMessage: expect.stringMatching(/^Kernel \S+ was restarted during the run/),
  });
  // The old process may still get to print the traceback of the interrupt that it is ended by.
  const begun = expect.arrayContaining([expect.objectContaining({ text: "begun" })]);
  expect((await client.result(taskId)).error).toMatchObject({ data: { partialOutput: begun } });
});

test("a dead kernel fails its own cells only: other notebooks go on", async () => {
  const live = await startLive(service);
  const client = await live.connect();
  const [dying, healthy] = [
    await live.notebook([KILLED]),
    await live.notebook(["import time; time.sleep(3); 'healthy'"]),
  ];
  const tasks = [
    await client.start("execute_cell", { notebook_path: healthy, cell_index: 0 }),
    await client.start("execute_cell", { notebook_path: dying, cell_index: 0 }),
  ] as const;
  expect(await client.poll(tasks[1].taskId)).toMatchObject({ status: "failed" });
  expect(textOf(await client.collect(tasks[0].taskId))).toBe("'healthy'");
});

test("a Jupyter Server that is killed fails the task, with what was printed", async () => {
  const extra = await startExtraJupyter(service.python);
  try {
    const live = await startLive(extra.service);
    const client = await live.connect();
    const { taskId } = await client.start("execute_code", {
      code: "print('begun', flush=True)\nimport time; time.sleep(600)",
    });
    await client.poll(taskId, ({ statusMessage }) => statusMessage?.includes("begun") === true);
    extra.process.kill("SIGKILL");
    const task = await client.poll(taskId);
    expect(task).toMatchObject({
      status: "failed",
      statusMessage: expect.stringMatching(/^The connection to kernel \S+ was lost/),
    });
    expect((await client.result(taskId)).error).toMatchObject({ data: { partialOutput: [{ text: "begun" }] } });
  } finally {
    await extra.stop();
  }
}, 120_000);
