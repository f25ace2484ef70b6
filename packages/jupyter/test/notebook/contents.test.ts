import { describe, expect, it } from "vitest";
import { type ContentsModel, JupyterError } from "../../src/kernel/index.js";
import { type ContentsApi, NotebookFiles } from "../../src/notebook/contents.js";
import { cellKey } from "../../src/notebook/find-cell.js";
import type { Cell, CellOutput, Notebook } from "../../src/notebook/nbformat.js";

const code = (id: string, source: string): Cell => {
  return { id, cell_type: "code", source, metadata: { kept: true }, outputs: [], execution_count: null };
};
const sample: Notebook = {
  cells: [code("a", "1"), code("b", "2")],
  metadata: {},
  nbformat: 4,
  nbformat_minor: 5,
};
const output: CellOutput = { output_type: "stream", name: "stdout", text: "out\n" };
const run = { outputs: [output], executionCount: 7 };

/** A server with one file, which can be made to change at the worst moment. */
class OneFile implements ContentsApi {
  content: unknown;
  /** What the server says of the file's validity. */
  message: string | null = null;
  type: ContentsModel["type"] = "notebook";
  writes = 0;
  /** Called before each look at the revision that precedes a write. */
  beforeLook: () => void = () => {};
  readonly #hashes: boolean;
  #revision = 1;

  constructor(content: unknown, options: { hashes?: boolean } = {}) {
    this.content = content;
    this.#hashes = options.hashes ?? true;
  }

  /** Somebody else writes. */
  change(content: unknown): void {
    this.content = content;
    this.#revision++;
  }

  async getContents(path: string, options: { content?: boolean; hash?: boolean } = {}): Promise<ContentsModel> {
    if (options.content === false) this.beforeLook();
    if (this.content === undefined) throw new JupyterError("not_found", `no file ${path}`);
    return this.#model(path, options.content === false ? null : structuredClone(this.content));
  }

  async putContents(path: string, file: { content: unknown }): Promise<ContentsModel> {
    await new Promise((resolve) => setImmediate(resolve));
    this.writes++;
    this.change(structuredClone(file.content));
    return this.#model(path, null);
  }

  #model(path: string, content: unknown): ContentsModel {
    const base = { name: path, path, type: this.type, created: "", lastModified: `t${this.#revision}`, writable: true };
    const hash = this.#hashes
      ? { hash: `h${this.#revision}`, hashAlgorithm: "x" }
      : { hash: null, hashAlgorithm: null };
    return { ...base, ...hash, mimetype: null, format: null, size: null, content, message: this.message };
  }

  cell(index: number): Cell | undefined {
    return (this.content as Notebook).cells[index];
  }
}

describe("saving a run", () => {
  it("puts outputs and prompt number into the cell, and changes nothing else", async () => {
    const file = new OneFile({ ...sample, novel: { kept: true } });
    const outcome = await new NotebookFiles(file).saveRun("nb.ipynb", cellKey(sample, 1), run);
    expect(outcome).toMatchObject({ saved: true, index: 1, update: { repairs: [] } });
    const expected = {
      ...sample,
      novel: { kept: true },
      cells: [code("a", "1"), { ...code("b", "2"), outputs: [output], execution_count: 7 }],
    };
    expect(JSON.stringify(file.content)).toBe(JSON.stringify(expected));
  });

  it.each([{ hashes: true }, { hashes: false }])(
    "follows the cell when others write meanwhile (%j)",
    async (options) => {
      const file = new OneFile(sample, options);
      let changes = 0;
      file.beforeLook = () => {
        if (changes++ < 2)
          file.change({ ...sample, cells: [code(`new${changes}`, "0"), ...(file.content as Notebook).cells] });
      };
      const outcome = await new NotebookFiles(file).saveRun("nb.ipynb", cellKey(sample, 1), run);
      expect(outcome).toMatchObject({ saved: true, index: 3 });
      expect((file.content as Notebook).cells.map(({ id }) => id)).toEqual(["new2", "new1", "a", "b"]);
      expect(file.cell(3)).toMatchObject({ outputs: [output] });
      expect(file.writes).toBe(1);
    },
  );

  it("gives up on a file that changes all the time, and writes nothing", async () => {
    const file = new OneFile(sample);
    file.beforeLook = () => file.change(structuredClone(file.content));
    await expect(new NotebookFiles(file).saveRun("nb.ipynb", cellKey(sample, 1), run)).rejects.toMatchObject({
      code: "conflict",
    });
    expect(file.writes).toBe(0);
  });

  it("answers that the cell was deleted, became text, or that the notebook is gone, and writes nothing", async () => {
    const file = new OneFile({ ...sample, cells: [code("a", "1")] });
    const files = new NotebookFiles(file);
    const save = () => files.saveRun("nb.ipynb", cellKey(sample, 1), run);
    expect(await save()).toMatchObject({
      saved: false,
      reason: "cell_deleted",
      message: expect.stringContaining('"b"'),
    });
    file.change({ ...sample, cells: [{ id: "b", cell_type: "markdown", source: "2", metadata: {} }] });
    expect(await save()).toMatchObject({ saved: false, reason: "cell_not_code" });
    file.change(undefined);
    expect(await save()).toMatchObject({ saved: false, reason: "notebook_deleted" });
    expect(file.writes).toBe(0);
  });

  it("refuses outputs that would make the notebook invalid, and writes nothing", async () => {
    const file = new OneFile(sample);
    const bad = { ...output, transient: {} } as CellOutput;
    const saving = new NotebookFiles(file).saveRun("nb.ipynb", cellKey(sample, 1), { ...run, outputs: [bad] });
    await expect(saving).rejects.toMatchObject({
      code: "would_be_invalid",
      message: expect.stringContaining('"transient"'),
    });
    expect(file.writes).toBe(0);
  });

  it("repairs ids that are missing or repeated, and says so", async () => {
    const broken = { ...sample, cells: [code("a", "1"), code("a", "2")] };
    const file = new OneFile(broken);
    const outcome = await new NotebookFiles(file).saveRun("nb.ipynb", cellKey(broken, 1), run);
    const id = file.cell(1)?.id;
    expect(id).not.toBe("a");
    expect(outcome).toMatchObject({
      saved: true,
      index: 1,
      id,
      update: { repairs: [{ index: 1, id, previous: "a" }] },
    });
    expect(file.cell(1)).toMatchObject({ outputs: [output] });
  });
});

