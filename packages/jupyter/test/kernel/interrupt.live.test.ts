import { randomInt } from "node:crypto";
import { access, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, inject, test } from "vitest";
import { eventually } from "../../../../test/fixtures/eventually.js";
import { runs } from "../../../../test/fixtures/processes.js";
import {
  type Execution,
  type InterruptLadder,
  type InterruptReport,
  interruptExecution,
  type KernelConnection,
  KernelQueue,
} from "../../src/kernel/index.js";
import { begin, beginPrinting, connect, failWhenTold, type LiveKernel, run, startKernel } from "./live-kernel.js";

const jupyter = inject("jupyter");

function interrupt(kernel: LiveKernel, execution: Execution, ladder: InterruptLadder = {}): Promise<InterruptReport> {
  return interruptExecution({
    execution,
    interrupt: () => kernel.rest.interruptKernel(kernel.kernelId),
    nudge: () => kernel.connection.nudge(),
    ladder,
  });
}

function queueOf(kernel: LiveKernel, connection: KernelConnection = kernel.connection): KernelQueue {
  return new KernelQueue({ connection, interrupt: () => kernel.rest.interruptKernel(kernel.kernelId) });
}

// The second rung is far: one interrupt has to do.
describe("an interrupt stops, and sees the kernel idle after,", () => {
  test.each([
    ["a sleep", "import time; time.sleep(60)"],
    ["a busy loop", "while True: pass"],
    ["a child process", "import subprocess; subprocess.run(['sleep', '61.5'])"],
    // The signal alone does not wake ipykernel's event loop: the nudge does.
    ["a top-level await", "import asyncio; await asyncio.sleep(60)"],
  ])("%s", async (_what, code) => {
    const kernel = await startKernel(jupyter);
    const execution = await begin(kernel.connection, code);
    const report = await interrupt(kernel, execution, { againMs: 20_000, giveUpMs: 30_000 });

    expect(report).toMatchObject({ outcome: "stopped", idleSeen: true, interruptsSent: 1 });
    expect(await execution.ended).toMatchObject({ state: "interrupted", interruptSent: true });
    expect((await run(kernel.connection, "1 + 1")).end.state).toBe("completed");
  });

  test("a shell command, whose process is gone too", async () => {
    const kernel = await startKernel(jupyter);
    const seconds = `61.${randomInt(1e6, 1e7)}`;
    const execution = await begin(kernel.connection, `!sleep ${seconds}`);
    await eventually(() => runs(`sleep ${seconds}`));
    expect(await interrupt(kernel, execution)).toMatchObject({ outcome: "stopped", idleSeen: true });
    await execution.ended;
    expect(await runs(`sleep ${seconds}`)).toBe(false);
  });
});

test("a cell that ignores interrupts is reported as ignoring them, still running, after two", async () => {
  const kernel = await startKernel(jupyter);
  const code =
    "import signal, time\nold = signal.signal(signal.SIGINT, signal.SIG_IGN)\n" +
    "print(1, flush=True); time.sleep(7); signal.signal(signal.SIGINT, old)";
  const execution = await beginPrinting(kernel.connection, code);
  const report = await interrupt(kernel, execution);
  expect(report).toMatchObject({ outcome: "interrupt_ignored", idleSeen: false, interruptsSent: 2 });
  expect(report.elapsedMs).toBeGreaterThanOrEqual(4_900);
  expect(execution.isRunning).toBe(true);
  // It ran to its own end, so its result counts.
  expect(await execution.ended).toMatchObject({ state: "completed", interruptSent: true });
});

test("a cell that catches the interrupt and finishes is completed", async () => {
  const kernel = await startKernel(jupyter);
  const execution = await beginPrinting(
    kernel.connection,
    "import time\ntry: print(1, flush=True); time.sleep(60)\nexcept KeyboardInterrupt: pass",
  );
  expect(await interrupt(kernel, execution)).toMatchObject({ outcome: "stopped" });
  expect(await execution.ended).toMatchObject({ state: "completed", interruptSent: true });
});

test("an interrupt of a kernel that dies of it says stopped without having seen idle", async () => {
  const kernel = await startKernel(jupyter);
  const code = "import os, time\ntry: print(1, flush=True); time.sleep(60)\nexcept KeyboardInterrupt: os._exit(1)";
  const execution = await beginPrinting(kernel.connection, code);
  expect(await interrupt(kernel, execution)).toMatchObject({ outcome: "stopped", idleSeen: false });
  expect((await execution.ended).state).toBe("kernel_died");
});

