/** What a server that is killed leaves behind, and how the next one collects it. */
import { randomUUID } from "node:crypto";
import { once } from "node:events";
import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { afterAll, expect, inject, onTestFinished, test } from "vitest";
import { WebSocket } from "ws";
import { readNotebook } from "../../../test/fixtures/notebook-on-disk.js";
import { startExtraJupyter } from "../../../test/services/jupyter.js";
import { Command, type Reply, temporaryFolder } from "./command.js";

// A server of its own: a kernel that is left behind here is anybody's to take up.
const extra = await startExtraJupyter(inject("jupyter").python);
afterAll(() => extra.stop());
const jupyter = extra.service;
const onJupyter = { JUPYTER_URL: jupyter.url, JUPYTER_TOKEN: jupyter.token };
/** Until its lease passes, a server that was killed might live; the next one looks every five seconds. */
const PATIENCE_MS = 30_000;

const ticking = (seconds: number, last = ""): string =>
  `import time\nfor i in range(${seconds * 5}):\n    print('tick', i, flush=True)\n    time.sleep(0.2)\n${last}`;
const ticks = (seconds: number): string => Array.from({ length: seconds * 5 }, (_, nth) => `tick ${nth}\n`).join("");

/** A notebook of one cell in a folder of the test's own; the sessions that it gets are ended with the test. */
async function notebook(code: string): Promise<string> {
  const folder = `resume-${Math.random().toString(36).slice(2)}`;
  await mkdir(join(jupyter.rootDir, folder));
  const cell = { id: "a", cell_type: "code", source: code, metadata: {}, outputs: [], execution_count: null };
  const metadata = { kernelspec: { name: "python3", display_name: "Python 3", language: "python" } };
  const path = `${folder}/note.ipynb`;
  await writeFile(
    join(jupyter.rootDir, path),
    JSON.stringify({ cells: [cell], metadata, nbformat: 4, nbformat_minor: 5 }),
  );
  onTestFinished(async () => {
    for (const session of await api<{ id: string; path: string }[]>("sessions"))
      if (session.path === path) await api(`sessions/${session.id}`, "DELETE");
  });
  return path;
}

async function outputsIn(path: string): Promise<{ text?: string; ename?: string }[]> {
  const { cells } = await readNotebook<{ cells: { outputs: object[] }[] }>(join(jupyter.rootDir, path));
  return cells[0]?.outputs ?? [];
}

async function api<T>(path: string, method = "GET"): Promise<T> {
  const headers = { authorization: `token ${jupyter.token}` };
  const response = await fetch(`${jupyter.url}api/${path}`, { method, headers });
  return response.status === 204 ? (undefined as T) : ((await response.json()) as T);
}

async function kernelOf(path: string): Promise<string> {
  const sessions = await api<{ path: string; kernel: { id: string } }[]>("sessions");
  const session = sessions.find((each) => each.path === path);
  if (session === undefined) throw new Error(`${path} has no session`);
  return session.kernel.id;
}

/** Runs code on a kernel as another client does, once the kernel has got to it; `ended` is the status of its reply. */
async function runAsSomebody(kernelId: string, code: string): Promise<{ ended: Promise<string> }> {
  const url = `${jupyter.url.replace("http", "ws")}api/kernels/${kernelId}/channels?token=${jupyter.token}`;
  const socket = new WebSocket(url);
  onTestFinished(() => socket.close());
  await once(socket, "open");
  const msg_id = randomUUID();
  const header = { msg_id, msg_type: "execute_request", session: randomUUID(), username: "somebody", version: "5.3" };
  const content = { code, silent: false, store_history: true, user_expressions: {}, allow_stdin: false };
  const said = (type: string, take: (content: { status?: string }) => void): void =>
    void socket.on("message", (data) => {
      const message = JSON.parse(String(data));
      if (message.parent_header.msg_id === msg_id && message.msg_type === type) take(message.content);
    });
  const begun = new Promise<void>((resolve) => said("execute_input", () => resolve()));
  const ended = new Promise<string>((resolve) => said("execute_reply", ({ status = "" }) => resolve(status)));
  socket.send(JSON.stringify({ channel: "shell", header, parent_header: {}, metadata: {}, content, buffers: [] }));
  await begun;
  return { ended };
}

async function start(command: Command, name: string, args: object): Promise<string> {
  const { result, error } = await command.request("tools/call", { name, arguments: args, task: { ttl: 900_000 } });
  if (error !== undefined) throw new Error(error.message);
  return result.task.taskId;
}

async function collect(command: Command, taskId: string): Promise<Reply> {
  const isOver = ({ status }: { status: string }): boolean => status !== "working";
  await command.untilTask(taskId, isOver);
  return await command.request("tasks/result", { taskId });
}

