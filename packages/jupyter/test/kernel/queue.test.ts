import { FakeClock } from "@claimcheck/core/testing";
import { describe, expect, test } from "vitest";
import { KernelQueue, type RunState } from "../../src/kernel/index.js";
import { connectFake, type FakeJupyter, fakeJupyter, network } from "./fake-jupyter.js";

interface QueueBench {
  fake: FakeJupyter;
  queue: KernelQueue;
  clock: FakeClock;
  interrupts: number;
}

/** A queue on a kernel that answers nothing until it is told to. */
async function bench(): Promise<QueueBench> {
  const clock = new FakeClock();
  const fake = await fakeJupyter();
  const connection = await connectFake(fake, { clock });
  const it: QueueBench = {
    fake,
    clock,
    interrupts: 0,
    queue: new KernelQueue({
      connection,
      clock,
      interrupt: async () => {
        it.interrupts++;
      },
      logger: { debug() {}, info() {}, warn() {}, error() {} },
    }),
  };
  return it;
}

/** The code of the requests that have reached the kernel, in order. */
function atKernel({ fake }: QueueBench): unknown[] {
  return fake.received.filter(({ header }) => header.msg_type === "execute_request").map(({ content }) => content.code);
}

/** Waits for the `index`-th request, and plays its beginning and, with a reply, its end. */
async function play(it: QueueBench, index: number, reply?: Record<string, unknown>): Promise<void> {
  const request = await it.fake.until(
    () => it.fake.received.filter(({ header }) => header.msg_type === "execute_request")[index],
  );
  it.fake.status("busy", request);
  it.fake.say("iopub", "execute_input", { code: request.content.code, execution_count: index }, request);
  if (reply === undefined) return;
  it.fake.say("shell", "execute_reply", reply, request);
  it.fake.status("idle", request);
}

const OK = { status: "ok" };

describe("a queue", () => {
  test("has one run at the kernel, and sends the next when that has ended", async () => {
    const it = await bench();
    const runs = ["a", "b", "c"].map((code) => it.queue.submit({ code }));
    expect(runs.map(({ state }) => state)).toEqual([0, 1, 2].map((position) => ({ name: "queued", position })));
    for (const [index, run] of runs.entries()) {
      await play(it, index, OK);
      expect((await run.ended).state).toBe("completed");
      expect(atKernel(it)).toEqual(["a", "b", "c"].slice(0, index + 1));
    }
    expect(it.queue.length).toBe(0);
  });

  test("tells each state that a run comes to", async () => {
    const it = await bench();
    const states: string[] = [];
    const run = it.queue.submit({ code: "a" }, { onState: (state: RunState) => void states.push(state.name) });
    await play(it, 0, OK);
    await run.ended;
    expect(states).toEqual(["running", "done"]);
  });

  test("serves on when a listener throws", async () => {
    const it = await bench();
    const run = it.queue.submit(
      { code: "a" },
      {
        onState: () => {
          throw new Error("listener");
        },
      },
    );
    const next = it.queue.submit({ code: "b" });
    await play(it, 0, OK);
    await play(it, 1, OK);
    expect([(await run.ended).state, (await next.ended).state]).toEqual(["completed", "completed"]);
  });

  test("refuses what JSON cannot carry, and goes on", async () => {
    const it = await bench();
    expect(() => it.queue.submit({ code: "a", metadata: { big: 1n } })).toThrow(TypeError);
    expect(it.queue.length).toBe(0);
  });

  test("of a closed connection ends every run, and none hangs", async () => {
    const it = await bench();
    const runs = ["a", "b"].map((code) => it.queue.submit({ code }));
    await play(it, 0);
    it.fake.refuseWith = 403;
    for (const socket of it.fake.sockets) socket.terminate();
    await network();
    await it.clock.advance(1_000);
    expect((await runs[0]?.ended)?.state).toBe("connection_lost");
    expect(await runs[1]?.ended).toMatchObject({ state: "aborted", cause: "connection_lost" });
  });

  test("serves what is behind a run that failed", async () => {
    const it = await bench();
    const [failing, next] = [it.queue.submit({ code: "a" }), it.queue.submit({ code: "b" })];
    await play(it, 0, { status: "error", ename: "ValueError", evalue: "", traceback: [] });
    expect((await failing.ended).state).toBe("errored");
    await play(it, 1, OK);
    expect((await next.ended).state).toBe("completed");
    expect(atKernel(it)).toEqual(["a", "b"]);
  });

  test("ends all that waits when the kernel's process is gone, and serves what is asked for after", async () => {
    const it = await bench();
    const [dying, waiting] = [it.queue.submit({ code: "a" }), it.queue.submit({ code: "b" })];
    await play(it, 0);
    it.fake.status("restarting", undefined, "server");
    expect((await dying.ended).state).toBe("kernel_died");
    expect(await waiting.ended).toMatchObject({ state: "aborted", cause: "kernel_died" });
    const next = it.queue.submit({ code: "c" });
    it.fake.session = "kernel-2";
    it.fake.status("starting");
    await play(it, 1, OK);
    expect((await next.ended).state).toBe("completed");
    expect(atKernel(it)).toEqual(["a", "c"]);
  });

  test("gives up on a run that the kernel keeps dropping", async () => {
    const it = await bench();
    const run = it.queue.submit({ code: "a" });
    it.fake.onMessage = (message) => {
      if (message.header.msg_type !== "execute_request") return it.fake.answerInfo(message);
      it.fake.status("busy", message);
      it.fake.say("shell", "execute_reply", { status: "aborted" }, message);
      it.fake.status("idle", message);
    };
    for (const message of it.fake.received) it.fake.onMessage(message, it.fake.sockets[0] as never);
    expect(await run.ended).toMatchObject({ state: "aborted", cause: "earlier_failure" });
    expect(atKernel(it)).toEqual(["a", "a", "a", "a"]);
  });
});

