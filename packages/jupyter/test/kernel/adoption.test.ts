/** Requests that an earlier process has sent, taken up by a connection that has not. */
import { FakeClock } from "@claimcheck/core/testing";
import { describe, expect, test } from "vitest";
import { createMessage, type KernelLog, type KernelMessage, KernelQueue } from "../../src/kernel/index.js";
import { connectFake, type FakeJupyter, fakeJupyter, network } from "./fake-jupyter.js";

const SENT = { code: "x", msgId: "sent-before" };
/** What was published of it is told with the clock of the kernel. */
const KERNEL_AT = Date.parse("2025-12-31T23:59:00Z");

function published(type: string, content: object, atMs = KERNEL_AT): KernelMessage {
  const message = createMessage({ sessionId: "kernel-1", username: "k" }, { channel: "iopub", type });
  message.header.date = new Date(atMs).toISOString();
  return { ...message, parent_header: { msg_id: SENT.msgId }, content: { ...content } };
}

const BEGUN = [
  published("status", { execution_state: "busy" }),
  published("execute_input", { code: "x", execution_count: 7 }),
  published("stream", { name: "stdout", text: "before" }),
];
const IDLE = published("status", { execution_state: "idle" });

const logOf = (messages: KernelMessage[], dropped = 0): KernelLog => ({
  isKnown: messages.length > 0,
  messages,
  dropped,
});

/** As the earlier process would have sent it. */
const request = createMessage(
  { sessionId: "session-before", username: "claimcheck" },
  { channel: "shell", type: "execute_request", msgId: SENT.msgId },
);

function isIdle({ parent_header, content }: KernelMessage): boolean {
  return parent_header.msg_id === SENT.msgId && content.execution_state === "idle";
}

function requestsAt(fake: FakeJupyter): string[] {
  return fake.received.map(({ header }) => header.msg_type).filter((type) => type === "execute_request");
}

async function adopt(log: KernelLog | undefined, sessionId?: string, configure?: (fake: FakeJupyter) => void) {
  const clock = new FakeClock();
  const fake = await fakeJupyter(configure);
  const connection = await connectFake(fake, { clock, ...(sessionId !== undefined && { sessionId }) });
  const texts: unknown[] = [];
  const listener = {
    onMessage: ({ content }: KernelMessage) => void (content.text !== undefined && texts.push(content.text)),
  };
  const execution = connection.adopt(SENT, { log }, listener);
  return { clock, fake, connection, texts, execution };
}