const textOf = ({ result }: Reply): string => result.content.map(({ text }: { text: string }) => text).join("\n");

test(
  "the next server collects every cell of one that was killed: whole, once, and into its notebook",
  async () => {
    const home = temporaryFolder();
    const env = { ...onJupyter, XDG_STATE_HOME: home };
    const running = await notebook(ticking(40, "6 * 7"));
    const finished = await notebook(ticking(6));
    const failed = await notebook(ticking(5, "1 / 0"));
    const gone = await notebook(ticking(60));
    const killed = new Command(["jupyter"], env);
    await killed.initialize();
    const cells = { running, finished, failed, gone };
    const tasks: Record<string, string> = {};
    for (const [name, notebook_path] of Object.entries(cells))
      tasks[name] = await start(killed, "execute_cell", { notebook_path, cell_index: 0 });
    for (const name of Object.keys(cells)) {
      await killed.untilTask(tasks[name] ?? "", ({ output }) => output.includes("tick 3"));
    }
    const kernelId = await kernelOf(running);
    tasks.queued = await start(killed, "execute_code", { kernel_id: kernelId, code: "print('after', i)" });
    killed.process.kill("SIGKILL");
    await killed.ended;
    await api(`kernels/${await kernelOf(gone)}`, "DELETE");
    // What a page that a person has open does: whatever the server has held back for our session is gone with it.
    const page = new WebSocket(
      `${jupyter.url.replace("http", "ws")}api/kernels/${await kernelOf(finished)}/channels?token=${jupyter.token}`,
    );
    onTestFinished(() => page.close());
    await delay(3000);

    const next = new Command(["jupyter"], env);
    await next.initialize();
    const runningResult = await collect(next, tasks.running ?? "");
    expect(runningResult.result.structuredContent).toMatchObject({
      status: "completed",
      cell: { notebook_path: running, saved: true },
    });
    expect(textOf(runningResult)).toBe(`${ticks(40)}42`);
    expect(runningResult.result.structuredContent.duration_ms).toBeGreaterThan(39_000);
    expect(textOf(await collect(next, tasks.finished ?? ""))).toBe(ticks(6).trimEnd());
    const failure = await collect(next, tasks.failed ?? "");
    expect(failure.result.structuredContent).toMatchObject({
      status: "errored",
      error: { ename: "ZeroDivisionError" },
    });
    expect(textOf(failure)).toContain("tick 24\n");
    const lost = await collect(next, tasks.gone ?? "");
    expect(lost.error?.message).toMatch(/Kernel .* died: the server has no such kernel any more/);
    expect(JSON.stringify(lost.error?.data)).toContain("tick 3");
    expect(textOf(await collect(next, tasks.queued ?? ""))).toBe("after 199");
    expect((await outputsIn(finished)).map(({ text }) => text).join("")).toBe(ticks(6));
  },
  60_000 + PATIENCE_MS,
);

test(
  "a private Jupyter Server outlives a server that is killed, and ends with the next one's last task",
  async () => {
    const home = temporaryFolder();
    const root = temporaryFolder();
    const env = { XDG_STATE_HOME: home, JUPYTER_PYTHON: jupyter.python };
    const killed = new Command(["jupyter", "--root", root], env);
    await killed.initialize();
    const code = `import os; print('server', os.getppid(), flush=True)\n${ticking(8, "'end'")}`;
    const taskId = await killed.callTask(code);
    await killed.untilTask(taskId, ({ output }) => output.includes("tick 3"));
    killed.process.kill("SIGKILL");
    await killed.ended;

    const next = new Command(["jupyter", "--root", root], env);
    await next.initialize();
    const text = textOf(await collect(next, taskId));
    const [, pid] = /^server (\d+)\n/.exec(text) ?? [];
    expect(text).toBe(`server ${pid}\n${ticks(8)}'end'`);
    const again = await next.request("tools/call", { name: "execute_code", arguments: { code: "print(i)" } });
    expect(textOf(again)).toBe("39");
    next.process.stdin.end();
    expect(await next.ended).toBe(0);
    expect(isAlive(Number(pid))).toBe(false);
  },
  60_000 + PATIENCE_MS,
);

