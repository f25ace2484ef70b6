import { FakeClock } from "@claimcheck/core/testing";
import { describe, expect, test } from "vitest";
import type { KernelMessage } from "../../src/kernel/index.js";
import { connectFake, type FakeJupyter, fakeJupyter, network } from "./fake-jupyter.js";

const BEAT_MS = 5_000;

/** Moves on by one heartbeat, and lets what it sent be answered. */
async function beat(clock: FakeClock): Promise<void> {
  await clock.advance(BEAT_MS);
  await network();
}

/** Plays a whole run. */
function playRun(fake: FakeJupyter, request: KernelMessage): void {
  fake.status("busy", request);
  fake.say("iopub", "execute_input", { code: "x", execution_count: 1 }, request);
  fake.say("iopub", "stream", { name: "stdout", text: "out" }, request);
  fake.say("shell", "execute_reply", { status: "ok", execution_count: 1 }, request);
  fake.status("idle", request);
}

describe("messages", () => {
  test("that arrive in the tick in which the socket opens are not lost", async () => {
    const fake = await fakeJupyter();
    const connection = await connectFake(fake, { reconnect: { firstDelayMs: 1 } });
    const seen: unknown[] = [];
    const execution = connection.execute(
      { code: "x" },
      { onMessage: ({ header, content }) => void (header.msg_type === "stream" && seen.push(content.text)) },
    );
    const request = await fake.next("execute_request");
    // As a server does that has kept what a client missed.
    fake.onConnect = () => playRun(fake, request);
    fake.sockets[0]?.terminate();
    expect(await execution.ended).toMatchObject({ state: "completed", incomplete: { reconnected: true } });
    expect(seen).toEqual(["out"]);
  });

  test("are acknowledged batch by batch with an unsolicited pong", async () => {
    let pongs = 0;
    const fake = await fakeJupyter((it) => {
      it.onConnect = (socket) => void socket.on("pong", () => pongs++);
    });
    const connection = await connectFake(fake);
    await connection.request({ channel: "shell", type: "kernel_info_request" });
    await network();
    const before = pongs;
    fake.status("idle");
    await expect.poll(() => pongs).toBe(before + 1);
  });

  test("that cannot be read are skipped", async () => {
    const fake = await fakeJupyter();
    const connection = await connectFake(fake);
    fake.sockets[0]?.send(Buffer.from("garbage"));
    fake.sockets[0]?.send("text");
    expect((await connection.request({ channel: "shell", type: "kernel_info_request" })).content.status).toBe("ok");
  });

  test("of other requests do not reach a run", async () => {
    const fake = await fakeJupyter();
    const connection = await connectFake(fake);
    const seen: KernelMessage[] = [];
    const execution = connection.execute({ code: "x" }, { onMessage: (message) => void seen.push(message) });
    const request = await fake.next("execute_request");
    const foreign = { ...request, header: { ...request.header, msg_id: "foreign" } };
    playRun(fake, foreign);
    await network();
    expect(seen).toEqual([]);
    playRun(fake, request);
    expect((await execution.ended).state).toBe("completed");
  });
});

