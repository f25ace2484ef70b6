import { randomUUID } from "node:crypto";
import { mkdir, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { describe, expect, inject, it, onTestFinished } from "vitest";
import { type AssignedKernel, Kernels, startRun } from "../../src/execution/index.js";
import { deleteSession, restOf } from "../kernel/live-kernel.js";

const jupyter = inject("jupyter");
const rest = restOf(jupyter);

function newKernels(): Kernels {
  const kernels = new Kernels({ rest });
  onTestFinished(() => kernels.close());
  return kernels;
}
/** A notebook of the test's own, whose session ends with the test. */
async function newNotebook(name: string): Promise<string> {
  const path = `kernels-${name}.ipynb`;
  const file = join(jupyter.rootDir, path);
  await mkdir(dirname(file), { recursive: true });
  await writeFile(file, JSON.stringify({ cells: [], metadata: {}, nbformat: 4, nbformat_minor: 5 }));
  onTestFinished(async () => {
    for (const session of await sessionsOf(path)) await deleteSession(jupyter, session.id);
  });
  return path;
}
const sessionsOf = async (path: string) => (await rest.listSessions()).filter((session) => session.path === path);

/** The text of an expression's value. */
async function evaluate({ kernel }: AssignedKernel, code: string): Promise<unknown> {
  const { outputs } = await startRun({ kernel, code }).ended;
  const [first] = outputs;
  return first?.output_type === "execute_result" ? first.data["text/plain"] : outputs;
}
const isRunning = async (kernelId: string) => (await rest.listKernels()).some(({ id }) => id === kernelId);

describe("a notebook's kernel", () => {
  it("is the one that a person has open, with its variables", async () => {
    const path = await newNotebook("adopted");
    const session = await rest.openSession(path);
    const person = newKernels();
    await startRun({ kernel: (await person.withId(session.kernel?.id ?? "")).kernel, code: "y = 7" }).ended;
    const agent = newKernels();
    const assigned = await agent.forNotebook(`/${path}`);
    expect(assigned).toMatchObject({ origin: "adopted", kernel: { id: session.kernel?.id } });
    expect(await evaluate(assigned, "y")).toBe("7");
    expect(await sessionsOf(path)).toHaveLength(1);
    await agent.close();
    expect(await isRunning(assigned.kernel.id)).toBe(true);
  });

  it("is started in the notebook's folder, once, however many ask, and stays when we go", async () => {
    const path = await newNotebook("folder/b/t");
    const kernels = newKernels();
    const assigned = await Promise.all([1, 2, 3].map(() => kernels.forNotebook(path)));
    expect(assigned.map(({ origin }) => origin)).toEqual(["started", "same", "same"]);
    expect(new Set(assigned.map(({ kernel }) => kernel)).size).toBe(1);
    expect(await sessionsOf(path)).toHaveLength(1);
    const [first] = assigned;
    if (!first) throw new Error("nothing was assigned");
    expect(await evaluate(first, "import os; os.getcwd()")).toMatch(/kernels-folder\/b'$/);
    await kernels.close();
    expect(await isRunning(first.kernel.id)).toBe(true);
  });

  it("is of the kernelspec that the notebook names; an unknown one is refused with the choices", async () => {
    const path = await newNotebook("spec");
    const kernels = newKernels();
    await expect(kernels.forNotebook(path, "julia-9")).rejects.toMatchObject({
      code: "unknown_kernelspec",
      message: expect.stringMatching(/no kernel named "julia-9": it has .*"python3" \(Python 3.*, the default\)/),
    });
    expect(await sessionsOf(path)).toEqual([]);
    expect((await kernels.forNotebook(path, "python3")).origin).toBe("started");
  });

  it("that was culled is replaced, and that is said", async () => {
    const path = await newNotebook("culled");
    const kernels = newKernels();
    const before = await kernels.forNotebook(path);
    await rest.deleteKernel(before.kernel.id);
    const after = await kernels.forNotebook(path);
    expect(after.origin).toBe("replaced");
    expect(await evaluate(after, "1 + 1")).toBe("2");
  });

  it("that a person restarted is the same one with its state lost, and that is said once", async () => {
    const path = await newNotebook("restarted");
    const kernels = newKernels();
    const { kernel } = await kernels.forNotebook(path);
    await startRun({ kernel, code: "1" }).ended;
    await rest.restartKernel(kernel.id);
    // Not every restart is announced: the first answer of the new process is what tells it for certain.
    await startRun({ kernel, code: "1" }).ended;
    expect(await kernels.forNotebook(path)).toMatchObject({ origin: "restarted", kernel: { id: kernel.id } });
    expect((await kernels.forNotebook(path)).origin).toBe("same");
  });

  it("is the new one when a person has given the notebook another", async () => {
    const path = await newNotebook("changed");
    const kernels = newKernels();
    await kernels.forNotebook(path);
    for (const session of await sessionsOf(path)) await deleteSession(jupyter, session.id);
    const other = await rest.openSession(path);
    expect(await kernels.forNotebook(path)).toMatchObject({ origin: "replaced", kernel: { id: other.kernel?.id } });
  });
});

describe("the kernel for snippets", () => {
  it("is one of our own, ended when we go, and started anew when it is gone", async () => {
    const kernels = newKernels();
    const first = await kernels.forSnippets();
    expect(first.origin).toBe("started");
    expect(await kernels.forSnippets()).toMatchObject({ origin: "same", kernel: { id: first.kernel.id } });
    expect(await evaluate(first, "1 + 1")).toBe("2");
    await rest.deleteKernel(first.kernel.id);
    const second = await kernels.forSnippets();
    expect(second.origin).toBe("replaced");
    expect(await evaluate(second, "1 + 1")).toBe("2");
    await kernels.close();
    expect(await isRunning(second.kernel.id)).toBe(false);
    await expect(kernels.forSnippets()).rejects.toMatchObject({ code: "closed" });
  });
});

describe("of two servers of one owner", () => {
  const marked = async (kernelId: string) => (await rest.listSessions()).find(({ kernel }) => kernel?.id === kernelId);

  it("none takes up the kernel that the other has only just started", async () => {
    const owner = randomUUID();
    const first = newKernels();
    const own = await first.forSnippets(owner);
    const path = (await marked(own.kernel.id))?.path ?? "";
    // Started, and not yet connected to.
    const { kernel } = await rest.openSession(`${path.slice(0, -8)}00000000`, { type: "console", name: "claimcheck" });
    onTestFinished(() => rest.deleteKernel(kernel?.id ?? ""));
    const assigned = await newKernels().forSnippets(owner);
    expect(assigned.origin).toBe("started");
    expect([own.kernel.id, kernel?.id]).not.toContain(assigned.kernel.id);
  });

  it("none takes up the kernel that the other is ending", async () => {
    const owner = randomUUID();
    const leaving = newKernels();
    const { kernel } = await leaving.forSnippets(owner);
    let isGone = false;
    const closed = leaving.close().then(() => {
      isGone = true;
    });
    while (!isGone) {
      const seen = (await marked(kernel.id))?.kernel;
      if (seen != null) expect(seen.connections).toBe(1);
    }
    await closed;
  });
});

describe("a kernel named by its id", () => {
  it("is used as it is, over one connection, whoever else asks for it", async () => {
    const path = await newNotebook("by-id");
    const kernels = newKernels();
    const { kernel } = await kernels.forNotebook(path);
    expect((await kernels.withId(kernel.id)).kernel).toBe(kernel);
  });

  it("that does not run is refused with those that do", async () => {
    const kernels = newKernels();
    const { kernel } = await kernels.forSnippets();
    await expect(kernels.withId("11111111-2222-3333-4444-555555555555")).rejects.toMatchObject({
      code: "kernel_not_found",
      message: expect.stringContaining(`${kernel.id} (python3, `),
    });
  });
});