describe("cancelling in a queue", () => {
  test("takes out a run that waits, at once and without running it; its neighbours complete", async () => {
    const kernel = await startKernel(jupyter);
    const queue = queueOf(kernel);
    const [go, ran] = ["go", "ran"].map((name) => join(jupyter.rootDir, `${name}-${kernel.kernelId}`)) as [
      string,
      string,
    ];
    const first = queue.submit({
      code: `import os, time\nwhile not os.path.exists(${JSON.stringify(go)}): time.sleep(0.02)`,
    });
    const second = queue.submit({ code: `open(${JSON.stringify(ran)}, "w").close()` });
    const third = queue.submit({ code: "'third'" });
    expect(second.state).toEqual({ name: "queued", position: 1 });
    expect(await second.cancel()).toEqual({ outcome: "removed" });
    expect(await second.ended).toMatchObject({ state: "aborted", cause: "cancelled", startedAt: null });
    await writeFile(go, "");
    expect((await first.ended).state).toBe("completed");
    expect((await third.ended).state).toBe("completed");
    await expect(access(ran)).rejects.toThrow();
  });

  test("never hits the next run: thirty cells cancelled just as they complete", async () => {
    const kernel = await startKernel(jupyter);
    const queue = queueOf(kernel);
    await queue.submit({ code: "import time" }).ended;
    const ends: string[] = [];
    // Follows how long one takes, which changes with what else the machine does.
    let delayMs = 40;
    for (let i = 0; i < 30; i++) {
      const hit = queue.submit({ code: "time.sleep(0.03)" });
      const next = queue.submit({ code: "x = sum(range(200_000))" });
      await new Promise((resolve) => setTimeout(resolve, delayMs));
      const report = await hit.cancel();
      const end = await hit.ended;
      ends.push(end.state);
      delayMs *= end.state === "completed" ? 0.8 : 1.25;
      if (report.outcome === "removed") expect(end.state).toBe("aborted");
      if (end.state === "completed" || end.state === "interrupted")
        expect(report.outcome).not.toBe("interrupt_ignored");
      expect(await next.ended).toMatchObject({ state: "completed", interruptSent: false });
    }
    expect(new Set(ends).size).toBeGreaterThan(1);
  });

  test("does not touch the cell of another client; ours is interrupted as soon as it begins", async () => {
    const kernel = await startKernel(jupyter);
    const other = await connect(kernel.rest, kernel.kernelId);
    const theirs = await begin(other, "import time; time.sleep(2); 'theirs'");
    const run = queueOf(kernel).submit({ code: "import time; time.sleep(60)" });
    expect(run.state).toEqual({ name: "queued", position: 0 });
    const report = await run.cancel();
    expect((await theirs.ended).state).toBe("completed");
    expect(report).toMatchObject({ outcome: "stopped", idleSeen: true });
    expect((await run.ended).state).toBe("interrupted");
  });

  test("leaves the kernel ready for the next run at once", async () => {
    const kernel = await startKernel(jupyter);
    const queue = queueOf(kernel);
    const first = queue.submit({ code: "import time; time.sleep(60)" });
    await eventually(() => first.state.name === "running");
    const next = queue.submit({ code: "1 + 1" });
    const before = performance.now();
    await first.cancel();
    expect((await next.ended).state).toBe("completed");
    expect(performance.now() - before).toBeLessThan(15_000);
  });
});

describe("a queue", () => {
  test("runs in order, one at the kernel, and goes on after a failure", async () => {
    const kernel = await startKernel(jupyter);
    const queue = queueOf(kernel);
    const codes = ["order = [1]", "order.append(2); 1/0", "order.append(3)"];
    const runs = codes.map((code) => queue.submit({ code }));
    expect(queue.length).toBe(3);
    const ends = await Promise.all(runs.map(({ ended }) => ended));
    expect(ends.map(({ state }) => state)).toEqual(["completed", "errored", "completed"]);
    expect((await run(kernel.connection, "print(order)")).stdout).toBe("[1, 2, 3]\n");
    expect(queue.length).toBe(0);
  });

  test("ends what waits when the kernel dies, and serves again after", async () => {
    const kernel = await startKernel(jupyter);
    const queue = queueOf(kernel);
    const dying = queue.submit({ code: "import os; os._exit(1)" });
    const waiting = queue.submit({ code: "1" });
    expect((await dying.ended).state).toBe("kernel_died");
    expect(await waiting.ended).toMatchObject({ state: "aborted", cause: "kernel_died" });
    expect((await queue.submit({ code: "1" }).ended).state).toBe("completed");
  });

  test("sends a run again that another client's failing cell made the kernel drop", async () => {
    const kernel = await startKernel(jupyter);
    const other = await connect(kernel.rest, kernel.kernelId);
    const failing = await failWhenTold(jupyter, other);
    const mine = queueOf(kernel).submit({ code: "1" });
    await failing.tell();
    await failing.ended;
    expect((await mine.ended).state).toBe("completed");
  });
});
