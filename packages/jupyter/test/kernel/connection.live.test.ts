import { describe, expect, inject, test } from "vitest";
import { eventually } from "../../../../test/fixtures/eventually.js";
import { startExtraJupyter } from "../../../../test/services/jupyter.js";
import {
  connectKernel,
  type ExecutionEnd,
  JupyterRest,
  type KernelMessage,
  serverAddress,
} from "../../src/kernel/index.js";
import { begin, connect, contents, failWhenTold, restOf, run, startKernel, streamText } from "./live-kernel.js";

const jupyter = inject("jupyter");

describe.each([
  ["v1", false],
  ["legacy", true],
])("over the %s protocol", (_name, legacyProtocol) => {
  test("a run comes back with its outputs, in order, and completed", async () => {
    const { connection } = await startKernel(jupyter, { legacyProtocol });
    expect((await run(connection, "pass")).end).toMatchObject({ state: "completed", executionCount: 1 });
    const code = 'import sys; print("é🙂"); sys.stdout.flush(); print("e", file=sys.stderr); display({"a": 1}); 40 + 2';
    const { end, messages, stdout } = await run(connection, code);
    expect(end).toMatchObject({ state: "completed", executionCount: 2, interruptSent: false });
    expect(end.incomplete).toEqual({
      rateLimited: false,
      reconnected: false,
      tooLarge: false,
      unconfirmed: false,
      unrecorded: false,
    });
    expect(stdout).toBe("é🙂\n");
    expect(streamText(messages, "stderr")).toBe("e\n");
    expect(contents(messages, "display_data")).toMatchObject([{ data: { "text/plain": "{'a': 1}" } }]);
    expect(contents(messages, "execute_result")).toMatchObject([{ data: { "text/plain": "42" } }]);
  });

  test("an error is told with its traceback, and the kernel goes on", async () => {
    const { connection } = await startKernel(jupyter, { legacyProtocol });
    const { end } = await run(connection, 'print("before"); 1/0');
    expect(end).toMatchObject({ state: "errored", error: { ename: "ZeroDivisionError", evalue: "division by zero" } });
    expect(end.state === "errored" && end.error.traceback.join("\n")).toContain("division by zero");
    expect((await run(connection, "1")).end.state).toBe("completed");
  });

  test("the buffers of a widget message come whole", async () => {
    const { connection } = await startKernel(jupyter, { legacyProtocol });
    const code =
      "from comm import create_comm; create_comm(target_name='t', data={'x': 1}, buffers=[b'\\x00\\xff', b'2'])";
    const { messages } = await run(connection, code);
    const open = messages.find(({ header }) => header.msg_type === "comm_open");
    expect(open?.buffers.map((buffer) => [...buffer])).toEqual([[0, 255], [50]]);
  });
});

test("user expressions and silence are passed on", async () => {
  const { connection } = await startKernel(jupyter);
  const { end, messages } = await run(connection, { code: "x = 6", silent: true, userExpressions: { y: "x * 7" } });
  expect(end).toMatchObject({
    state: "completed",
    reply: { user_expressions: { y: { data: { "text/plain": "42" } } } },
  });
  expect(contents(messages, "execute_input")).toEqual([]);
});

test("a short run takes no delayed acknowledgement", async () => {
  const { connection } = await startKernel(jupyter);
  await run(connection, "pass");
  // Without the pong it is 40 ms at the least, on any machine; with it, most are shorter on one that is not busy.
  await eventually(async () => {
    const before = performance.now();
    await run(connection, "pass");
    return performance.now() - before < 35;
  });
});

