import { readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, inject, it } from "vitest";
import { JupyterRest, serverAddress } from "../../src/kernel/index.js";
import { NotebookFiles } from "../../src/notebook/contents.js";
import { cellKey } from "../../src/notebook/find-cell.js";
import type { CellOutput } from "../../src/notebook/nbformat.js";
import { parseNotebook, problemsOf } from "../../src/notebook/validate.js";

const jupyter = inject("jupyter");
const rest = new JupyterRest(serverAddress(jupyter.url, jupyter.token));
const files = new NotebookFiles(rest);

const code = (source: string, more: object = {}) => {
  return { cell_type: "code", execution_count: null, metadata: {}, outputs: [], source: [source], ...more };
};
const notebook = (minor: number, ...cells: object[]) => {
  return { cells, metadata: {}, nbformat: 4, nbformat_minor: minor };
};
const run = {
  outputs: [
    { output_type: "stream", name: "stdout", text: "é🙂\n" },
    { output_type: "display_data", data: { "text/html": "<b>", "application/json": { a: [1] } }, metadata: {} },
    { output_type: "execute_result", data: { "text/plain": "7" }, metadata: {}, execution_count: 3 },
    { output_type: "error", ename: "E", evalue: "v", traceback: ["\u001b[31mt\u001b[0m"] },
  ] satisfies CellOutput[],
  executionCount: 3,
};

/** Writes a notebook as another program would, past the server. */
async function onDisk(name: string, json: object): Promise<string> {
  const path = `notebook-contents-${name}.ipynb`;
  await writeFile(join(jupyter.rootDir, path), `${JSON.stringify(json, null, 1)}\n`);
  return path;
}
const fromDisk = async (path: string) => JSON.parse(await readFile(join(jupyter.rootDir, path), "utf8"));

describe("a run's outputs, on a real server", () => {
  it.each([
    ["4.5", 5, { id: "one" }],
    ["4.4", 4, {}],
    ["4.0", 0, {}],
  ])("are saved in a %s notebook that stays as it is otherwise", async (name, minor, id) => {
    const before = notebook(minor, code("1", id), code("2", minor === 5 ? { id: "two" } : {}));
    const path = await onDisk(`plain-${name}`, before);
    const outcome = await files.saveRun(path, cellKey(await files.read(path), 1), run);
    expect(outcome).toMatchObject({ saved: true, index: 1, update: { repairs: [], warnings: [] } });
    const after = await fromDisk(path);
    expect(after).toMatchObject({ ...before, cells: [before.cells[0], { execution_count: 3 }] });
    expect(after.cells[1].outputs.map((each: CellOutput) => each.output_type)).toEqual(
      run.outputs.map((each) => each.output_type),
    );
    expect((await files.read(path)).cells[1]).toMatchObject({ outputs: run.outputs });
    expect((await rest.getContents(path)).message).toBeNull();
  });

  it("find their cell where the file has no ids and the server makes them up at each reading", async () => {
    const path = await onDisk("missing-ids", notebook(5, code("1"), code("2")));
    const key = cellKey(await files.read(path), 1);
    expect(await files.saveRun(path, key, run)).toMatchObject({ saved: true, index: 1 });
    const { cells } = await fromDisk(path);
    expect(new Set(cells.map((cell: { id: string }) => cell.id)).size).toBe(2);
  });

  it("leave a notebook with repeated ids, or with ids in an old format, valid", async () => {
    for (const [name, json] of [
      ["repeated-ids", notebook(5, code("1", { id: "a" }), code("2", { id: "a" }))],
      ["ids-in-4.4", notebook(4, code("1", { id: "a" }), code("2"))],
    ] as const) {
      const path = await onDisk(name, json);
      const outcome = await files.saveRun(path, cellKey(await files.read(path), 1), run);
      const { id } = (await fromDisk(path)).cells[1];
      expect(outcome).toMatchObject({ saved: true, index: 1, id });
      expect((await rest.getContents(path)).message).toBeNull();
      expect((await fromDisk(path)).nbformat_minor).toBe(5);
    }
  });

  it("are put beside what another program has written meanwhile", async () => {
    const path = await onDisk("conflict", notebook(5, code("1", { id: "one" }), code("2", { id: "two" })));
    const key = cellKey(await files.read(path), 1);
    await onDisk(
      "conflict",
      notebook(5, code("new", { id: "new" }), code("1", { id: "one" }), code("2b", { id: "two" })),
    );
    expect(await files.saveRun(path, key, run)).toMatchObject({ saved: true, index: 2 });
    const sources = (await fromDisk(path)).cells.map((cell: { source: string[] }) => cell.source.join(""));
    expect(sources).toEqual(["new", "1", "2b"]);
  });

  it("are told to be unsaved when the cell or the notebook is gone", async () => {
    const path = await onDisk("gone", notebook(5, code("1", { id: "one" }), code("2", { id: "two" })));
    const key = cellKey(await files.read(path), 1);
    await onDisk("gone", notebook(5, code("1", { id: "one" })));
    expect(await files.saveRun(path, key, run)).toMatchObject({ saved: false, reason: "cell_deleted" });
    await rm(join(jupyter.rootDir, path));
    expect(await files.saveRun(path, key, run)).toMatchObject({ saved: false, reason: "notebook_deleted" });
  });

  it("of many runs at once are all saved", async () => {
    const cells = Array.from({ length: 10 }, (_, index) => code(String(index), { id: `c${index}` }));
    const path = await onDisk("many", notebook(5, ...cells));
    const before = await files.read(path);
    await Promise.all(
      cells.map((_, index) => files.saveRun(path, cellKey(before, index), { ...run, executionCount: index })),
    );
    const after = await files.read(path);
    expect(after.cells.map((cell) => (cell.cell_type === "code" ? cell.execution_count : -1))).toEqual(
      cells.map((_, index) => index),
    );
  });
});