describe("updates", () => {
  it("of one notebook are made one after the other, and a read sees those begun before it", async () => {
    const file = new OneFile({ ...sample, metadata: { count: 0 } });
    const files = new NotebookFiles(file);
    const increment = (notebook: Notebook) => ({
      ...notebook,
      metadata: { count: Number(notebook.metadata.count) + 1 },
    });
    const updates = Array.from({ length: 20 }, (_, index) =>
      files.update(index % 2 ? "nb.ipynb" : "/nb.ipynb", increment),
    );
    expect((await files.read("nb.ipynb")).metadata.count).toBe(20);
    await Promise.all(updates);
    expect(file.writes).toBe(20);
  });

  it("that fail do not hold up the next one", async () => {
    const file = new OneFile(sample);
    const files = new NotebookFiles(file);
    const failing = files.update("nb.ipynb", () => {
      throw new Error("no");
    });
    const fine = files.update("nb.ipynb", (notebook) => ({ ...notebook, metadata: { fine: true } }));
    await expect(failing).rejects.toThrow("no");
    expect((await fine).notebook.metadata).toEqual({ fine: true });
  });

  it("that change nothing write nothing", async () => {
    const file = new OneFile(sample);
    await new NotebookFiles(file).update("nb.ipynb", (notebook) => notebook);
    expect(file.writes).toBe(0);
  });

  it("that the server finds invalid are errors, unless the notebook was invalid before", async () => {
    const file = new OneFile(sample);
    const files = new NotebookFiles(file);
    const edit = (notebook: Notebook) => ({ ...notebook, metadata: { edited: true } });
    file.putContents = ((put) => async (path: string, content: { content: unknown }) => {
      return { ...(await put.call(file, path, content)), message: "Notebook validation failed: why\nmore" };
    })(file.putContents);
    await expect(files.update("nb.ipynb", edit)).rejects.toMatchObject({
      code: "saved_invalid",
      message: "The server has saved nb.ipynb and finds it invalid: Notebook validation failed: why",
    });
    file.change({ ...sample, novel: 1 });
    file.message = "Notebook validation failed: why\nmore";
    expect((await files.update("nb.ipynb", edit)).warnings).toEqual(['the notebook: unknown member "novel"']);
  });

  it("reads again when the server is caught at writing the file", async () => {
    const file = new OneFile(sample);
    let refusals = 2;
    const api: ContentsApi = {
      putContents: (...args) => file.putContents(...args),
      getContents: async (...args) => {
        if (refusals-- > 0) throw new JupyterError("refused", "Unreadable Notebook", { status: 400 });
        return await file.getContents(...args);
      },
    };
    expect(await new NotebookFiles(api).read("nb.ipynb")).toEqual(sample);
  });

  it("gives up a file that stays unreadable, with what the server says of it", async () => {
    const api: ContentsApi = {
      putContents: () => Promise.reject(new Error("not to be called")),
      getContents: () => Promise.reject(new JupyterError("refused", "Unreadable Notebook", { status: 400 })),
    };
    await expect(new NotebookFiles(api).read("nb.ipynb")).rejects.toThrow("Unreadable Notebook");
  });

  it("says that a folder is no notebook, also where the server fails on it", async () => {
    const file = new OneFile(sample);
    file.type = "directory";
    const api: ContentsApi = {
      putContents: (...args) => file.putContents(...args),
      getContents: async (path, options) => {
        if (options?.hash) throw new JupyterError("server_error", "Keys unexpectedly None", { status: 500 });
        return await file.getContents(path, options);
      },
    };
    await expect(new NotebookFiles(api).read("folder")).rejects.toThrow("folder is a directory and no notebook");
  });

  it("of something that is no notebook are refused", async () => {
    const file = new OneFile([]);
    file.type = "directory";
    await expect(new NotebookFiles(file).read("folder")).rejects.toThrow("folder is a directory and no notebook");
  });
});