describe("questions of the code", () => {
  test("are answered by the listener", async () => {
    const { connection } = await startKernel(jupyter);
    const asked: unknown[] = [];
    const messages: KernelMessage[] = [];
    const code = 'import getpass; print(input("Name? ") + getpass.getpass("Word? "))';
    const { ended } = connection.execute(
      { code },
      {
        onMessage: (message) => void messages.push(message),
        onInput: async (question) => {
          asked.push(question);
          return question.password ? "secret" : "Ann";
        },
      },
    );
    expect((await ended).state).toBe("completed");
    expect(asked).toEqual([
      { prompt: "Name? ", password: false },
      { prompt: "Word? ", password: true },
    ]);
    expect(streamText(messages, "stdout")).toContain("Annsecret");
  });

  test("fail at once when nobody answers", async () => {
    const { connection } = await startKernel(jupyter);
    expect((await run(connection, "input()")).end).toMatchObject({
      state: "errored",
      error: { ename: "StdinNotImplementedError" },
    });
  });
});

test("output of a thread that the cell left behind is still handed on, as late", async () => {
  const { connection } = await startKernel(jupyter);
  let arrived: (text: unknown) => void = () => {};
  const late = new Promise((resolve) => (arrived = resolve));
  const code = "import threading; t = threading.Timer(0.4, lambda: print('late', flush=True)); t.start()";
  const { ended } = connection.execute(
    { code },
    { onMessage: (message, isLate) => isLate && message.header.msg_type === "stream" && arrived(message.content.text) },
  );
  expect((await ended).state).toBe("completed");
  expect(await late).toMatch(/^late/);
});

test("a listener that throws costs nobody a message", async () => {
  const errors: object[] = [];
  const logger = { debug() {}, info() {}, warn() {}, error: (fields: object) => void errors.push(fields) };
  const { connection } = await startKernel(jupyter, { logger });
  const execution = connection.execute(
    { code: "1" },
    {
      onMessage: () => {
        throw new Error("listener");
      },
    },
  );
  expect((await execution.ended).state).toBe("completed");
  expect(errors[0]).toMatchObject({ error: expect.stringContaining("listener") });
  expect((await run(connection, "1")).end.state).toBe("completed");
});

describe("two clients of one kernel", () => {
  test("share its state, and each gets the outputs of its own requests only", async () => {
    const { connection, rest, kernelId } = await startKernel(jupyter);
    const other = await connect(rest, kernelId);
    await run(other, "y = 7");
    const [mine, theirs] = await Promise.all([run(connection, "print(y)"), run(other, "print('other', y)")]);
    expect(mine.stdout).toBe("7\n");
    expect(theirs.stdout).toBe("other 7\n");
  });

  test("a failing cell of ours does not drop what the other has queued", async () => {
    const { connection, rest, kernelId } = await startKernel(jupyter);
    const other = await connect(rest, kernelId);
    const failing = await begin(connection, "import time; time.sleep(0.5); 1/0");
    const theirs = run(other, "'ran'");
    expect((await failing.ended).state).toBe("errored");
    expect((await theirs).end.state).toBe("completed");
  });

  test("a request that the other's failing cell made the kernel drop has not run", async () => {
    const { connection, rest, kernelId } = await startKernel(jupyter);
    const other = await connect(rest, kernelId);
    const failing = await failWhenTold(jupyter, other);
    const running = run(connection, "ran = True");
    await failing.tell();
    const mine = await running;
    expect((await failing.ended).content).toMatchObject({ status: "error" });
    expect(mine.end).toMatchObject({ state: "aborted", cause: "earlier_failure", executionCount: null });
    expect((await run(connection, "'ran' in globals()")).messages.map(({ content }) => content.data)).toContainEqual({
      "text/plain": "False",
    });
  });
});

test("output beyond the server's rate limit is flagged, and the server's notice is not shown as output", async () => {
  const { connection } = await startKernel(jupyter);
  // Four megabytes at once are over a megabyte a second in three seconds, however slow the machine is.
  const { end, messages } = await run(connection, "print('x' * 4_000_000)");
  expect(end).toMatchObject({ state: "completed", incomplete: { rateLimited: true } });
  expect(streamText(messages, "stderr")).toBe("");
  const shown = await run(connection, 'import sys; print("IOPub data rate exceeded.", file=sys.stderr)');
  expect(shown.end.incomplete.rateLimited).toBe(false);
  expect(streamText(shown.messages, "stderr")).toBe("IOPub data rate exceeded.\n");
});

