/** What a real kernel keeps of our runs for a process that comes later. */
import { expect, inject, test } from "vitest";
import { type KernelMessage, Recorder } from "../../src/kernel/index.js";
import { begin, connect, contents, run, startKernel, streamText } from "./live-kernel.js";

const service = inject("jupyter");

const kinds = (messages: readonly KernelMessage[]): string[] => messages.map(({ header }) => header.msg_type);

test("a later connection reads a whole run, as it was published and in that order", async () => {
  const { rest, kernelId, connection } = await startKernel(service);
  expect(await new Recorder(connection).begin()).toEqual({ process: expect.any(String), isRecording: true });
  const code = "import sys\nprint('out')\nprint('err', file=sys.stderr)\ndisplay('shown')\n6 * 7";
  const { execution, messages } = await run(connection, code);
  const later = await connect(rest, kernelId);
  const { log } = await new Recorder(later).read(execution.msgId);
  expect(log).toMatchObject({ isKnown: true, dropped: 0 });
  const ids = (all: readonly KernelMessage[]) => all.map(({ header }) => header.msg_id);
  expect(ids(log?.messages ?? [])).toEqual(ids(messages));
  expect(log?.messages.map(({ content }) => content)).toEqual(messages.map(({ content }) => content));
});

test("a run is read while it goes on, and by pages where it is long", async () => {
  const { rest, kernelId, connection } = await startKernel(service);
  await new Recorder(connection).begin();
  const code = "for n in range(9): print(str(n) * 1_000_000, flush=True)\nimport time; time.sleep(60)";
  const execution = await begin(connection, code);
  const later = new Recorder(await connect(rest, kernelId));
  const textSoFar = async () => streamText((await later.read(execution.msgId)).log?.messages ?? [], "stdout");
  await expect.poll(async () => (await textSoFar()).length).toBe(9_000_009);
  await rest.interruptKernel(kernelId);
  await execution.ended;
  expect(kinds((await later.read(execution.msgId)).log?.messages ?? []).slice(-2)).toEqual(["error", "status"]);
});

test("it leaves the user's names, history and prompt numbers alone, and records nobody else's runs", async () => {
  const { rest, kernelId, connection } = await startKernel(service);
  const recorder = new Recorder(connection);
  const stranger = await connect(rest, kernelId, { username: "somebody" });
  await recorder.begin();
  await expect.poll(async () => (await recorder.read("none")).log).toBeDefined();
  const names =
    "print([name for name in dir() if 'claimcheck' in name], len(get_ipython().history_manager.input_hist_raw))";
  const { stdout, end, execution } = await run(stranger, names);
  expect([stdout, end.executionCount]).toEqual(["[] 2\n", 1]);
  expect((await recorder.read(execution.msgId)).log).toEqual({ isKnown: false, messages: [], dropped: 0 });
});

test("what it keeps is bounded: the oldest of a run that prints without end makes room, and that is said", async () => {
  const { connection } = await startKernel(service);
  const recorder = new Recorder(connection);
  await recorder.begin();
  const { execution } = await run(connection, "for n in range(50): print('x' * 1_000_000, flush=True)\nprint('end')");
  const { log } = await recorder.read(execution.msgId);
  expect(log?.dropped).toBeGreaterThan(0);
  // That it has begun, and when, is never dropped: without it a run that ran would look like one that did not.
  expect(kinds(log?.messages ?? []).slice(0, 3)).toEqual(["status", "execute_input", "stream"]);
  expect(kinds(log?.messages ?? []).filter((kind) => kind === "execute_input")).toHaveLength(1);
  const kept = JSON.stringify(log?.messages);
  expect(kept.length).toBeLessThan(40_000_000);
  expect(kept).toContain("end");
  expect(contents(log?.messages ?? [], "status")).toContainEqual({ execution_state: "idle" });
}, 120_000);

test("a process that was restarted has kept nothing, is told apart, and records again when asked", async () => {
  const { connection } = await startKernel(service);
  const recorder = new Recorder(connection);
  const first = await recorder.begin();
  const { execution } = await run(connection, "1");
  await connection.restart();
  const { process, log } = await recorder.read(execution.msgId);
  expect(log).toBeUndefined();
  expect(process).not.toBe(first.process);
  expect(await recorder.begin()).toEqual({ process, isRecording: true });
  const again = await run(connection, "2");
  expect((await recorder.read(again.execution.msgId)).log).toMatchObject({ isKnown: true });
});