describe("a run that its kernel has kept", () => {
  test("and that is over ends at once as it did, with all it said, and nothing is sent", async () => {
    const { execution, texts, fake } = await adopt(logOf([...BEGUN, IDLE]));
    expect(await execution.ended).toMatchObject({
      state: "completed",
      executionCount: 7,
      startedAt: KERNEL_AT,
      incomplete: { reconnected: false, unconfirmed: false, unrecorded: false },
    });
    expect(texts).toEqual(["before"]);
    expect(requestsAt(fake)).toEqual([]);
  });

  test.each([-3_600_000, 0, 3_600_000])(
    "took as long as its kernel's messages say, whose clock is off by %i ms",
    async (off) => {
      const begunAt = new FakeClock().now() - 60_000 + off;
      const { execution } = await adopt(
        logOf([
          published("status", { execution_state: "busy" }, begunAt - 500),
          published("execute_input", { code: "x", execution_count: 7 }, begunAt),
          published("status", { execution_state: "idle" }, begunAt + 12_000),
        ]),
      );
      const { startedAt, endedAt } = await execution.ended;
      expect(endedAt - (startedAt ?? 0)).toBe(12_000);
    },
  );

  test("took as long as its kernel's messages say where the last of them comes later by the connection", async () => {
    const { execution, fake } = await adopt(logOf(BEGUN));
    const [socket] = fake.sockets;
    const idle = published("status", { execution_state: "idle" }, KERNEL_AT + 12_000);
    socket?.send(fake.encoded({ ...idle, parent_header: request.header }, socket));
    const { startedAt, endedAt } = await execution.ended;
    expect(endedAt - (startedAt ?? 0)).toBe(12_000);
  });

  test("and that raised ends so", async () => {
    const error = { ename: "ZeroDivisionError", evalue: "no", traceback: ["line"] };
    const { execution } = await adopt(logOf([...BEGUN, published("error", error), IDLE]));
    expect(await execution.ended).toMatchObject({ state: "errored", error });
  });

  test("goes on where it is, and what comes by both ways is told once", async () => {
    const { execution, texts, fake } = await adopt(logOf(BEGUN));
    expect(execution.isRunning).toBe(true);
    const [socket] = fake.sockets;
    const twice = { ...(BEGUN[2] as KernelMessage), parent_header: request.header };
    socket?.send(fake.encoded(twice, socket));
    fake.say("iopub", "stream", { name: "stdout", text: "after" }, request);
    fake.status("idle", request);
    expect(await execution.ended).toMatchObject({ state: "completed" });
    expect(texts).toEqual(["before", "after"]);
  });

  test("is followed from the reading of its log on: what is said in between is not missed", async () => {
    const clock = new FakeClock();
    const fake = await fakeJupyter();
    const connection = await connectFake(fake, { clock });
    connection.expect(SENT.msgId);
    fake.say("iopub", "stream", { name: "stdout", text: "in between" }, request);
    fake.status("idle", request);
    await new Promise((resolve) => {
      connection.subscribe((event) => void (event.type === "message" && isIdle(event.message) && resolve(undefined)));
    });
    const texts: unknown[] = [];
    const onMessage = ({ content }: KernelMessage) => void (content.text !== undefined && texts.push(content.text));
    const execution = connection.adopt(SENT, { log: logOf(BEGUN) }, { onMessage });
    expect(await execution.ended).toMatchObject({ state: "completed" });
    expect(texts).toEqual(["before", "in between"]);
  });

  test("and that was expected and given up is kept nothing of", async () => {
    const clock = new FakeClock();
    const fake = await fakeJupyter();
    const connection = await connectFake(fake, { clock });
    connection.expect(SENT.msgId);
    const said = (text: string) =>
      new Promise((resolve) => {
        connection.subscribe((event) => {
          if (event.type === "message" && event.message.content.text === text) resolve(undefined);
        });
        fake.say("iopub", "stream", { name: "stdout", text }, request);
      });
    await said("expected");
    connection.forget(SENT.msgId);
    await said("given up");
    const texts: unknown[] = [];
    const onMessage = ({ content }: KernelMessage) => void (content.text !== undefined && texts.push(content.text));
    connection.adopt(SENT, { log: logOf(BEGUN) }, { onMessage });
    expect(texts).toEqual(["before"]);
  });

  test("and that printed more than the kernel keeps says so", async () => {
    const { execution } = await adopt(logOf([...BEGUN, IDLE], 3));
    expect(await execution.ended).toMatchObject({ incomplete: { unrecorded: true } });
  });

  test("and that the kernel knows nothing of was never sent, once what is sent now is answered", async () => {
    const { execution, clock, fake } = await adopt(logOf([]));
    await fake.until(() => fake.received.find(({ channel }) => channel === "shell"));
    await network();
    expect(execution.isDone).toBe(false);
    await clock.advance(1000);
    expect(await execution.ended).toMatchObject({ state: "aborted", cause: "never_sent" });
  });

  test("and that waits in the kernel behind another client's cell is followed until it begins", async () => {
    const { execution, clock, fake } = await adopt(logOf([]), undefined, (it) => {
      it.onMessage = (message) => void (message.channel === "control" && it.answerInfo(message));
    });
    await clock.advance(60_000);
    expect(execution.isDone).toBe(false);
    fake.status("busy", request);
    fake.say("iopub", "execute_input", { code: "x", execution_count: 1 }, request);
    fake.status("idle", request);
    expect(await execution.ended).toMatchObject({ state: "completed" });
  });
});