describe("a run is over", () => {
  test.each([
    ["idle first", ["idle", "reply"]],
    ["reply first", ["reply", "idle"]],
  ])("with its reply and its idle status, %s, and what comes between is its output", async (_order, order) => {
    const fake = await fakeJupyter();
    const connection = await connectFake(fake);
    const seen: boolean[] = [];
    const execution = connection.execute(
      { code: "x" },
      { onMessage: ({ header }, late) => void (header.msg_type === "stream" && seen.push(late)) },
    );
    const request = await fake.next("execute_request");
    const say = (what: string): void =>
      what === "idle" ? fake.status("idle", request) : fake.say("shell", "execute_reply", { status: "ok" }, request);
    fake.status("busy", request);
    say(order[0] ?? "");
    fake.say("iopub", "stream", { name: "stdout", text: "between" }, request);
    await network();
    expect(execution.isDone).toBe(false);
    say(order[1] ?? "");
    expect((await execution.ended).state).toBe("completed");
    expect(seen).toEqual([false]);
  });

  test("when the kernel has answered something later, even if its idle status never comes", async () => {
    const clock = new FakeClock();
    const fake = await fakeJupyter();
    const connection = await connectFake(fake, { clock });
    const execution = connection.execute({ code: "x" });
    const request = await fake.next("execute_request");
    fake.status("busy", request);
    fake.say("shell", "execute_reply", { status: "ok" }, request);
    await network();
    for (let i = 0; i < 3; i++) await beat(clock);
    expect(await execution.ended).toMatchObject({ state: "completed", incomplete: { unconfirmed: true } });
  });

  test("connection_lost when the kernel has answered something later, and only its reply never came", async () => {
    const clock = new FakeClock();
    const fake = await fakeJupyter();
    const connection = await connectFake(fake, { clock });
    const execution = connection.execute({ code: "x" });
    const request = await fake.next("execute_request");
    fake.status("busy", request);
    fake.status("idle", request);
    await network();
    for (let i = 0; i < 3; i++) await beat(clock);
    expect(await execution.ended).toMatchObject({ state: "connection_lost" });
  });

  test("not while it runs, although the kernel answers a nudge: some kernels do both at once", async () => {
    const clock = new FakeClock();
    const fake = await fakeJupyter();
    const connection = await connectFake(fake, { clock });
    const execution = connection.execute({ code: "x" });
    const request = await fake.next("execute_request");
    fake.status("busy", request);
    const nudges = fake.received.length;
    connection.nudge();
    await fake.next("kernel_info_request", nudges);
    await network();
    await clock.advance(2_000);
    expect(execution.isDone).toBe(false);
    playRun(fake, request);
    expect((await execution.ended).state).toBe("completed");
  });

  test("while silence alone ends nothing: a kernel may be deaf for hours", async () => {
    const clock = new FakeClock();
    const fake = await fakeJupyter((it) => {
      it.executionState = "busy";
      it.onMessage = () => {};
    });
    const connection = await connectFake(fake, { clock });
    const execution = connection.execute({ code: "x" });
    const request = await fake.next("execute_request");
    for (let i = 0; i < 100; i++) await clock.advance(BEAT_MS / 2);
    await network();
    expect(execution.isDone).toBe(false);
    expect(fake.received.filter(({ header }) => header.msg_type !== "execute_request")).toHaveLength(1);
    playRun(fake, request);
    expect((await execution.ended).state).toBe("completed");
  });
});

