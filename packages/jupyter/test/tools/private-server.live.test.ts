/** Without a Jupyter Server to work on, a private one lives while it is needed. */
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, inject, onTestFinished, test, vi } from "vitest";
import { eventually } from "../../../../test/fixtures/eventually.js";
import { createJupyterServer } from "../../src/index.js";
import { isAlive } from "../../src/server/lock.js";
import { connectTo, textOf } from "./live-server.js";

const { python } = inject("jupyter");

async function startPrivate() {
  vi.stubEnv("JUPYTER_PYTHON", python);
  const rootDir = await mkdtemp(join(tmpdir(), "claimcheck-test-root-"));
  onTestFinished(() => rm(rootDir, { recursive: true, force: true }));
  const jupyter = await createJupyterServer({ rootDir });
  onTestFinished(() => jupyter.close());
  await jupyter.tasks.open();
  return { jupyter, rootDir, client: await connectTo(jupyter) };
}

const WHO = "import os; print(os.getppid(), os.getcwd())";

test("it is started by the first call, serves the folder, and is gone after close", async () => {
  const { jupyter, rootDir, client } = await startPrivate();
  await writeFile(
    join(rootDir, "a.ipynb"),
    JSON.stringify({
      nbformat: 4,
      nbformat_minor: 5,
      metadata: {},
      cells: [
        { id: "a", cell_type: "code", source: "'of a notebook'", metadata: {}, outputs: [], execution_count: null },
      ],
    }),
  );
  const [pid, cwd] = textOf(await client.run("execute_code", { code: WHO })).split(" ");
  expect(cwd).toContain(rootDir);
  expect(isAlive(Number(pid))).toBe(true);
  expect(textOf(await client.run("execute_cell", { notebook_path: "a.ipynb", cell_index: 0 }))).toBe("'of a notebook'");
  await jupyter.close();
  expect(isAlive(Number(pid))).toBe(false);
});

test("calls that come together start one", async () => {
  const { client } = await startPrivate();
  const answers = await Promise.all([1, 2, 3].map(() => client.run("execute_code", { code: WHO })));
  expect(new Set(answers.map(textOf)).size).toBe(1);
});

test("one that has died is replaced at the next call", async () => {
  const { client } = await startPrivate();
  const [pid] = textOf(await client.run("execute_code", { code: WHO })).split(" ");
  process.kill(Number(pid), "SIGKILL");
  await eventually(() => !isAlive(Number(pid)));
  const after = await client.run("execute_code", { code: WHO });
  expect(after.structuredContent?.status).toBe("completed");
  expect(textOf(after).split(" ")[0]).not.toBe(pid);
});

test("nothing is started for a server that is closed unused, nor after it is closed", async () => {
  const { jupyter } = await startPrivate();
  const client = await connectTo(jupyter);
  await jupyter.close();
  const refused = await client.run("execute_code", { code: "1" });
  expect(refused).toMatchObject({ isError: true, content: [{ text: expect.stringContaining("is being closed") }] });
});

test("a machine without Python is told, and what would help", async () => {
  const { client } = await startPrivate();
  vi.stubEnv("JUPYTER_PYTHON", "/nonexistent/python");
  const refused = await client.run("execute_code", { code: "1" });
  expect(refused).toMatchObject({ isError: true, content: [{ text: expect.stringContaining("JUPYTER_PYTHON") }] });
});