describe("a lost socket", () => {
  test("is replaced, and a run that went on meanwhile ends with all of its output", async () => {
    const { connection } = await startKernel(jupyter);
    const messages: KernelMessage[] = [];
    const events: string[] = [];
    connection.subscribe(({ type }) => type !== "message" && void events.push(type));
    // Slow enough for the server to notice the loss before it writes more: what it writes into a dying socket is lost.
    const code = "import time\nfor i in range(5):\n  print(i, flush=True)\n  time.sleep(0.5)\n'done'";
    const execution = await begin(connection, code, messages);
    await expect.poll(() => streamText(messages, "stdout")).toBe("0\n");
    connection.dropSocket();
    const end = await execution.ended;
    expect(end).toMatchObject({ state: "completed", incomplete: { reconnected: true } });
    expect(streamText(messages, "stdout")).toBe("0\n1\n2\n3\n4\n");
    expect(contents(messages, "execute_result")).toHaveLength(1);
    expect(events).toEqual(["reconnecting", "reconnected"]);
  });

  test("holds a new request until the next one is open", async () => {
    const { connection } = await startKernel(jupyter, { reconnect: { firstDelayMs: 1_000 } });
    connection.dropSocket();
    await expect.poll(() => connection.state, { interval: 5 }).toBe("reconnecting");
    expect((await run(connection, "1")).end.state).toBe("completed");
  });

  test("while another client made the server discard our messages leaves no run hanging", async () => {
    const { connection, rest, kernelId } = await startKernel(jupyter, { reconnect: { firstDelayMs: 1_500 } });
    await connect(rest, kernelId);
    const execution = await begin(connection, "import time; time.sleep(0.5)");
    connection.dropSocket();
    const end: ExecutionEnd = await execution.ended;
    expect(end).toMatchObject({ state: "connection_lost", reason: expect.stringContaining("answer was lost") });
    expect((await run(connection, "1")).end.state).toBe("completed");
  });

  test("because of a message beyond the size limit is named, and the run resolves", async () => {
    const extra = await startExtraJupyter(jupyter.python, {
      args: ["--ZMQChannelsWebsocketConnection.limit_rate=False"],
    });
    try {
      const { connection } = await startKernel(extra.service, { maxPayloadBytes: 100_000 });
      const { end } = await run(connection, "display({'text/plain': 'x' * 200_000}, raw=True); 1");
      expect(end.incomplete).toMatchObject({ tooLarge: true });
      expect((await run(connection, "1")).end.state).toBe("completed");
    } finally {
      await extra.stop();
    }
  });
});

describe("connecting fails, with what is wrong, for", () => {
  test("a wrong token", async () => {
    const { kernelId } = await startKernel(jupyter);
    const rest = new JupyterRest(serverAddress(jupyter.url, "wrong-token"));
    const failed = connectKernel({ rest, kernelId });
    await expect(failed).rejects.toMatchObject({
      code: "unauthorized",
      message: expect.not.stringContaining("wrong-token"),
    });
  });

  test("an unknown kernel", async () => {
    const kernelId = "00000000-0000-0000-0000-000000000000";
    await expect(connectKernel({ rest: restOf(jupyter), kernelId })).rejects.toMatchObject({
      code: "not_found",
      message: expect.stringContaining(kernelId),
    });
  });

  test("a server that is not there", async () => {
    const rest = new JupyterRest(serverAddress("http://127.0.0.1:9/"));
    await expect(connectKernel({ rest, kernelId: "k" })).rejects.toMatchObject({
      code: "unreachable",
      message: expect.stringMatching(/http:\/\/127\.0\.0\.1:9\/.*JUPYTER_URL/),
    });
  });
});

test("below a prefix and without a token everything works", async () => {
  const extra = await startExtraJupyter(jupyter.python, { token: "", baseUrl: "/user/ann/proj/" });
  try {
    const { connection } = await startKernel(extra.service);
    expect((await run(connection, "print(1)")).stdout).toBe("1\n");
  } finally {
    await extra.stop();
  }
});
