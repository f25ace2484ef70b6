/** The runner "worker", in real threads: the same handler gives the same as on this event loop, and can be ended. */
import { spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import type { JsonObject } from "@claimcheck/core";
import { FakeClock } from "@claimcheck/core/testing";
import type { McpServer } from "@modelcontextprotocol/server";
import { describe, expect, it, onTestFinished } from "vitest";
import { z } from "zod";
import { eventually } from "../../../../test/fixtures/eventually.js";
import type { AskFirst, Tasks, TasksOptions, ToolHandler } from "../../src/index.js";
import type { RawClient } from "../wire/raw-client.js";
import { scene, silent } from "../wire/servers.js";

const MODULE = new URL("../programs/worker-tools.mjs", import.meta.url);

const handlers = (await import(MODULE.href)) as Record<string, ToolHandler> & {
  RETURNS: Record<string, () => unknown>;
};

/** Tools by the names of their handlers, all of them in threads; `async_` before a name: the same on this event loop. */
function workers(configs: Record<string, object>, options: TasksOptions = {}) {
  // The test runner's conditions would lead a thread to sources, which Node cannot run.
  const workerThreads = { execArgv: [], ...options.workerThreads };
  const register = (tasks: Tasks, server: McpServer): void => {
    for (const [name, config] of Object.entries(configs)) {
      const shared = { inputSchema: z.looseObject({}), ...config };
      const execution = { taskSupport: "optional" } as const;
      tasks.registerTool(
        server,
        name,
        { ...shared, execution: { ...execution, runner: "worker" } },
        { module: MODULE, export: name },
      );
      if (typeof handlers[name] !== "function") continue;
      tasks.registerTool(server, `async_${name}`, { ...shared, execution }, handlers[name] as ToolHandler<never>);
    }
  };
  return scene(register, { ...options, workerThreads });
}

type Texts = { content: { text: string }[] };

async function clientOf(name: string, config: object = {}, options?: TasksOptions) {
  const { connect, tasks } = workers({ [name]: config }, options);
  return { client: await connect(), tasks };
}

async function resultOf(client: RawClient, name: string, args: object = {}): Promise<JsonObject> {
  const { taskId } = await client.callTask(name, { arguments: args });
  const { result, error } = await client.request("tasks/result", { taskId });
  const { _meta, ...rest } = (result ?? {}) as JsonObject;
  const { "io.modelcontextprotocol/related-task": _related, ...meta } = (_meta ?? {}) as JsonObject;
  return {
    ...rest,
    ...(Object.keys(meta).length > 0 && { _meta: meta }),
    ...(error && { error: { ...error } as never }),
  };
}

/** What the tool on this event loop is answered, as if it had the other's name. */
const renamed = <T>(answer: T): T => JSON.parse(JSON.stringify(answer).replaceAll("async_", "")) as T;

const statusOf = async (client: RawClient, taskId: string) => (await client.request("tasks/get", { taskId })).result;

/** Waits for a status message of the task. */
const reaches = (client: RawClient, taskId: string, message: string) =>
  eventually(async () => (await statusOf(client, taskId))?.statusMessage === message);

describe("what a handler comes to", () => {
  it("is the same as on this event loop, directly and as a task, whatever it returns or throws", async () => {
    const { client } = await clientOf("give");
    for (const what of Object.keys(handlers.RETURNS)) {
      const expected = await client.call("async_give", { arguments: { what } });
      const direct = await client.call("give", { arguments: { what } });
      expect.soft({ ...direct, id: what }).toEqual({ ...renamed(expected), id: what });
      const asTask = await resultOf(client, "give", { what });
      expect.soft({ ...asTask, what }).toEqual({ ...renamed(await resultOf(client, "async_give", { what })), what });
    }
  });

  it("is masked as on this event loop", async () => {
    const { client } = await clientOf("give", {}, { maskErrors: true });
    for (const what of ["a throw", "a function", "an interim result", "a protocol error"]) {
      const expected = await client.call("async_give", { arguments: { what } });
      expect
        .soft({ ...(await client.call("give", { arguments: { what } })), id: what })
        .toEqual({ ...renamed(expected), id: what });
    }
  });

  it("is held to the output schema", async () => {
    const { client } = await clientOf("give", { outputSchema: z.object({ feet: z.string() }) });
    for (const what of ["an object", "a string"]) {
      const expected = await client.call("async_give", { arguments: { what } });
      expect((await client.call("give", { arguments: { what } })).result).toEqual(renamed(expected.result));
    }
  });

  it("arguments are validated here, and reach the thread as their schema makes them", async () => {
    const inputSchema = z.object({ when: z.coerce.date() }).transform((args) => ({ ...args, map: new Map() }));
    const { client } = await clientOf("kinds", { inputSchema });
    const { result } = await client.call("kinds", { arguments: { when: "2026-01-01" } });
    expect(result?.structuredContent).toEqual({ date: true, map: true });
    const refused = (await client.call("kinds", { arguments: { when: "never" } })).result;
    expect(refused).toMatchObject({
      isError: true,
      content: [{ text: expect.stringContaining("Input validation error") }],
    });
  });

  it("arguments that cannot cross are an error that says so", async () => {
    const { client } = await clientOf("kinds", { inputSchema: z.object({}).transform(() => ({ f() {} })) });
    const { result } = await client.call("kinds");
    expect(result).toMatchObject({
      isError: true,
      content: [{ text: expect.stringContaining("The arguments cannot be handed to a worker thread") }],
    });
  });

  it("a module without that function, or that cannot be loaded, is an error that names it", async () => {
    const { client } = await clientOf("notAFunction");
    const { result } = await client.call("notAFunction");
    expect(result).toMatchObject({
      isError: true,
      content: [{ text: `The module ${MODULE} exports no function named notAFunction.` }],
    });
  });
});

describe("the context", () => {
  it("is that of any handler", async () => {
    const askFirst: AskFirst = () => undefined;
    const { client } = await clientOf("context", { askFirst });
    for (const run of [
      resultOf,
      async (at: RawClient, name: string) => (await at.call(name, { arguments: { a: 1 } })).result,
    ]) {
      const expected = (await run(client, "async_context", { a: 1 })) as JsonObject;
      expect(await run(client, "context", { a: 1 })).toEqual(expected);
      expect(expected.structuredContent).toMatchObject({ clientInfo: { name: "test-client" } });
    }
  });

  it("progress reaches the caller, directly and as a task", async () => {
    const { client } = await clientOf("report");
    const progressOf = async (extra: object) => {
      client.heard.length = 0;
      const params = { arguments: { steps: 3 }, _meta: { progressToken: "p" }, ...extra };
      const { result } = await client.call("report", params);
      if ("task" in extra) {
        const { taskId } = (result as { task: { taskId: string } }).task;
        await client.request("tasks/result", { taskId });
      }
      return client.heard
        .filter(({ method }) => method === "notifications/progress")
        .map(({ params: { progress, total, message } }) => ({ progress, total, message }));
    };
    const steps = [1, 2, 3].map((step) => ({ progress: step, total: 3, message: `step ${step}` }));
    expect(await progressOf({})).toEqual(steps);
    expect(await progressOf({ task: {} })).toEqual(steps);
  });

  it("status, checkpoint and the ambient helpers work", async () => {
    const { connect } = workers({ say: {}, ambient: {} });
    const client = await connect();
    expect((await resultOf(client, "say")).structuredContent).toEqual({ said: [true, true], kept: true });
    expect((await resultOf(client, "ambient")).structuredContent).toEqual({ recorded: true, registered: true });
    const { result } = await client.call("ambient");
    expect(result?.structuredContent).toEqual({ recorded: false, registered: false });
  });

  it("a checkpoint that is too large is refused in the thread, which may go on", async () => {
    const client = await workers({ keepTooMuch: {} }).connect();
    expect((await resultOf(client, "keepTooMuch")).structuredContent).toEqual({
      name: "TaskError",
      code: "too_large",
      data: { bytes: 2 ** 21 + 2, limit: "maxCheckpointBytes", max: 2 ** 20 },
    });
  });

  it("a question is asked and answered; one that nobody can be asked is refused as elsewhere", async () => {
    const { connect } = workers({ ask: {} });
    const mute = await connect();
    const refused = (await mute.call("async_ask")).result;
    expect(refused?.content).toEqual([
      { type: "text", text: expect.stringMatching(/^true: The client cannot be asked/) },
    ]);
    expect((await resultOf(mute, "ask")).content).toEqual((await resultOf(mute, "async_ask")).content);
    expect((await mute.call("ask")).result).toEqual(refused);
  });

  it("a question of a task is in its record, and its answer reaches the thread", async () => {
    const { connect, tasks } = workers({ ask: {} }, { ownership: "single-user" });
    const client = await connect({ capabilities: { elicitation: {} } });
    const { taskId } = await client.callTask("ask");
    await eventually(async () => (await statusOf(client, taskId))?.status === "input_required");
    const owner = JSON.stringify(["single-user"]);
    const key = (await tasks.runtime.get(owner, taskId))?.questions[0]?.key as string;
    await tasks.runtime.answer(owner, taskId, key, { action: "accept", content: { name: "Ada" } });
    const { result } = await client.request("tasks/result", { taskId });
    expect(result?.structuredContent).toEqual({ action: "accept", content: { name: "Ada" } });
  });

  it("recording output for every line sends what is new, and loses none when the thread never listens again", async () => {
    const { client } = await clientOf("flood", { cancelGraceMs: 50 });
    const { taskId } = await client.callTask("flood", { arguments: { times: 5000 } });
    await reaches(client, taskId, "flooded");
    expect((await client.request("tasks/cancel", { taskId })).result).toMatchObject({ status: "cancelled" });
    const { content } = (await client.request("tasks/result", { taskId })).result as Texts;
    expect(content).toHaveLength(5000);
    expect(content.at(-1)).toEqual({ type: "text", text: "line 5000" });
  });

  it("what has become of an output that was said long ago is said as well", async () => {
    const { client } = await clientOf("rewrite");
    const { taskId } = await client.callTask("rewrite");
    const _meta = { "io.datalayer/partial-output": true };
    await eventually(async () => {
      await pause(20);
      const got = (await client.request("tasks/get", { taskId, _meta })).result as {
        _meta: Record<string, Texts["content"]>;
      };
      return got._meta["io.datalayer/partial-output"]?.[0]?.text === "rewritten";
    }, 20_000);
    await client.request("tasks/cancel", { taskId });
  });
});

describe("the processor", () => {
  it("may be taken for as long as the work likes; everybody else is served meanwhile", async () => {
    const { client } = await clientOf("spin");
    let worst = 0;
    let last = performance.now();
    const watch = setInterval(() => {
      worst = Math.max(worst, performance.now() - last);
      last = performance.now();
    }, 5);
    const spinMs = 2000;
    let isOver = false;
    const spinning = client.call("spin", { arguments: { ms: spinMs } }).finally(() => {
      isOver = true;
    });
    let pings = 0;
    for (; !isOver; pings += 1) {
      await client.request("ping");
      await pause(5);
    }
    clearInterval(watch);
    expect((await spinning).result).toMatchObject({ content: [{ text: "spun" }] });
    expect(pings).toBeGreaterThan(20);
    expect(worst).toBeLessThan(spinMs / 2);
  });
});

describe("cancelling", () => {
  it.each(["spinUntilCancelled", "spinUntilAborted", "untilCancelled"] as const)(
    "is seen by a handler that looks: %s",
    async (name) => {
      const { client } = await clientOf(name, { cancelGraceMs: 30_000 });
      const { taskId } = await client.callTask(name);
      await reaches(client, taskId, "ready");
      expect((await client.request("tasks/cancel", { taskId })).result).toMatchObject({ status: "cancelled" });
    },
  );

  it("ends the thread of one that does not, after its grace, and the next call has another", async () => {
    const { connect, tasks } = workers({ spin: { cancelGraceMs: 100 }, where: {} }, { workerThreads: { max: 1 } });
    const client = await connect();
    const { taskId } = await client.callTask("spin");
    await reaches(client, taskId, "ready");
    expect((await client.request("tasks/cancel", { taskId })).result).toMatchObject({ status: "cancelled" });
    expect(tasks.runtime.gauges).toMatchObject({ running: 0 });
    expect((await client.call("where")).result).toMatchObject({ structuredContent: { isMainThread: false } });
  });

  it("ends a direct call whose caller cancels", async () => {
    const { client } = await clientOf("spin", { cancelGraceMs: 100 }, { workerThreads: { max: 1 } });
    void client.request("tools/call", { name: "spin", arguments: {}, _meta: { progressToken: 1 } }, 5);
    await eventually(() => client.heard.some(({ method }) => method === "notifications/progress"));
    await client.send({ jsonrpc: "2.0", method: "notifications/cancelled", params: { requestId: 5 } });
    const { result } = await client.call("spin", { arguments: { ms: 1 } });
    expect(result).toMatchObject({ content: [{ text: "spun" }] });
  });

  it("calls the handler's interrupts where it is, then what escalates, then ends it", async () => {
    const folder = mkdtempSync(join(tmpdir(), "claimcheck-worker-"));
    onTestFinished(() => rmSync(folder, { recursive: true }));
    const file = join(folder, "log");
    const { client } = await clientOf("interrupted", { cancelGraceMs: 300 });
    const { taskId } = await client.callTask("interrupted", { arguments: { file } });
    await reaches(client, taskId, "ready");
    expect((await client.request("tasks/cancel", { taskId })).result).toMatchObject({ status: "cancelled" });
    expect(readFileSync(file, "utf8")).toBe("stop escalate ");
  });

  it("a call that waits for a thread gives up its turn, and is never run", async () => {
    const { client } = await clientOf("spin", { cancelGraceMs: 100 }, { workerThreads: { max: 1 } });
    const first = await client.callTask("spin", { arguments: { ms: 2000 } });
    const second = await client.callTask("spin");
    expect((await client.request("tasks/cancel", { taskId: second.taskId })).result).toMatchObject({
      status: "cancelled",
    });
    expect(await statusOf(client, first.taskId)).toMatchObject({ status: "working" });
    expect((await client.request("tasks/result", { taskId: first.taskId })).result).toMatchObject({
      content: [{ text: "spun" }],
    });
  });

  it("the run limit ends the thread, and the task fails", async () => {
    const { client } = await clientOf("spin", { maxRunMs: 200, cancelGraceMs: 100 });
    const { taskId } = await client.callTask("spin");
    await client.request("tasks/result", { taskId });
    expect(await statusOf(client, taskId)).toMatchObject({
      status: "failed",
      statusMessage: "Stopped after running for its limit of 200 ms.",
    });
  });

  it("closing ends the threads, of tasks and of direct calls; nothing is run after it", async () => {
    const { client, tasks } = await clientOf("spin", { cancelGraceMs: 100 });
    await client.callTask("spin");
    const direct = client.call("spin", { _meta: { progressToken: 1 } });
    await eventually(() => client.heard.some(({ method }) => method === "notifications/progress"));
    await tasks.close();
    // What spins was ended: it would have come to its result a minute later.
    expect((await direct).result).toMatchObject({ isError: true });
    expect((await client.call("spin")).result).toMatchObject({
      isError: true,
      content: [{ text: "The server is closing: no worker thread is used any more." }],
    });
  });
});

describe("a thread that goes wrong", () => {
  it.each([
    ["exit", "The worker thread ended with exit code 3 before the tool had returned."],
    ["eat", "The worker thread ran out of memory before the tool had returned."],
    ["throwFromTimer", "from a timer"],
    ["rejectUnheard", "unheard"],
  ] as const)("%s: the task fails honestly, and the next call has another thread", async (name, why) => {
    const options = { workerThreads: { max: 1, maxHeapMb: 64 } };
    const { connect } = workers({ [name]: {}, where: {} }, options);
    const client = await connect();
    const { taskId } = await client.callTask(name);
    await client.request("tasks/result", { taskId });
    expect(await statusOf(client, taskId)).toMatchObject({ status: "failed", statusMessage: why });
    expect((await client.call(name)).result).toMatchObject({ isError: true, content: [{ text: why }] });
    expect((await client.call("where")).result).toMatchObject({ structuredContent: { isMainThread: false } });
  });

  it("what a call leaves behind fails no other call, and its thread is given up", async () => {
    const { connect } = workers({ throwLater: {}, wait: {} }, { workerThreads: { max: 1 } });
    const client = await connect();
    const left = (await client.call("throwLater", { arguments: { ms: 500 } })).result as Texts;
    const during = (await client.call("wait", { arguments: { ms: 1500 } })).result as Texts;
    expect(during.content[0]?.text).toBe(left.content[0]?.text);
    const after = (await client.call("wait", { arguments: { ms: 0 } })).result as Texts;
    expect(after.content[0]?.text).not.toBe(left.content[0]?.text);
  });

  it("a call that comes while its thread ends of what was left behind is done by another", async () => {
    const { connect } = workers({ exitLater: {}, where: {} }, { workerThreads: { max: 1 } });
    const client = await connect();
    for (let round = 0; round < 3; round += 1) {
      expect((await client.call("exitLater", { arguments: { ms: 300 } })).result).toMatchObject({
        content: [{ text: "left" }],
      });
      expect((await client.call("where")).result).toMatchObject({ structuredContent: { isMainThread: false } });
    }
  });
});

describe("what a handler says in a shape that is none", () => {
  it("fails its call as on this event loop, and nothing else", async () => {
    const { connect } = workers({ where: {}, misspeak: {} }, { workerThreads: { max: 1 } });
    const client = await connect();
    for (const what of ["a message that is no text", "progress without options"]) {
      // The thread was not begun by the task whose call fails.
      await client.call("where");
      const answer = await resultOf(client, "misspeak", { what });
      expect.soft(answer).toMatchObject({ isError: true });
      expect.soft(answer).toEqual(renamed(await resultOf(client, "async_misspeak", { what })));
    }
    expect((await client.call("where")).result).toMatchObject({ structuredContent: { isMainThread: false } });
  });

  it("holds up neither its call nor those after it when it cannot be sent", async () => {
    const { client } = await clientOf("sayUncloneable", {}, { workerThreads: { max: 1 } });
    for (let i = 0; i < 2; i += 1)
      expect(await resultOf(client, "sayUncloneable")).toMatchObject({ content: [{ text: "dug" }] });
  });
});

describe("the threads", () => {
  it("that are being given up get no other call", async () => {
    let hear = (): void => {};
    const heard = new Promise<void>((resolve) => {
      hear = resolve;
    });
    const { connect } = workers(
      { throwLater: {}, where: {} },
      { workerThreads: { max: 1 }, logger: { ...silent, error: () => hear() } },
    );
    const client = await connect();
    await client.call("throwLater", { arguments: { ms: 10 } });
    await heard;
    expect((await client.call("where")).result).toMatchObject({ structuredContent: { isMainThread: false } });
  });

  it("are as many as may be, and used again", async () => {
    const { client } = await clientOf("wait", {}, { workerThreads: { max: 2 } });
    const all = await Promise.all(Array.from({ length: 8 }, () => client.call("wait", { arguments: { ms: 20 } })));
    const used = all.map(({ result }) => (result as { content: { text: string }[] }).content[0]?.text);
    expect(new Set(used).size).toBe(2);
  });

  it("without work are given up after their time, and the next call has another", async () => {
    const clock = new FakeClock();
    const { client } = await clientOf("wait", {}, { clock, workerThreads: { idleMs: 1000 } });
    const threadOf = async () => (await client.call("wait", { arguments: { ms: 0 } })).result?.content;
    const first = await threadOf();
    await clock.advance(999);
    expect(await threadOf()).toEqual(first);
    await clock.advance(1000);
    expect(await threadOf()).not.toEqual(first);
  });

  it("without work keep no process alive", () => {
    const program = fileURLToPath(new URL("../programs/leaves-a-thread-idle.mjs", import.meta.url));
    const { status, stdout, stderr } = spawnSync(process.execPath, [program], { encoding: "utf8", timeout: 50_000 });
    expect({ status, stdout, stderr }).toEqual({ status: 0, stdout: "spun\n", stderr: "" });
  });

  it("are taken in turn between owners", async () => {
    const { connect } = workers({ wait: {} }, { workerThreads: { max: 1 }, ownership: "session" });
    const [busy, other] = [await connect(), await connect()];
    const order: string[] = [];
    const all = Array.from({ length: 6 }, async () => {
      await busy.call("wait", { arguments: { ms: 100 } });
      order.push("busy");
    });
    // By then they have been heard.
    await busy.request("ping");
    await other.call("wait", { arguments: { ms: 1 } });
    order.push("other");
    await Promise.all(all);
    expect(order.indexOf("other")).toBeLessThan(3);
  });

  it("whoever waits for a person holds up nobody", async () => {
    const { connect } = workers({ ask: {}, where: {} }, { workerThreads: { max: 1 } });
    const client = await connect({ capabilities: { elicitation: {} } });
    const { taskId } = await client.callTask("ask");
    await eventually(async () => (await statusOf(client, taskId))?.status === "input_required");
    expect((await client.call("where")).result).toMatchObject({ structuredContent: { isMainThread: false } });
    await client.request("tasks/cancel", { taskId });
  });
});
