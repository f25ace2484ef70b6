import { describe, expect, inject, onTestFinished, test } from "vitest";
import { startExtraJupyter } from "../../../../test/services/jupyter.js";
import type { KernelMessage } from "../../src/kernel/index.js";
import { begin, beginPrinting, connect, run, startKernel, streamText } from "./live-kernel.js";

const jupyter = inject("jupyter");
/** Deaf to the interrupt by which the server begins to end a kernel: else the cell may say its last word first. */
const LONG =
  "import signal, time; signal.signal(signal.SIGINT, signal.SIG_IGN); print('deaf', flush=True); time.sleep(60)";

/** What is told at once is not what the heartbeat finds. */
const BY_NO_HEARTBEAT = { heartbeatMs: 15_000 };
const AT_ONCE_MS = 10_000;

/** Milliseconds until a promise settles. */
async function took(promise: Promise<unknown>): Promise<number> {
  const before = performance.now();
  await promise;
  return performance.now() - before;
}

describe("a kernel process that ends during a run", () => {
  test.each([
    ["os._exit", "import os; print('x', flush=True); time.sleep(1); os._exit(1)"],
    [
      "a SIGKILL, as out of memory",
      "import os, signal; print('x', flush=True); time.sleep(1); os.kill(os.getpid(), signal.SIGKILL)",
    ],
  ])("by %s fails the run in seconds, keeps its output, and the next run has a new process", async (_how, code) => {
    const { connection } = await startKernel(jupyter);
    await run(connection, "import time; state = 1");
    const messages: KernelMessage[] = [];
    const execution = await begin(connection, code, messages);
    expect(await took(execution.ended)).toBeLessThan(20_000);
    expect(execution.end).toMatchObject({ state: "kernel_died", reason: expect.stringContaining("process ended") });
    expect(streamText(messages, "stdout")).toBe("x\n");
    const { end, stdout } = await run(connection, "print('state' in globals())");
    expect(end).toMatchObject({ state: "completed", executionCount: 1 });
    expect(stdout).toBe("False\n");
  });
});

describe("a restart during a run", () => {
  test("of ours ends it kernel_restarted, and a run asked for meanwhile gets the new process", async () => {
    const { connection } = await startKernel(jupyter);
    await run(connection, "state = 1");
    const execution = await beginPrinting(connection, LONG);
    const restarted = connection.restart();
    const next = run(connection, "print('state' in globals())");
    await restarted;
    expect((await execution.ended).state).toBe("kernel_restarted");
    expect(await next).toMatchObject({ end: { state: "completed", executionCount: 1 }, stdout: "False\n" });
  });

  test("of somebody else ends it kernel_restarted at once, and the next run gets the new process, or is told that it was lost with the old one", async () => {
    const { connection, rest, kernelId } = await startKernel(jupyter, BY_NO_HEARTBEAT);
    const execution = await beginPrinting(connection, LONG);
    await rest.restartKernel(kernelId);
    expect(await took(execution.ended)).toBeLessThan(AT_ONCE_MS);
    expect(execution.end?.state).toBe("kernel_restarted");
    // The server may hand what is sent in that moment to the process that is gone.
    const next = await run(connection, "1");
    const { end } = next.end.state === "kernel_restarted" ? await run(connection, "1") : next;
    expect(end).toMatchObject({ state: "completed", executionCount: 1 });
  });

  test("while nothing runs loses nothing: five restarts, and a run after each completes", async () => {
    const { connection, rest, kernelId } = await startKernel(jupyter);
    for (const restart of [() => connection.restart(), () => rest.restartKernel(kernelId)]) {
      for (let i = 0; i < 5; i++) {
        await restart();
        expect((await run(connection, "1")).end).toMatchObject({ state: "completed", executionCount: 1 });
      }
    }
  });

  test("that the server refuses leaves the connection usable", async () => {
    const { connection, rest, kernelId } = await startKernel(jupyter);
    const gone = await startKernel(jupyter);
    await rest.deleteKernel(gone.kernelId);
    await expect(gone.connection.restart()).rejects.toMatchObject({ code: "not_found" });
    expect((await run(connection, "1")).end.state).toBe("completed");
    expect(kernelId).not.toBe(gone.kernelId);
  });
});

