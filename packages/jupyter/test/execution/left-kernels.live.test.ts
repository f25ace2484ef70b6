/** The kernels for code that processes leave on a Jupyter Server when they are killed. */
import { systemClock } from "@claimcheck/core";
import { afterAll, expect, inject, onTestFinished, test } from "vitest";
import { startExtraJupyter } from "../../../../test/services/jupyter.js";
import { type AssignedKernel, Kernels, type KernelsOptions, startRun } from "../../src/execution/index.js";
import { restOf } from "../kernel/live-kernel.js";

// A server of its own: what is left here, and ended here, is no other test's.
const extra = await startExtraJupyter(inject("jupyter").python);
afterAll(() => extra.stop());
const rest = restOf(extra.service);
const DAY_MS = 86_400_000;

function kernelsOf(options: Partial<KernelsOptions> = {}): Kernels {
  const kernels = new Kernels({ rest, ...options });
  onTestFinished(() => kernels.close());
  return kernels;
}

/** The kernel of a process that is gone as one that was killed is, with `x = 5` in it. */
async function leave(options: Partial<KernelsOptions>, owner?: string): Promise<string> {
  const kernels = new Kernels({ rest, ...options });
  const { kernel } = await kernels.forSnippets(owner);
  onTestFinished(() => rest.deleteKernel(kernel.id).catch(() => {}));
  await evaluate({ kernel }, "x = 5");
  await kernels.close(new Set([kernel.id]));
  await expect
    .poll(async () => await rest.getKernel(kernel.id), { timeout: 10_000 })
    .toMatchObject({ connections: 0, executionState: "idle" });
  return kernel.id;
}

async function evaluate({ kernel }: Pick<AssignedKernel, "kernel">, code: string): Promise<unknown> {
  const { outputs } = await startRun({ kernel, code }).ended;
  const [first] = outputs;
  return first?.output_type === "execute_result" ? first.data["text/plain"] : first?.output_type;
}

const later = (ms: number) => ({ ...boundClock, now: () => Date.now() + ms });
const boundClock = {
  setTimer: systemClock.setTimer.bind(systemClock),
  clearTimer: systemClock.clearTimer.bind(systemClock),
};
const isThere = async (kernelId: string) => (await rest.listKernels()).some(({ id }) => id === kernelId);

test("are taken up by the next process of their deployment, with their variables, for the same owner", async () => {
  const kernelId = await leave({ deployment: "a" }, "ann");
  const next = kernelsOf({ deployment: "a" });
  const other = await next.forSnippets("bob");
  expect(other.origin).toBe("started");
  const found = await next.forSnippets("ann");
  expect(found).toMatchObject({ origin: "adopted", kernel: { id: kernelId } });
  expect(await evaluate(found, "x")).toBe("5");
  await next.close();
  expect(await isThere(kernelId)).toBe(false);
});

test.each([
  ["another deployment", { deployment: "b" }, { deployment: "c" }],
  ["a deployment where theirs has no name", {}, { deployment: "d" }],
  ["no deployment where theirs has none either", {}, {}],
])("are not taken up by %s, and stay", async (_name, theirs, ours) => {
  const kernelId = await leave(theirs);
  const next = kernelsOf(ours);
  const started = await next.forSnippets();
  expect(started.origin).toBe("started");
  expect(await evaluate(started, "x")).toBe("error");
  await next.close();
  expect(await isThere(kernelId)).toBe(true);
});

test("that nobody has come back for in a week are ended, whoever's they were; those that are in use are not", async () => {
  const forsaken = await leave({ deployment: "e" });
  const used = await kernelsOf({ deployment: "f" }).forSnippets();
  const person = await rest.startKernel();
  onTestFinished(() => rest.deleteKernel(person.id));
  await kernelsOf({ clock: later(6 * DAY_MS) }).forSnippets();
  expect(await isThere(forsaken)).toBe(true);
  await kernelsOf({ clock: later(8 * DAY_MS) }).forSnippets();
  await expect.poll(() => isThere(forsaken), { timeout: 10_000 }).toBe(false);
  expect(await isThere(used.kernel.id)).toBe(true);
  expect(await isThere(person.id)).toBe(true);
});

test("that a task's run is collected from end with whoever has collected it, unless another is connected to them", async () => {
  const collected = await leave({ deployment: "g" });
  const used = await kernelsOf({ deployment: "h" }).forSnippets();
  const next = kernelsOf();
  await next.left(collected);
  await next.left(used.kernel.id);
  await next.close();
  expect(await isThere(collected)).toBe(false);
  expect(await isThere(used.kernel.id)).toBe(true);
});