describe("a run that its kernel has not kept", () => {
  test("is what the server held back for the session of the process that sent it", async () => {
    const { execution, texts } = await adopt(undefined, "session-before", (it) => {
      it.onConnect = () => {
        it.status("busy", request);
        it.say("iopub", "execute_input", { code: "x", execution_count: 1 }, request);
        it.say("iopub", "stream", { name: "stdout", text: "held back" }, request);
        it.say("shell", "execute_reply", { status: "ok", execution_count: 1 }, request);
        it.status("idle", request);
      };
    });
    expect(await execution.ended).toMatchObject({ state: "completed", incomplete: { reconnected: true } });
    expect(texts).toEqual(["held back"]);
  });

  test("and of which nothing was held back ends as unknown, once the kernel answers what is sent now", async () => {
    const { execution, clock, fake } = await adopt(undefined, "session-before");
    await fake.until(() => fake.received.find(({ channel }) => channel === "shell"));
    await network();
    await clock.advance(1000);
    expect(await execution.ended).toMatchObject({ state: "connection_lost" });
  });
});

test("whatever is asked for while a run of an earlier process is at the kernel waits for it here", async () => {
  const fake = await fakeJupyter();
  const connection = await connectFake(fake);
  const queue = new KernelQueue({ connection, interrupt: async () => {} });
  const earlier = queue.submit(SENT, {}, { sentBefore: { log: logOf(BEGUN) } });
  const later = queue.submit({ code: "later" });
  expect(earlier.state).toEqual({ name: "running" });
  expect(earlier.startedAt).toBe(KERNEL_AT);
  expect(later.startedAt).toBeNull();
  expect(later.state).toEqual({ name: "queued", position: 1 });
  await network();
  expect(requestsAt(fake)).toEqual([]);
  fake.status("idle", request);
  await earlier.ended;
  expect((await fake.next("execute_request")).content.code).toBe("later");
});

describe("cancelling a run that an earlier process has sent", () => {
  async function cancel(log: KernelLog) {
    const clock = new FakeClock();
    const fake = await fakeJupyter((it) => {
      it.onMessage = (message) => void (message.channel === "control" && it.answerInfo(message));
    });
    const connection = await connectFake(fake, { clock });
    const interrupts: number[] = [];
    const interrupt = async (): Promise<void> => void interrupts.push(clock.now());
    const run = new KernelQueue({ connection, interrupt, clock }).submit(SENT, {}, { sentBefore: { log } });
    return { clock, fake, interrupts, run, cancelled: run.cancel() };
  }

  test("interrupts it where it is what the kernel runs", async () => {
    const { fake, interrupts, run, cancelled } = await cancel(logOf(BEGUN));
    expect(interrupts).toHaveLength(1);
    fake.say("iopub", "error", { ename: "KeyboardInterrupt", evalue: "", traceback: [] }, request);
    fake.status("idle", request);
    expect(await cancelled).toMatchObject({ outcome: "stopped" });
    expect(await run.ended).toMatchObject({ state: "interrupted" });
  });

  test("interrupts nothing where it has ended by itself, whatever the kernel runs now", async () => {
    const { interrupts, run, cancelled } = await cancel(logOf([...BEGUN, IDLE]));
    expect(await cancelled).toMatchObject({ outcome: "not_running" });
    expect(await run.ended).toMatchObject({ state: "completed", interruptSent: false });
    expect(interrupts).toEqual([]);
  });

  test("interrupts nothing while it waits behind another client's cell, and it as soon as it begins", async () => {
    const { clock, fake, interrupts, run, cancelled } = await cancel(logOf([]));
    await clock.advance(10_000);
    expect(await cancelled).toEqual({ outcome: "waiting" });
    expect(interrupts).toEqual([]);
    fake.status("busy", request);
    fake.say("iopub", "execute_input", { code: "x", execution_count: 1 }, request);
    await expect.poll(() => interrupts.length).toBe(1);
    fake.say("iopub", "error", { ename: "KeyboardInterrupt", evalue: "", traceback: [] }, request);
    fake.status("idle", request);
    expect(await run.ended).toMatchObject({ state: "interrupted" });
  });
});