describe("a kernel that somebody removes", () => {
  test("ends the run kernel_died at once, and every later request", async () => {
    const { connection, rest, kernelId } = await startKernel(jupyter);
    const execution = await beginPrinting(connection, LONG);
    // It ignores the signal by which it is to end first.
    const deleted = rest.deleteKernel(kernelId).then(() => "deleted");
    expect(await Promise.race([execution.ended.then(() => "told"), deleted])).toBe("told");
    await deleted;
    expect(execution.end).toMatchObject({ state: "kernel_died", reason: expect.stringContaining("shut down") });
    const later = await run(connection, "1");
    expect(later.end).toMatchObject({ state: "aborted", cause: "kernel_died" });
    expect(connection.state).toBe("closed");
  });

  test("while it is deaf is noticed all the same", async () => {
    const { connection, rest, kernelId } = await startKernel(jupyter, { heartbeatMs: 500 });
    const pid = Number((await run(connection, "import os; print(os.getpid())")).stdout);
    const execution = await beginPrinting(connection, LONG);
    // Stopped, it can neither answer nor announce anything.
    process.kill(pid, "SIGSTOP");
    const deleted = rest.deleteKernel(kernelId);
    expect(await execution.ended).toMatchObject({ state: "kernel_died" });
    await deleted;
  });
});

describe("a server that is killed", () => {
  test("ends the run connection_lost once reconnecting has failed, with the reason", async () => {
    const extra = await startExtraJupyter(jupyter.python);
    onTestFinished(() => extra.stop());
    const { connection } = await startKernel(extra.service, { reconnect: { tries: 4, firstDelayMs: 50 } });
    const events: string[] = [];
    connection.subscribe(({ type }) => type !== "message" && void events.push(type));
    const execution = await beginPrinting(connection, LONG);
    extra.process.kill("SIGKILL");
    expect(await took(execution.ended)).toBeLessThan(20_000);
    expect(execution.end).toMatchObject({
      state: "connection_lost",
      startedAt: expect.any(Number),
      reason: expect.stringMatching(/No Jupyter Server can be reached at http.*ECONNREFUSED/),
    });
    expect(execution.end).not.toMatchObject({ reason: expect.stringContaining(extra.service.token) });
    expect(events).toEqual(["reconnecting", "closed"]);
    expect((await run(connection, "1")).end).toMatchObject({ state: "aborted", cause: "connection_lost" });
  });
});

test("closing the connection ends the run connection_lost, and the kernel goes on with it", async () => {
  const { connection, rest, kernelId } = await startKernel(jupyter);
  const execution = await begin(connection, "import time; time.sleep(1); finished = True");
  await connection.close();
  expect(await execution.ended).toMatchObject({
    state: "connection_lost",
    reason: expect.stringContaining("closed here"),
  });
  const other = await connect(rest, kernelId);
  expect((await run(other, "print(finished)")).stdout).toBe("True\n");
});

test("a request with one reply rejects when its kernel is gone", async () => {
  const { connection, rest, kernelId } = await startKernel(jupyter);
  await beginPrinting(connection, LONG);
  const waiting = connection.request({ channel: "shell", type: "kernel_info_request" });
  const rejected = expect(waiting).rejects.toMatchObject({ message: expect.stringContaining("kernel_died") });
  await rest.deleteKernel(kernelId);
  await rejected;
});

test("an interrupt that swallows the reply of a cell leaves no run hanging", async () => {
  const { connection, rest, kernelId } = await startKernel(jupyter);
  // Stands for the moment between the end of the code and its reply: the handler fails after it has run the code.
  await run(
    connection,
    "k = get_ipython().kernel; send = k.session.send\n" +
      "def broken(stream, kind, *a, **kw):\n" +
      "  if kind == 'execute_reply' and globals().get('swallow'):\n    globals()['swallow'] = False\n    raise KeyboardInterrupt\n" +
      "  return send(stream, kind, *a, **kw)\n" +
      "k.session.send = broken",
  );
  const execution = await begin(connection, "swallow = True");
  execution.noteInterrupt();
  await execution.idle;
  connection.nudge();
  expect(await execution.ended).toMatchObject({ state: "interrupted", incomplete: { unconfirmed: true } });
  expect((await run(connection, "1")).end.state).toBe("completed");
  await rest.getKernel(kernelId);
});
