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
  /** What the server has set aside. */
  aside: unknown;
  /** What the server says of the file's validity. */
  message: string | null = null;
  type: ContentsModel["type"] = "notebook";
  size = 1;
  writes = 0;
  /** Called before each reading of the content. */
  beforeReading: () => void = () => {};
  /** Called before each look at the revision that precedes a write. */
  beforeLook: () => void = () => {};
  /** Called before each write is answered. */
  beforeAnswer: () => void = () => {};
  readonly #options: { hashes?: boolean; isCoarse?: boolean };
  #revision = 1;
  /** As it was before the last write. */
  #copy: { content: unknown; revision: number } | undefined;

  /** @param options.isCoarse has all times be the same, so that only its content tells one state from another. */
  constructor(content: unknown, options: { hashes?: boolean; isCoarse?: boolean } = {}) {
    this.content = content;
    this.#options = options;
  }

  /** Somebody else writes. */
  change(content: unknown): void {
    this.content = content;
    this.#revision++;
  }

  /** Somebody reads while it is written; with `isLost`, the copy was removed too soon to be put in its place. */
  setAside({ isLost }: { isLost: boolean }): void {
    this.aside = this.content;
    this.content = isLost ? undefined : this.#copy?.content;
    if (!isLost) this.#revision = this.#copy?.revision ?? 0;
  }

  async getContents(path: string, options: { content?: boolean; hash?: boolean } = {}): Promise<ContentsModel> {
    if (path.endsWith(".invalid")) return this.#model(path, this.aside);
    if (options.content === false) {
      if (options.hash) this.beforeLook();
      return { ...this.#model(path, this.content), content: null };
    }
    this.beforeReading();
    return this.#model(path, structuredClone(this.content));
  }

  async putContents(path: string, file: { content: unknown }): Promise<ContentsModel> {
    await new Promise((resolve) => setImmediate(resolve));
    this.writes++;
    this.#copy = { content: this.content, revision: this.#revision };
    this.change(structuredClone(file.content));
    this.beforeAnswer();
    return { ...this.#model(path, this.content), content: null };
  }

  async renameContents(path: string, newPath: string): Promise<ContentsModel> {
    if (this.content !== undefined) throw new JupyterError("refused", `there is a file ${newPath}`, { status: 409 });
    const model = this.#model(path, this.aside);
    this.change(this.aside);
    this.aside = undefined;
    return model;
  }

  #model(path: string, content: unknown): ContentsModel {
    if (content === undefined) throw new JupyterError("not_found", `no file ${path}`, { status: 404 });
    const { hashes = true, isCoarse = false } = this.#options;
    const lastModified = isCoarse ? "t" : `t${this.#revision}`;
    const base = { name: path, path, type: this.type, created: "", lastModified, writable: true };
    const hash = hashes
      ? { hash: isCoarse ? JSON.stringify(content) : `h${this.#revision}`, hashAlgorithm: "x" }
      : { hash: null, hashAlgorithm: null };
    return { ...base, ...hash, mimetype: null, format: null, size: this.size, content, message: this.message };
  }

  cell(index: number): Cell | undefined {
    return (this.content as Notebook).cells[index];
  }
}

const unreadable = new JupyterError("refused", "Unreadable Notebook", { status: 400 });
const failed = new JupyterError("server_error", "Unhandled error", { status: 500 });

/** Calls each of `turns` once, in order. */
function inOrder(...turns: (() => void)[]): () => void {
  return () => turns.shift()?.();
}
const throwing = (error: Error) => () => {
  throw error;
};

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

  it("of something that is no notebook are refused, and its content is not asked for", async () => {
    const file = new OneFile([]);
    file.type = "directory";
    file.beforeReading = throwing(failed);
    await expect(new NotebookFiles(file).read("folder")).rejects.toThrow("folder is a directory and no notebook");
  });
});

describe("a notebook that is just being written", () => {
  const save = (file: OneFile) => new NotebookFiles(file).saveRun("nb.ipynb", cellKey(sample, 1), run);
  const read = (file: OneFile) => new NotebookFiles(file).read("nb.ipynb");

  it("is not read before there is something of it", async () => {
    const file = new OneFile(sample);
    file.size = 0;
    file.beforeReading = () => expect(file.size).not.toBe(0);
    setTimeout(() => {
      file.size = 1;
    }, 100);
    expect(await read(file)).toEqual(sample);
  });

  it("is read again while it is no JSON yet, and then given up with what the server says of it", async () => {
    const file = new OneFile(sample);
    file.beforeReading = inOrder(throwing(unreadable), throwing(failed));
    expect(await read(file)).toEqual(sample);
    file.beforeReading = throwing(unreadable);
    await expect(read(file)).rejects.toThrow("Unreadable Notebook");
  });

  it("is given up when it stays empty", async () => {
    const file = new OneFile(sample);
    file.size = 0;
    await expect(read(file)).rejects.toThrow("nb.ipynb is empty, or is just being written.");
  });

  it("and is set aside by our reading is put back when nothing is in its place", async () => {
    const file = new OneFile(sample);
    const setAside = () => {
      file.setAside({ isLost: true });
      throw failed;
    };
    file.beforeReading = inOrder(setAside);
    expect(await read(file)).toEqual(sample);
    expect(file).toMatchObject({ content: sample, aside: undefined });
  });

  it("and is set aside stays there when another one is in its place", async () => {
    const file = new OneFile(sample);
    const newer = { ...sample, metadata: { newer: true } };
    const setAside = () => {
      file.setAside({ isLost: true });
      throw failed;
    };
    file.beforeReading = inOrder(setAside);
    const rename = file.renameContents.bind(file);
    file.renameContents = (...args) => {
      file.change(newer);
      return rename(...args);
    };
    expect(await read(file)).toEqual(newer);
    expect(file).toMatchObject({ content: newer, aside: sample });
  });

  it("and is set aside by another reader is edited and written again, whatever is in its place", async () => {
    for (const isLost of [false, true]) {
      const file = new OneFile(sample);
      file.beforeAnswer = inOrder(() => file.setAside({ isLost }));
      expect(await save(file)).toMatchObject({ saved: true, index: 1 });
      expect(file.cell(1)).toMatchObject({ outputs: [output], execution_count: 7 });
      expect(file.writes).toBe(2);
    }
  });

  it("keeps what somebody else writes before it is written again", async () => {
    const file = new OneFile(sample);
    file.beforeAnswer = inOrder(() => file.setAside({ isLost: false }));
    const others = { ...sample, cells: [code("new", "0"), ...sample.cells] };
    file.beforeLook = inOrder(
      () => {},
      () => {},
      () => file.change(others),
    );
    expect(await save(file)).toMatchObject({ saved: true, index: 2 });
    expect((file.content as Notebook).cells.map(({ id }) => id)).toEqual(["new", "a", "b"]);
  });

  it("is written once where the file's times are too coarse to tell one write from the next", async () => {
    const file = new OneFile(sample, { isCoarse: true });
    await save(file);
    expect(file.writes).toBe(1);
    await save(file);
    expect(file.writes).toBe(2);
  });

  it("and was deleted is not brought back from what an earlier accident has set aside", async () => {
    const file = new OneFile(undefined);
    file.aside = sample;
    await expect(read(file)).rejects.toMatchObject({ code: "not_found" });
    expect(file).toMatchObject({ content: undefined, aside: sample });
  });

  it("is given up with what the server says when every write fails", async () => {
    const file = new OneFile(sample);
    file.beforeAnswer = throwing(new JupyterError("server_error", "No space left on device", { status: 500 }));
    await expect(save(file)).rejects.toThrow("No space left on device");
  });
});