describe("cancelling", () => {
  test("a run that waits removes it and nothing else", async () => {
    const it = await bench();
    const [first, second, third] = ["a", "b", "c"].map((code) => it.queue.submit({ code }));
    expect(await second?.cancel()).toEqual({ outcome: "removed" });
    expect(await second?.ended).toMatchObject({ state: "aborted", cause: "cancelled" });
    expect(third?.state).toEqual({ name: "queued", position: 1 });
    await play(it, 0, OK);
    await play(it, 1, OK);
    expect([(await first?.ended)?.state, (await third?.ended)?.state]).toEqual(["completed", "completed"]);
    expect(atKernel(it)).toEqual(["a", "c"]);
    expect(it.interrupts).toBe(0);
  });

  test("a run twice interrupts it once, and both are told the same", async () => {
    const it = await bench();
    const run = it.queue.submit({ code: "a" });
    await play(it, 0);
    await expect.poll(() => run.state.name).toBe("running");
    const reports = [run.cancel(), run.cancel()];
    expect(run.state.name).toBe("interrupting");
    await play(it, 0, { status: "error", ename: "KeyboardInterrupt", evalue: "", traceback: [] });
    const [one, two] = await Promise.all(reports);
    expect(one).toEqual(two);
    expect(one).toMatchObject({ outcome: "stopped", interruptsSent: 1 });
    expect(it.interrupts).toBe(1);
  });

  test("a run that is over sends nothing", async () => {
    const it = await bench();
    const run = it.queue.submit({ code: "a" });
    await play(it, 0, OK);
    await run.ended;
    expect(await run.cancel()).toMatchObject({ outcome: "not_running" });
    expect(it.interrupts).toBe(0);
  });

  test("a run behind a foreign cell sends nothing until the kernel begins with it, and then at once", async () => {
    const it = await bench();
    const run = it.queue.submit({ code: "a" });
    await it.fake.next("execute_request");
    const cancelling = run.cancel();
    await it.clock.advance(5_000);
    expect(await cancelling).toEqual({ outcome: "waiting" });
    expect(it.interrupts).toBe(0);
    await play(it, 0);
    await expect.poll(() => it.interrupts).toBe(1);
    await play(it, 0, { status: "error", ename: "KeyboardInterrupt", evalue: "", traceback: [] });
    expect((await run.ended).state).toBe("interrupted");
  });

  test("a run behind a foreign cell is not sent again when that one's failure makes the kernel drop it", async () => {
    const it = await bench();
    const run = it.queue.submit({ code: "a" });
    const request = await it.fake.next("execute_request");
    void run.cancel();
    it.fake.status("busy", request);
    it.fake.say("shell", "execute_reply", { status: "aborted" }, request);
    it.fake.status("idle", request);
    expect(await run.ended).toMatchObject({ state: "aborted", cause: "cancelled" });
    expect(atKernel(it)).toEqual(["a"]);
  });

  test("a run that was not sent yet, because the socket is gone, takes it back", async () => {
    const it = await bench();
    for (const socket of it.fake.sockets) socket.terminate();
    await network();
    const run = it.queue.submit({ code: "a" });
    expect(await run.cancel()).toEqual({ outcome: "removed" });
    expect(await run.ended).toMatchObject({ state: "aborted", cause: "cancelled" });
  });

  test("one that an interrupt cannot reach may be repeated", async () => {
    const it = await bench();
    const run = it.queue.submit({ code: "a" });
    await play(it, 0);
    await expect.poll(() => run.state.name).toBe("running");
    const first = run.cancel();
    await it.clock.advance(5_000);
    expect(await first).toMatchObject({ outcome: "interrupt_ignored", interruptsSent: 2 });
    const second = run.cancel();
    await play(it, 0, OK);
    expect(await second).toMatchObject({ outcome: "stopped", interruptsSent: 1 });
    expect((await run.ended).state).toBe("completed");
  });
});
