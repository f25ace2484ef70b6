/** A real server that is caught at writing a notebook, each time at the same point. */
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, expect, inject, test } from "vitest";
import { eventually } from "../../../../test/fixtures/eventually.js";
import { readNotebook } from "../../../../test/fixtures/notebook-on-disk.js";
import { startExtraJupyter } from "../../../../test/services/jupyter.js";
import { JupyterRest, serverAddress } from "../../src/kernel/index.js";
import { cellKey, NotebookFiles } from "../../src/notebook/index.js";
import type { Notebook } from "../../src/notebook/nbformat.js";

const { service, stop } = await startExtraJupyter(inject("jupyter").python, {
  args: ["--ServerApp.contents_manager_class=half_written.HalfWritten"],
  env: { PYTHONPATH: fileURLToPath(new URL(".", import.meta.url)) },
});
afterAll(stop);
const rest = new JupyterRest(serverAddress(service.url, service.token));
const files = new NotebookFiles(rest);

const sample: Notebook = {
  cells: [{ id: "a", cell_type: "code", source: "1", metadata: {}, outputs: [], execution_count: null }],
  metadata: {},
  nbformat: 4,
  nbformat_minor: 5,
};
const key = cellKey(sample, 0);
const run = {
  outputs: [{ output_type: "stream" as const, name: "stdout", text: "one\ntwo\n" }],
  executionCount: 7,
};

const fileOf = (path: string): string => join(service.rootDir, path);
const onDisk = (path: string): Promise<Notebook> => readNotebook<Notebook>(fileOf(path));

async function notebook(path: string): Promise<string> {
  await writeFile(fileOf(path), JSON.stringify(sample));
  return path;
}

async function untilHalfWritten(path: string): Promise<void> {
  await eventually(async () => (await readFile(fileOf(path), "utf8")) === "{");
}

test.each(["restored", "lost"])(
  "outputs are in the notebook though somebody read it half-written: %s",
  async (name) => {
    const path = await notebook(`${name}-by-others.ipynb`);
    const saving = files.saveRun(path, key, run);
    await untilHalfWritten(path);
    await rest.getContents(path).catch(() => {});
    expect(await saving).toMatchObject({ saved: true });
    expect(await onDisk(path)).toMatchObject({ cells: [{ outputs: run.outputs, execution_count: 7 }] });
  },
);

test("a notebook that our reading has the server lose is put back as somebody was writing it", async () => {
  const path = await notebook("lost-by-us.ipynb");
  const content = { ...sample, metadata: { written: "by somebody" } };
  const writing = rest.putContents(path, { type: "notebook", format: "json", content }).catch(() => {});
  await untilHalfWritten(path);
  expect(await files.read(path)).toMatchObject({ metadata: content.metadata });
  await writing;
  expect(await onDisk(path)).toMatchObject({ metadata: content.metadata });
});
