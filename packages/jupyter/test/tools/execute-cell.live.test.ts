/** `execute_cell` on real notebooks and kernels. */
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, inject, test } from "vitest";
import { eventually } from "../../../../test/fixtures/eventually.js";
import type { CodeCell, Notebook } from "../../src/notebook/index.js";
import { deleteSession } from "../kernel/live-kernel.js";
import { codeCell, gateIn, kernelOf, type Live, startLive, textOf, warmUp } from "./live-server.js";

const service = inject("jupyter");

async function cellAt({ read }: Live, path: string, index: number): Promise<CodeCell> {
  return (await read(path)).cells[index] as CodeCell;
}

/** Until the notebook has it, and with it all that there is to be written. */
async function untilSaved(live: Live, path: string, index: number, text: string): Promise<void> {
  await eventually(async () => {
    const { outputs } = await cellAt(live, path, index);
    return outputs.some((output) => output.output_type === "stream" && output.text === text);
  });
}

describe.each([true, false])("with stream %s", (stream) => {
  test("outputs and prompt number are in the notebook when the call is answered, and nothing else has changed", async () => {
    const live = await startLive(service);
    const client = await live.connect();
    const old = {
      ...codeCell("import sys; print('o'); print('e', file=sys.stderr); 7"),
      execution_count: 9,
      outputs: [{ output_type: "stream", name: "stdout", text: "of a former run" }],
    } as CodeCell;
    const path = await live.notebook([
      "0",
      old,
      { cell_type: "markdown", source: ["# a\n", "b"], metadata: { tags: ["x"] } },
    ]);
    const before = await live.read(path);
    const result = await client.run("execute_cell", { notebook_path: path, cell_index: 1, stream });
    expect(result.structuredContent).toMatchObject({
      status: "completed",
      execution_count: 1,
      cell: { notebook_path: path, cell_index: 1, cell_id: "cell-1", saved: true },
    });
    const after = await live.read(path);
    expect((after.cells[1] as CodeCell).outputs).toMatchObject([
      { output_type: "stream", name: "stdout", text: "o\n" },
      { output_type: "stream", name: "stderr", text: "e\n" },
      { output_type: "execute_result", execution_count: 1, data: { "text/plain": "7" } },
    ]);
    expect((after.cells[1] as CodeCell).execution_count).toBe(1);
    expect({ ...after, cells: [] }).toEqual({ ...before, cells: [] });
    expect([after.cells[0], after.cells[2]]).toEqual([before.cells[0], before.cells[2]]);
  });

  test("a cell without output leaves none in the notebook, and no wording of ours", async () => {
    const live = await startLive(service);
    const client = await live.connect();
    const path = await live.notebook(["x = 1"]);
    await client.run("execute_cell", { notebook_path: path, cell_index: 0, stream });
    expect(await cellAt(live, path, 0)).toMatchObject({ outputs: [], execution_count: 1 });
  });

  test("the notebook says nothing of a limit that its cell outlived, and gets the rest of the output", async () => {
    const live = await startLive(service);
    const client = await live.connect();
    const gate = gateIn(live);
    const path = await live.notebook([`print('a', flush=True)\n${gate.wait}\nprint('b')`]);
    await warmUp(client, live, path);
    const first = await client.run("execute_cell", { notebook_path: path, cell_index: 0, stream, timeout: 1 });
    expect(first.structuredContent).toMatchObject({ status: "still_running", cell: { saved: false } });
    expect(JSON.stringify(await live.read(path))).not.toContain("limit");
    await gate.open();
    await eventually(async () => JSON.stringify((await cellAt(live, path, 0)).outputs).includes("b"));
    expect((await cellAt(live, path, 0)).outputs).toMatchObject([{ output_type: "stream", text: "a\nb\n" }]);
  });

  test("what a cancelled cell printed is in the notebook", async () => {
    const live = await startLive(service);
    const client = await live.connect();
    const path = await live.notebook(["print('begun', flush=True)\nimport time; time.sleep(600)"]);
    const { taskId } = await client.start("execute_cell", { notebook_path: path, cell_index: 0, stream });
    await client.poll(taskId, ({ statusMessage }) => statusMessage?.includes("begun") === true);
    await client.cancel(taskId);
    expect((await cellAt(live, path, 0)).outputs).toMatchObject([
      { output_type: "stream", text: "begun\n" },
      { output_type: "error", ename: "KeyboardInterrupt" },
    ]);
  });
});

