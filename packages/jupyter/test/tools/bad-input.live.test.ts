/** Bad input is told what would be right, runs nothing, starts no kernel and leaves the notebook's bytes alone. */
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, inject, test } from "vitest";
import { type Live, type LiveClient, startLive, textOf } from "./live-server.js";

const service = inject("jupyter");

/**
 * Calls directly and as a task; both say the same.
 *
 * @param lasting what is the same however many kernels other tests start and end in between
 * @returns what they say
 */
async function refusal(
  client: LiveClient,
  name: string,
  args: Record<string, unknown>,
  lasting: (text: string) => string = (text) => text,
): Promise<string> {
  const direct = await client.run(name, args);
  expect(direct.isError).toBe(true);
  const { taskId } = await client.start(name, args);
  const task = await client.poll(taskId);
  expect(task.status).toBe("failed");
  const raised = await client.result(taskId);
  expect(raised.error?.code).toBe(-32603);
  expect(lasting(raised.error?.message ?? "")).toBe(lasting(textOf(direct)));
  return textOf(direct);
}

/** Runs `attempt`, and fails if it started a kernel or changed the notebook. */
async function changingNothing<T>({ rest, bytes }: Live, path: string, attempt: () => Promise<T>): Promise<T> {
  const idsOf = async (): Promise<string[]> =>
    (await rest.listSessions()).filter((each) => each.path === path).map(({ id }) => id);
  const before = await bytes(path);
  const result = await attempt();
  expect(await bytes(path)).toBe(before);
  expect(await idsOf()).toEqual([]);
  return result;
}

describe("execute_cell refuses", () => {
  const markdown = { cell_type: "markdown", source: "# Title", metadata: {} } as const;

  test.each([
    ["an index out of range", { cell_index: 3 }, /no cell with index 3: the notebook has 3 cells, 0 to 2/],
    ["an unknown id", { cell_id: "cell-9" }, /No cell has the id "cell-9".*"cell-0"/],
    ["a markdown cell", { cell_index: 1 }, /markdown cell: only code cells can be run/],
    ["a markdown cell by its id", { cell_id: "cell-1" }, /markdown cell: only code cells can be run/],
    [
      "an index and an id of different cells",
      { cell_index: 2, cell_id: "cell-0" },
      /is the cell with index 0, and not 2/,
    ],
    ["no cell at all", {}, /Pass cell_index, counted from 0, or cell_id/],
  ])("%s", async (_, cell, message) => {
    const live = await startLive(service);
    const client = await live.connect();
    const path = await live.notebook(["1", markdown, "2"]);
    const said = await changingNothing(live, path, () =>
      refusal(client, "execute_cell", { notebook_path: path, ...cell }),
    );
    expect(said).toMatch(message);
  });

  test("a notebook that is not there", async () => {
    const live = await startLive(service);
    const client = await live.connect();
    const said = await refusal(client, "execute_cell", { notebook_path: `${live.folder}/none.ipynb`, cell_index: 0 });
    expect(said).toMatch(/none\.ipynb/);
  });

  test("a path that leads to no notebook", async () => {
    const live = await startLive(service);
    const client = await live.connect();
    await writeFile(join(live.dir, "notes.txt"), "text");
    const file = await refusal(client, "execute_cell", { notebook_path: `${live.folder}/notes.txt`, cell_index: 0 });
    expect(file).toMatch(/no notebook/);
    const folder = await refusal(client, "execute_cell", { notebook_path: live.folder, cell_index: 0 });
    expect(folder).toMatch(/no notebook/);
    const outside = await refusal(client, "execute_cell", { notebook_path: "../secret.ipynb", cell_index: 0 });
    expect(outside).toMatch(/"\.\." can be no part of a path/);
  });

  test("a call that names no notebook where the server has no default", async () => {
    const live = await startLive(service);
    const client = await live.connect();
    expect(await refusal(client, "execute_cell", { cell_index: 3 })).toMatch(/Pass notebook_path/);
  });

  test("a kernelspec that the server does not have, and names those that it has", async () => {
    const live = await startLive(service);
    const client = await live.connect();
    const path = await live.notebook(["1"], { kernelName: "cobol" });
    const said = await changingNothing(live, path, () =>
      refusal(client, "execute_cell", { notebook_path: path, cell_index: 0 }),
    );
    expect(said).toMatch(/no kernel named "cobol".*"python3"/);
  });
});

