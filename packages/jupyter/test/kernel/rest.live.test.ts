import { mkdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, inject, test } from "vitest";
import { startExtraJupyter } from "../../../../test/services/jupyter.js";
import { JupyterRest, serverAddress } from "../../src/kernel/index.js";
import { deleteSession } from "./live-kernel.js";

const jupyter = inject("jupyter");
const rest = new JupyterRest(serverAddress(jupyter.url, jupyter.token));
const dir = "rest-live";

describe("kernels", () => {
  test("a kernel is started, listed, read, interrupted, restarted and deleted", async () => {
    await mkdir(join(jupyter.rootDir, dir), { recursive: true });
    const kernel = await rest.startKernel({ kernelName: "python3", path: dir });
    try {
      expect(kernel).toMatchObject({ name: "python3", connections: 0 });
      expect((await rest.listKernels()).map(({ id }) => id)).toContain(kernel.id);
      await rest.interruptKernel(kernel.id);
      expect((await rest.restartKernel(kernel.id)).id).toBe(kernel.id);
    } finally {
      await rest.deleteKernel(kernel.id);
    }
    await expect(rest.getKernel(kernel.id)).rejects.toMatchObject({
      code: "not_found",
      message: expect.stringContaining(`no kernel ${kernel.id}`),
    });
    await expect(rest.interruptKernel(kernel.id)).rejects.toMatchObject({ code: "not_found" });
    await expect(rest.restartKernel(kernel.id)).rejects.toMatchObject({ code: "not_found" });
    await expect(rest.deleteKernel(kernel.id)).rejects.toMatchObject({ code: "not_found" });
  });

  test("kernelspecs are listed without any running kernel, and an unknown one is named", async () => {
    const { defaultName, specs } = await rest.listKernelSpecs();
    expect(specs.find(({ name }) => name === defaultName)).toMatchObject({ language: "python" });
    await expect(rest.startKernel({ kernelName: "no-such-spec" })).rejects.toMatchObject({
      message: expect.stringContaining("no-such-spec"),
    });
  });
});

describe("sessions", () => {
  test("a second session of the same notebook adopts its kernel", async () => {
    const first = await rest.openSession("adopt.ipynb");
    try {
      const second = await rest.openSession("adopt.ipynb");
      expect(second.kernel?.id).toBe(first.kernel?.id);
      expect((await rest.listSessions()).filter(({ path }) => path === "adopt.ipynb")).toHaveLength(1);
    } finally {
      await deleteSession(jupyter, first.id);
    }
    expect((await rest.listSessions()).map(({ id }) => id)).not.toContain(first.id);
  });
});

describe("contents", () => {
  test("a file is written and read back, with a hash that changes with it", async () => {
    await mkdir(join(jupyter.rootDir, dir), { recursive: true });
    const path = `${dir}/a b#é.txt`;
    await rest.putContents(path, { type: "file", format: "text", content: "one" });
    const one = await rest.getContents(path, { content: false, hash: true });
    expect(one).toMatchObject({ path, content: null, hash: expect.stringMatching(/^[0-9a-f]{32,}$/) });
    await rest.putContents(path, { type: "file", format: "text", content: "two" });
    const two = await rest.getContents(path, { hash: true });
    expect(two.content).toBe("two");
    expect(two.hash).not.toBe(one.hash);
    expect(await readFile(join(jupyter.rootDir, path), "utf8")).toBe("two");
  });

  test("a file is renamed, but not to the name of another one, and read as the notebook that its name hides", async () => {
    await mkdir(join(jupyter.rootDir, dir), { recursive: true });
    const [from, to] = [`${dir}/n.ipynb.invalid`, `${dir}/n.ipynb`];
    const content = JSON.stringify({ nbformat: 4, nbformat_minor: 5, metadata: {}, cells: [] });
    await rest.putContents(from, { type: "file", format: "text", content });
    expect(await rest.getContents(from, { type: "notebook" })).toMatchObject({ content: { nbformat: 4 } });
    expect(await rest.renameContents(from, to)).toMatchObject({ path: to, type: "notebook" });
    await expect(rest.getContents(from)).rejects.toMatchObject({ code: "not_found" });
    await rest.putContents(from, { type: "file", format: "text", content: "other" });
    await expect(rest.renameContents(from, to)).rejects.toMatchObject({ code: "refused", status: 409 });
    expect(await rest.getContents(from)).toMatchObject({ content: "other" });
  });

  test("a missing file is not found, by name", async () => {
    await expect(rest.getContents("no/such.ipynb")).rejects.toMatchObject({
      code: "not_found",
      message: expect.stringContaining("no/such.ipynb"),
    });
  });
});

test("a wrong token and a missing one are unauthorized", async () => {
  for (const token of ["wrong-token", ""]) {
    const stranger = new JupyterRest(serverAddress(jupyter.url, token));
    await expect(stranger.listKernels()).rejects.toMatchObject({ code: "unauthorized" });
  }
});

describe("a server without authentication below a prefix", () => {
  test("accepts writes with its XSRF cookie, and the prefix is kept with and without its last slash", async () => {
    const extra = await startExtraJupyter(jupyter.python, { token: "", baseUrl: "/user/ann/proj/" });
    try {
      for (const url of [extra.service.url, extra.service.url.slice(0, -1)]) {
        const open = new JupyterRest(serverAddress(url));
        expect((await open.putContents("x.txt", { type: "file", format: "text", content: url })).path).toBe("x.txt");
        const kernel = await open.startKernel();
        await open.deleteKernel(kernel.id);
      }
    } finally {
      await extra.stop();
    }
  });
});