test("with stream true the notebook shows outputs while the cell runs, with stream false only at its end", async () => {
  const live = await startLive(service);
  const client = await live.connect();
  const gate = gateIn(live);
  const code = `print('begun', flush=True)\n${gate.wait}`;
  const paths = [await live.notebook([code]), await live.notebook([code])] as const;
  const tasks = await Promise.all(
    paths.map((path, index) =>
      client.start("execute_cell", { notebook_path: path, cell_index: 0, stream: index === 0 }),
    ),
  );
  await eventually(async () => (await cellAt(live, paths[0], 0)).outputs.length > 0);
  expect(await client.get(tasks[0]?.taskId ?? "")).toMatchObject({ status: "working" });
  expect((await cellAt(live, paths[1], 0)).outputs).toEqual([]);
  await gate.open();
  for (const { taskId } of tasks) await client.collect(taskId);
  expect((await cellAt(live, paths[1], 0)).outputs).toHaveLength(1);
});

test("arguments are coerced where they can mean one thing only", async () => {
  const live = await startLive(service);
  const client = await live.connect();
  const path = await live.notebook(["'zero'", "'one'"]);
  const args = { notebook_path: path, cell_index: "1", cell_id: null, stream: "true", timeout: "20" };
  expect(textOf(await client.run("execute_cell", args))).toBe("'one'");
});

test("a cell is found by its id, and the answer names both", async () => {
  const live = await startLive(service);
  const client = await live.connect();
  const path = await live.notebook(["'zero'", "'one'"]);
  const result = await client.run("execute_cell", { notebook_path: `/${path}`, cell_id: "cell-1" });
  expect(textOf(result)).toBe("'one'");
  expect(result.structuredContent?.cell).toMatchObject({ cell_index: 1, cell_id: "cell-1", notebook_path: path });
});

test("a default notebook is meant by calls that name none", async () => {
  const folder = `default-${Date.now()}.ipynb`;
  const live = await startLive(service, { notebook: folder });
  const path = await live.notebook(["'of the default'"]);
  await writeFile(join(service.rootDir, folder), await live.bytes(path));
  const client = await live.connect();
  try {
    expect(textOf(await client.run("execute_cell", { cell_index: 0 }))).toBe("'of the default'");
  } finally {
    const session = (await live.rest.listSessions()).find((each) => each.path === folder);
    if (session !== undefined) await deleteSession(service, session.id);
    await writeFile(join(service.rootDir, folder), "");
  }
});

test("two clients that work on two notebooks never meet", async () => {
  const live = await startLive(service);
  const [a, b] = [await live.connect(), await live.connect()];
  const [pathA, pathB] = [await live.notebook(["'A'"]), await live.notebook(["'B'"])];
  await a.run("execute_cell", { notebook_path: pathA, cell_index: 0 });
  expect(textOf(await b.run("execute_cell", { notebook_path: pathB, cell_index: 0 }))).toBe("'B'");
  expect((await a.run("execute_cell", { cell_index: 0 })).isError).toBe(true);
});

test("the kernel that a person has open is adopted, with its variables", async () => {
  const live = await startLive(service);
  const client = await live.connect();
  const path = await live.notebook(["y"]);
  const session = await live.rest.openSession(path, { kernelName: "python3" });
  const kernel_id = session.kernel?.id;
  await client.run("execute_code", { code: "y = 7", kernel_id });
  const result = await client.run("execute_cell", { notebook_path: path, cell_index: 0 });
  expect(textOf(result)).toBe("7");
  expect(result.structuredContent?.kernel).toEqual({ id: kernel_id, origin: "adopted" });
  const sessions = (await live.rest.listSessions()).filter((each) => each.path === path);
  expect(sessions).toHaveLength(1);
});