test("execute_code refuses a kernel that is not there, and names those that are", async () => {
  const live = await startLive(service);
  const client = await live.connect();
  const { structuredContent } = await client.run("execute_code", { code: "1" });
  const kernel_id = "00000000-0000-4000-8000-000000000000";
  const beforeTheList = (text: string): string => text.slice(0, text.indexOf(kernel_id) + kernel_id.length);
  const said = await refusal(client, "execute_code", { code: "1", kernel_id }, beforeTheList);
  expect(said).toMatch(new RegExp(`No kernel has the id ${kernel_id}.*${structuredContent?.kernel.id}`));
});

test("execute_code refuses a kernel that has ended", async () => {
  const live = await startLive(service);
  const client = await live.connect();
  const { id } = await live.rest.startKernel();
  expect(textOf(await client.run("execute_code", { code: "1 + 1", kernel_id: id }))).toBe("2");
  await live.rest.deleteKernel(id);
  const direct = await client.run("execute_code", { code: "1", kernel_id: id });
  expect(direct).toMatchObject({
    isError: true,
    content: [{ text: expect.stringMatching(/never ran.*no such kernel|No kernel has the id/) }],
  });
  const { taskId } = await client.start("execute_code", { code: "1", kernel_id: id });
  expect(await client.poll(taskId)).toMatchObject({
    status: "failed",
    statusMessage: expect.stringContaining(`No kernel has the id ${id}`),
  });
});

test("arguments of the wrong type never become a task", async () => {
  const live = await startLive(service);
  const client = await live.connect();
  const { error } = await client.call("execute_cell", { arguments: { cell_index: "three" }, task: {} });
  expect(error).toMatchObject({ code: -32602, message: expect.stringContaining("cell_index") });
  expect((await client.request("tasks/list", {})).result).toMatchObject({ tasks: [] });
});

test("execute_code refuses code with half a character in it, which no kernel can be sent", async () => {
  const live = await startLive(service);
  const client = await live.connect();
  const said = await refusal(client, "execute_code", { code: "x = 1\nx = '\ud83d'" });
  expect(said).toMatch(/Line 2 of the code has half a character, U\+D83D/);
});

describe("a Jupyter Server given by its URL", () => {
  test("that wants another token is a warning at the start, and every call says what would be right", async () => {
    const live = await startLive(service, {}, { token: "wrong" });
    expect(live.jupyter.warnings).toEqual([expect.stringMatching(/HTTP 403.*Check JUPYTER_TOKEN/)]);
    const client = await live.connect();
    const path = await live.notebook(["1"]);
    expect(await refusal(client, "execute_code", { code: "1" })).toMatch(/Check JUPYTER_TOKEN/);
    const cell = { notebook_path: path, cell_index: 0 };
    expect(await changingNothing(live, path, () => refusal(client, "execute_cell", cell))).toMatch(
      /Check JUPYTER_TOKEN/,
    );
  });

  test("that does not answer is a warning at the start, and every call says so", async () => {
    const live = await startLive(service, {}, { url: "http://127.0.0.1:9/" });
    expect(live.jupyter.warnings).toEqual([expect.stringContaining("http://127.0.0.1:9/")]);
    const client = await live.connect();
    expect(await refusal(client, "execute_code", { code: "1" })).toContain("http://127.0.0.1:9/");
  });

  test("that is there gives no warning", async () => {
    expect((await startLive(service)).jupyter.warnings).toEqual([]);
  });
});