describe("our checks and the server's", () => {
  const display = { output_type: "display_data", data: { "text/plain": "x" }, metadata: {} };
  const outputs: Record<string, unknown> = {
    fine: {
      ...display,
      data: { "text/plain": ["x"], "application/json": 1, "application/a.b+json": [], "image/png": "AA" },
    },
    transient: { ...display, transient: {} },
    "no-metadata": { output_type: "display_data", data: {} },
    "no-text": { ...display, data: { "text/plain": 1 } },
    "no-stream-name": { output_type: "stream", text: "" },
    "result-without-count": { ...display, output_type: "execute_result" },
    "negative-count": { ...display, output_type: "execute_result", execution_count: -1 },
    "bad-traceback": { output_type: "error", ename: "", evalue: "", traceback: [1] },
    "unknown-type": { output_type: "novel" },
  };

  it.each(Object.entries(outputs))("agree on an output: %s", async (name, output) => {
    const json = notebook(5, code("1", { id: "one", outputs: [output] }));
    const path = await onDisk(`agree-${name}`, json);
    const { message } = await rest.getContents(path);
    expect({ valid: problemsOf(parseNotebook(json)).length === 0 }).toEqual({ valid: message === null });
  });

  it.each([
    ["member", notebook(5, code("1", { id: "one", novel: 1 }))],
    ["top-member", { ...notebook(5), novel: 1 }],
    ["count", notebook(5, code("1", { id: "one", execution_count: "3" }))],
    ["later-minor", { ...notebook(9, code("1", { id: "one", novel: 1 })), novel: 1 }],
  ])("agree on a cell or notebook: %s", async (name, json) => {
    const path = await onDisk(`agree-${name}`, json);
    const { message } = await rest.getContents(path);
    expect({ valid: problemsOf(parseNotebook(json)).length === 0 }).toEqual({ valid: message === null });
  });
});