test("a kernel that is started works in the notebook's folder", async () => {
  const live = await startLive(service);
  const client = await live.connect();
  const path = await live.notebook(["import os; os.getcwd()"], { name: "a/b/t.ipynb" });
  const result = await client.run("execute_cell", { notebook_path: path, cell_index: 0 });
  expect(textOf(result)).toMatch(/\/a\/b'$/);
  expect(result.structuredContent?.kernel.origin).toBe("started");
});

test("while a cell runs, edits and reads go on, a second run waits its turn, and another notebook runs at once", async () => {
  const live = await startLive(service);
  const client = await live.connect();
  const gate = gateIn(live);
  const path = await live.notebook([`print('begun', flush=True)\n${gate.wait}\n'first'`, "'second'"]);
  const elsewhere = await live.notebook(["'elsewhere'"]);
  const first = await client.start("execute_cell", { notebook_path: path, cell_index: 0 });
  await eventually(async () => (await live.rest.listSessions()).some((each) => each.path === path));
  const second = await client.start("execute_cell", { notebook_path: path, cell_index: 1 });
  await client.poll(
    second.taskId,
    ({ statusMessage }) => statusMessage?.includes("queued behind another run") === true,
  );
  await untilSaved(live, path, 0, "begun\n");
  await live.edit(path, ({ cells }) => cells.unshift({ ...codeCell("'inserted'"), id: "inserted" }));
  expect(textOf(await client.run("execute_cell", { notebook_path: elsewhere, cell_index: 0 }))).toBe("'elsewhere'");
  expect(await client.get(first.taskId)).toMatchObject({ status: "working" });
  await gate.open();

  expect(textOf(await client.collect(first.taskId))).toBe("begun\n'first'");
  const result = await client.collect(second.taskId);
  expect(textOf(result)).toBe("'second'");
  expect(result.structuredContent?.cell).toMatchObject({ cell_index: 2, cell_id: "cell-1", saved: true });
  expect(await live.read(path)).toMatchObject({
    cells: [
      { source: "'inserted'", outputs: [] },
      { outputs: [{ text: "begun\n" }, { data: { "text/plain": "'first'" } }] },
      { outputs: [{ data: { "text/plain": "'second'" } }] },
    ],
  });
});

describe.each([true, false])("a cell that runs with stream %s and", (stream) => {
  async function whileItRuns(change: (notebook: Notebook) => void) {
    const live = await startLive(service);
    const client = await live.connect();
    const gate = gateIn(live);
    const path = await live.notebook(["'zero'", `print('begun', flush=True)\n${gate.wait}\nprint('ended')`]);
    const { taskId } = await client.start("execute_cell", { notebook_path: path, cell_index: 1, stream });
    await client.poll(taskId, ({ statusMessage }) => statusMessage?.includes("begun") === true);
    if (stream) await untilSaved(live, path, 1, "begun\n");
    await live.edit(path, change);
    await gate.open();
    return { live, path, result: await client.collect(taskId) };
  }

  test("is edited meanwhile gets its outputs, and keeps the edit", async () => {
    const { live, path, result } = await whileItRuns(({ cells }) => {
      if (cells[1] !== undefined) cells[1].source = "# edited";
    });
    expect(textOf(result)).toBe("begun\nended");
    expect(await cellAt(live, path, 1)).toMatchObject({
      source: "# edited",
      outputs: [{ text: "begun\nended\n" }],
    });
  });

  test("is deleted meanwhile has its outputs in the answer, which says where they are not", async () => {
    const { live, path, result } = await whileItRuns(({ cells }) => void cells.splice(1, 1));
    expect(textOf(result)).toMatch(/^begun\nended\n\[.*deleted while it ran/);
    expect(result.structuredContent).toMatchObject({ status: "completed", cell: { saved: false } });
    expect((await live.read(path)).cells).toHaveLength(1);
    expect((await cellAt(live, path, 0)).outputs).toEqual([]);
  });
});

test("what a thread prints after the end of its cell is added to the notebook", async () => {
  const live = await startLive(service);
  const client = await live.connect();
  const code =
    "import threading, time\ndef late():\n    time.sleep(0.5)\n    print('late')\nthreading.Thread(target=late).start()\nprint('in time')";
  const path = await live.notebook([code]);
  expect(textOf(await client.run("execute_cell", { notebook_path: path, cell_index: 0 }))).toBe("in time");
  await eventually(async () => JSON.stringify((await cellAt(live, path, 0)).outputs).includes("in time\\nlate"));
});

test("the prompt number begins anew after a restart, and the answer says that the variables are lost", async () => {
  const live = await startLive(service);
  const client = await live.connect();
  const path = await live.notebook(["x = 1"]);
  const run = () => client.run("execute_cell", { notebook_path: path, cell_index: 0 });
  for (const count of [1, 2, 3]) expect((await run()).structuredContent?.execution_count).toBe(count);
  await live.rest.restartKernel(await kernelOf(live, path));
  const result = await run();
  expect(result.structuredContent).toMatchObject({ execution_count: 1, kernel: { origin: "restarted" } });
  expect(textOf(result)).toMatch(/the kernel was restarted since the last run: the variables of earlier runs are lost/);
  expect((await cellAt(live, path, 0)).execution_count).toBe(1);
});