test("cancelling tasks of a server that was killed stops their cells where they run, and nothing else", async () => {
  const env = { ...onJupyter, XDG_STATE_HOME: temporaryFolder() };
  const running = await notebook(ticking(60));
  const finished = await notebook("print('tick 3')");
  const killed = new Command(["jupyter"], env);
  await killed.initialize();
  const tasks = {
    snippet: await killed.callTask(ticking(50)),
    cell: await start(killed, "execute_cell", { notebook_path: running, cell_index: 0 }),
    finished: await start(killed, "execute_cell", { notebook_path: finished, cell_index: 0, stream: false }),
  };
  for (const taskId of [tasks.snippet, tasks.cell])
    await killed.untilTask(taskId, ({ output }) => output.includes("tick 3"));
  const runningKernel = await kernelOf(running);
  const queued = await start(killed, "execute_code", { kernel_id: runningKernel, code: "ran = True" });
  killed.process.kill("SIGKILL");
  await killed.ended;
  const foreign = await runAsSomebody(await kernelOf(finished), "import time\nfor _ in range(250): time.sleep(0.1)");

  const next = new Command(["jupyter"], env);
  await next.initialize();
  const cancel = async (taskId: string) => (await next.request("tasks/cancel", { taskId })).result;
  const [snippet, cell, over, never] = await Promise.all(
    [tasks.snippet, tasks.cell, tasks.finished, queued].map(cancel),
  );
  expect(over).toMatchObject({ status: "completed" });
  for (const stopped of [snippet, cell])
    expect(stopped).toMatchObject({ status: "cancelled", statusMessage: "Cancelled; the work has stopped." });
  expect(never).toMatchObject({ status: "cancelled" });
  for (const taskId of [tasks.snippet, tasks.cell])
    expect(textOf(await next.request("tasks/result", { taskId }))).toMatch(/tick 3\n(.*\n)*.*KeyboardInterrupt/);
  expect((await outputsIn(running)).at(-1)).toMatchObject({ ename: "KeyboardInterrupt" });
  // The kernels are free, and what waited for one of them was never sent to it.
  const after = async (args: object) =>
    textOf(await next.request("tools/call", { name: "execute_code", arguments: { timeout: 20, ...args } }));
  expect(await after({ code: "print('last', i < 249)" })).toBe("last True");
  expect(await after({ kernel_id: runningKernel, code: "print('ran' in dir())" })).toBe("False");
  expect(await foreign.ended).toBe("ok");
}, 120_000);

test("a server that ends in order hands a running cell over: the next one goes on with it at once", async () => {
  const env = { ...onJupyter, XDG_STATE_HOME: temporaryFolder() };
  const path = await notebook(ticking(6));
  const leaving = new Command(["jupyter"], env);
  await leaving.initialize();
  const cell = await start(leaving, "execute_cell", { notebook_path: path, cell_index: 0 });
  const snippet = await leaving.callTask(`answer = 42\n${ticking(6)}`);
  for (const taskId of [cell, snippet]) await leaving.untilTask(taskId, ({ output }) => output.includes("tick 3"));
  leaving.process.stdin.end();
  const { code, tookMs } = await leaving.exit();
  expect(code).toBe(0);
  expect(tookMs).toBeLessThan(4000);

  const next = new Command(["jupyter"], env);
  await next.initialize();
  const startedAt = performance.now();
  const { result } = await next.request("tasks/get", { taskId: cell });
  expect(result.status).toBe("working");
  expect(textOf(await collect(next, cell))).toBe(ticks(6).trimEnd());
  expect(textOf(await collect(next, snippet))).toBe(ticks(6).trimEnd());
  expect(performance.now() - startedAt).toBeLessThan(15_000);
  expect(
    await next.request("tools/call", { name: "execute_code", arguments: { code: "print(answer)" } }),
  ).toMatchObject({
    result: { content: [{ text: "42" }] },
  });
});

test("the kernel for code that a killed server leaves on a Jupyter Server is the next one's of its deployment, and ends with it", async () => {
  const env = { ...onJupyter, XDG_STATE_HOME: temporaryFolder() };
  const run = async (command: Command, code: string) =>
    await command.request("tools/call", { name: "execute_code", arguments: { code } });
  const killed = new Command(["jupyter"], env);
  await killed.initialize();
  const kernelId = (await run(killed, "x = 5")).result.structuredContent.kernel.id;
  const other = new Command(["jupyter"], env);
  await other.initialize();
  expect((await run(other, "1")).result.structuredContent.kernel.id).not.toBe(kernelId);
  killed.process.kill("SIGKILL");
  await killed.ended;
  // Of another installation, and of this one with another store.
  const strangers = [
    new Command(["jupyter"], { ...env, XDG_STATE_HOME: temporaryFolder() }),
    new Command(["jupyter", "--store", "sqlite:other.db"], env),
  ];
  for (const stranger of strangers) {
    await stranger.initialize();
    expect(textOf(await run(stranger, "print(x)"))).toContain("NameError");
  }
  const next = new Command(["jupyter"], env);
  await next.initialize();
  const found = await run(next, "print(x)");
  expect(found.result.structuredContent.kernel).toEqual({ id: kernelId, origin: "adopted" });
  expect(textOf(found)).toBe("5");
  next.process.stdin.end();
  expect(await next.ended).toBe(0);
  expect((await api<{ id: string }[]>("kernels")).map(({ id }) => id)).not.toContain(kernelId);
});

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}