describe("a kernel whose process is replaced", () => {
  test("without any notice ends the run as soon as the new process says anything", async () => {
    const fake = await fakeJupyter();
    const connection = await connectFake(fake);
    await connection.request({ channel: "shell", type: "kernel_info_request" });
    const execution = connection.execute({ code: "x" });
    const request = await fake.next("execute_request");
    fake.status("busy", request);
    fake.session = "kernel-2";
    fake.status("starting");
    expect((await execution.ended).state).toBe("kernel_restarted");
  });

  test("by us is sent nothing before what it publishes is heard", async () => {
    const fake = await fakeJupyter();
    const connection = await connectFake(fake);
    await connection.request({ channel: "shell", type: "kernel_info_request" });
    const after = fake.received.length;
    fake.session = "kernel-2";
    fake.onMessage = (message) => {
      const isHeard = fake.received.length - after > 2;
      if (message.header.msg_type === "execute_request") playRun(fake, message);
      else if (isHeard) fake.answerInfo(message);
      else fake.say(message.channel, "kernel_info_reply", { status: "ok" }, message);
    };
    const restarted = connection.restart();
    const next = connection.execute({ code: "y" });
    await restarted;
    expect((await next.ended).state).toBe("completed");
    const info = "kernel_info_request";
    expect(fake.received.slice(after).map(({ header }) => header.msg_type)).toEqual([
      info,
      info,
      info,
      "execute_request",
    ]);
  });

  test("in silence is found out when the server calls it idle while a run is under way", async () => {
    const clock = new FakeClock();
    const fake = await fakeJupyter();
    const connection = await connectFake(fake, { clock });
    await connection.request({ channel: "shell", type: "kernel_info_request" });
    const execution = connection.execute({ code: "x" });
    fake.status("busy", await fake.next("execute_request"));
    await network();
    fake.session = "kernel-2";
    await beat(clock);
    await beat(clock);
    expect((await execution.ended).state).toBe("kernel_restarted");
  });

  test("after its death, with a server that still calls it busy, serves the run that was held back", async () => {
    const clock = new FakeClock();
    const fake = await fakeJupyter();
    const connection = await connectFake(fake, { clock });
    await connection.request({ channel: "shell", type: "kernel_info_request" });
    const dying = connection.execute({ code: "x" });
    fake.status("busy", await fake.next("execute_request"));
    fake.executionState = "busy";
    fake.status("restarting", undefined, connection.sessionId);
    expect((await dying.ended).state).toBe("kernel_died");
    const after = fake.received.length;
    const next = connection.execute({ code: "y" });
    await network();
    expect(fake.received).toHaveLength(after);
    fake.session = "kernel-2";
    await beat(clock);
    playRun(fake, await fake.next("execute_request", after));
    expect((await next.ended).state).toBe("completed");
  });

  test("after its death is sent nothing before what it publishes is heard", async () => {
    const clock = new FakeClock();
    const fake = await fakeJupyter();
    const connection = await connectFake(fake, { clock });
    await connection.request({ channel: "shell", type: "kernel_info_request" });
    fake.status("restarting", undefined, connection.sessionId);
    await network();
    const after = fake.received.length;
    fake.session = "kernel-2";
    fake.onMessage = (message) => {
      const isHeard = fake.received.length - after > 1;
      if (message.header.msg_type === "execute_request") playRun(fake, message);
      else if (isHeard) fake.answerInfo(message);
      else fake.say(message.channel, "kernel_info_reply", { status: "ok" }, message);
    };
    const next = connection.execute({ code: "y" });
    await beat(clock);
    await network();
    await clock.advance(1_000);
    expect((await next.ended).state).toBe("completed");
    expect(fake.received.slice(after).map(({ header }) => header.msg_type)).toEqual([
      "kernel_info_request",
      "kernel_info_request",
      "execute_request",
    ]);
  });

  test("behind a socket that the server left on the old ports is reached over a new socket", async () => {
    const clock = new FakeClock();
    const fake = await fakeJupyter();
    const connection = await connectFake(fake, { clock });
    await connection.request({ channel: "shell", type: "kernel_info_request" });
    const [deaf] = fake.sockets;
    fake.status("restarting", undefined, connection.sessionId);
    await network();
    fake.session = "kernel-2";
    fake.onMessage = (message, socket) => {
      if (socket === deaf) return;
      if (message.header.msg_type === "execute_request") playRun(fake, message);
      else fake.answerInfo(message);
    };
    const next = connection.execute({ code: "y" });
    await beat(clock);
    await beat(clock);
    await clock.advance(1_000);
    await fake.until(() => fake.sockets[1]);
    expect((await next.ended).state).toBe("completed");
  });

  test("is not suspected because it copies the session of each client", async () => {
    const fake = await fakeJupyter((it) => {
      it.onMessage = (message) => {
        it.session = message.header.session;
        if (message.header.msg_type === "execute_request") playRun(it, message);
        else it.answerInfo(message);
      };
    });
    const [one, two] = [await connectFake(fake), await connectFake(fake)];
    for (const connection of [one, two, one, two]) {
      expect((await connection.execute({ code: "x" }).ended).state).toBe("completed");
    }
  });

  test("dead for good closes the connection, with the reason", async () => {
    const fake = await fakeJupyter();
    const connection = await connectFake(fake);
    const closed = new Promise((resolve) =>
      connection.subscribe((event) => event.type === "closed" && resolve(event.error)),
    );
    const execution = connection.execute({ code: "x" });
    fake.status("dead", undefined, connection.sessionId);
    expect((await execution.ended).state).toBe("kernel_died");
    expect(await closed).toMatchObject({ code: "not_found", message: expect.stringContaining("could not start") });
  });
});

