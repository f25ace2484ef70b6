/** Seed 000: "Cancelling stops the work", "A cancelled task keeps what it produced"; on real kernels, by every way to run code. */
import { access } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, inject, test } from "vitest";
import { eventually } from "../../../mcp/test/wire/raw-client.js";
import { callOf, startLive, type ToolResult, textFromKernel, textOf, WAYS } from "./live-server.js";

const service = inject("jupyter");

/** Prints at once, and leaves a file if it is let go on. */
function prints(dir: string): string {
  return `print("begun", flush=True)\nimport time\ntime.sleep(8)\nopen(${JSON.stringify(join(dir, "went-on"))}, "w").close()`;
}

async function exists(dir: string, name: string): Promise<boolean> {
  return await access(join(dir, name)).then(
    () => true,
    () => false,
  );
}

describe.each(WAYS)("cancelling a task of %s", (way) => {
  test("stops the cell, keeps what it printed, and leaves the kernel free", async () => {
    const live = await startLive(service);
    const client = await live.connect();
    const { name, args, path } = await callOf(live, way, prints(live.dir));
    const { taskId } = await client.start(name, args);
    await client.poll(taskId, ({ statusMessage }) => statusMessage?.includes("begun") === true);

    const cancelledAt = performance.now();
    expect(await client.cancel(taskId)).toMatchObject({ taskId, status: "cancelled" });
    expect(performance.now() - cancelledAt).toBeLessThan(4_000);

    const { result } = await client.result(taskId);
    expect(textOf(result as unknown as ToolResult)).toMatch(/^begun\n/);
    expect(await textFromKernel(client, live, path, "'free'")).toBe("'free'");
    expect(await exists(live.dir, "went-on")).toBe(false);
  });

  test("that has produced nothing leaves no result", async () => {
    const live = await startLive(service);
    const client = await live.connect();
    const { name, args, path } = await callOf(
      live,
      way,
      `open(${JSON.stringify(join(live.dir, "begun"))}, "w").close()\nimport time\ntime.sleep(30)`,
    );
    const { taskId } = await client.start(name, args);
    await eventually(() => exists(live.dir, "begun"), 15_000);
    expect(await client.cancel(taskId)).toMatchObject({ status: "cancelled" });
    expect(await client.result(taskId)).toMatchObject({
      error: { code: -32603, message: expect.stringContaining("produced nothing") },
    });
    expect(await textFromKernel(client, live, path, "1 + 1")).toBe("2");
  });
});