describe("a link", () => {
  test("that answers no ping is replaced", async () => {
    const clock = new FakeClock();
    const fake = await fakeJupyter((it) => {
      it.answersPings = false;
    });
    const connection = await connectFake(fake, { clock });
    await connection.request({ channel: "shell", type: "kernel_info_request" });
    fake.answersPings = true;
    for (let i = 0; i < 4; i++) await beat(clock);
    await clock.advance(1_000);
    await fake.until(() => fake.sockets[1]);
  });

  test("that is quiet but answers pings is kept", async () => {
    const clock = new FakeClock();
    const fake = await fakeJupyter();
    const connection = await connectFake(fake, { clock });
    for (let i = 0; i < 6; i++) await beat(clock);
    expect(fake.sockets).toHaveLength(1);
    expect(connection.state).toBe("open");
  });

  test("is reopened under the same session id", async () => {
    const fake = await fakeJupyter();
    const connection = await connectFake(fake, { sessionId: "fixed", reconnect: { firstDelayMs: 1 } });
    fake.sockets[0]?.terminate();
    await fake.until(() => fake.sockets[1]);
    await connection.request({ channel: "shell", type: "kernel_info_request" });
    expect(new Set(fake.received.map(({ header }) => header.session))).toEqual(new Set(["fixed"]));
  });

  test("is given up after the tries that were allowed, each later than the one before", async () => {
    const clock = new FakeClock();
    const fake = await fakeJupyter();
    const connection = await connectFake(fake, { clock, reconnect: { tries: 3, firstDelayMs: 100 } });
    const execution = connection.execute({ code: "x" });
    await fake.next("execute_request");
    fake.refuseWith = 503;
    fake.sockets[0]?.terminate();
    await network();
    for (const delayMs of [100, 200, 400]) {
      await clock.advance(delayMs - 1);
      await network();
      expect(execution.isDone).toBe(false);
      await clock.advance(1);
      await network();
    }
    expect(await execution.ended).toMatchObject({
      state: "connection_lost",
      reason: expect.stringContaining("HTTP 503"),
    });
    expect(connection.state).toBe("closed");
  });

  test.each([
    [404, "kernel_died"],
    [403, "connection_lost"],
  ])("that the server refuses with HTTP %i is given up at once: %s", async (status, state) => {
    const fake = await fakeJupyter();
    const connection = await connectFake(fake, { reconnect: { firstDelayMs: 1 } });
    const execution = connection.execute({ code: "x" });
    await fake.next("execute_request");
    let tries = 0;
    fake.onUpgrade = () => void tries++;
    fake.refuseWith = status;
    fake.sockets[0]?.terminate();
    expect((await execution.ended).state).toBe(state);
    expect(tries).toBe(1);
  });

  test("that a proxy closes for a message too large is named as such", async () => {
    const fake = await fakeJupyter();
    const connection = await connectFake(fake, { reconnect: { firstDelayMs: 1 } });
    const execution = connection.execute({ code: "x" });
    const request = await fake.next("execute_request");
    fake.sockets[0]?.close(1009, "message too big");
    await fake.until(() => fake.sockets[1]);
    playRun(fake, request);
    expect(await execution.ended).toMatchObject({ state: "completed", incomplete: { tooLarge: true } });
  });
});

describe("closing", () => {
  test("is done within a second although the server never answers it", async () => {
    const clock = new FakeClock();
    const fake = await fakeJupyter();
    const connection = await connectFake(fake, { clock });
    fake.sockets[0]?.pause();
    const closed = connection.close();
    await clock.advance(1_000);
    await closed;
  });

  test("leaves no timer and may be repeated", async () => {
    const clock = new FakeClock();
    const fake = await fakeJupyter();
    const connection = await connectFake(fake, { clock });
    await Promise.all([connection.close(), connection.close()]);
    await connection.close();
    expect(clock.pending).toBe(0);
    expect(await connection.execute({ code: "x" }).ended).toMatchObject({ state: "aborted", cause: "connection_lost" });
  });

  test("a connection whose listener throws closes all the same", async () => {
    const fake = await fakeJupyter();
    const connection = await connectFake(fake);
    connection.subscribe(() => {
      throw new Error("listener");
    });
    await connection.close();
    expect(connection.state).toBe("closed");
  });
});

test("the token is in the header of the handshake and not in its URL", async () => {
  const fake = await fakeJupyter();
  let url: string | undefined;
  let header: string | undefined;
  fake.onUpgrade = (request) => {
    url = request.url;
    header = request.headers.authorization;
  };
  await connectFake(fake, { sessionId: "s" });
  expect(url).toBe("/api/kernels/k/channels?session_id=s");
  expect(header).toBe("token fake-token");
});
