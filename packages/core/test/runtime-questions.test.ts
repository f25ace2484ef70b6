import { InProcessRunner, type JsonObject, type ToolHandler } from "@claimcheck/core";
import { settle } from "@claimcheck/core/testing";
import { describe, expect, it } from "vitest";
import { FaultyStore, outage } from "./kit/faulty-store.js";
import { type Bench, HeldHandler, openRuntime, taskOf } from "./kit/runtime.js";

const ASK = { method: "elicitation/create", params: { message: "Which one?" } };

async function keysOf({ get }: Bench, taskId: string): Promise<string[]> {
  return ((await get(taskId))?.questions ?? []).map(({ key }) => key);
}

async function asking(over: Parameters<typeof openRuntime>[1] = {}): Promise<{
  bench: Bench;
  taskId: string;
  task: ReturnType<typeof taskOf>;
  held: HeldHandler;
}> {
  const held = new HeldHandler();
  const bench = await openRuntime(held.handler, over);
  const { taskId } = await bench.start();
  await settle();
  return { bench, taskId, task: taskOf(held.contexts[0]), held };
}

describe("asking a person", () => {
  it("puts the question into the record, waits, and goes on with the answer", async () => {
    const { bench, taskId, task, held } = await asking();
    const answer = task.ask(ASK);
    await settle();
    const record = await bench.get(taskId);
    expect(record).toMatchObject({ status: "input_required", questions: [{ ...ASK, askedAt: bench.clock.now() }] });
    const [key = ""] = await keysOf(bench, taskId);
    expect(await bench.runtime.answer("alice", taskId, key, { action: "accept" })).toBe("accepted");
    expect(await answer).toEqual({ action: "accept" });
    expect(await bench.get(taskId)).toMatchObject({ status: "working", questions: [{ answer: { action: "accept" } }] });
    held.end();
  });

  it("two at once: an answer to one leaves the other open", async () => {
    const { bench, taskId, task, held } = await asking();
    const answers: JsonObject[] = [];
    const both = Promise.all([task.ask(ASK), task.ask({ ...ASK, params: { message: "Sure?" } })]);
    void both.then((given) => answers.push(...given));
    await settle();
    const [first = "", second = ""] = await keysOf(bench, taskId);
    await bench.runtime.answer("alice", taskId, second, { n: 2 });
    await settle();
    expect(answers).toEqual([]);
    expect(await bench.get(taskId)).toMatchObject({ status: "input_required" });
    await bench.runtime.answer("alice", taskId, first, { n: 1 });
    await settle();
    expect(answers).toEqual([{ n: 1 }, { n: 2 }]);
    held.end();
  });

  it("of twenty answers to one question the first counts and the others are ignored", async () => {
    const { bench, taskId, task, held } = await asking();
    const answer = task.ask(ASK);
    await settle();
    const [key = ""] = await keysOf(bench, taskId);
    const given = await Promise.all(
      Array.from({ length: 20 }, (_, n) => bench.runtime.answer("alice", taskId, key, { n })),
    );
    expect(given.filter((how) => how === "accepted")).toHaveLength(1);
    expect(await answer).toEqual({ n: given.indexOf("accepted") });
    expect(await bench.runtime.answer("alice", taskId, key, { n: 99 })).toBe("ignored");
    held.end();
  });

  it("three answers at once on a slow store are all kept", async () => {
    const store = new FaultyStore();
    const { bench, taskId, task, held } = await asking({ store });
    const answers = Promise.all([1, 2, 3].map((n) => task.ask({ ...ASK, params: { n } })));
    await settle();
    store.before = ({ method }) => (method === "update" ? new Promise((resolve) => setImmediate(resolve)) : undefined);
    const keys = await keysOf(bench, taskId);
    const given = await Promise.all(keys.map((key, n) => bench.runtime.answer("alice", taskId, key, { n })));
    expect(given).toEqual(["accepted", "accepted", "accepted"]);
    expect(await answers).toHaveLength(3);
    held.end();
  });

  it("a key is never used again: an answer that is sent twice does not answer the next question", async () => {
    const { bench, taskId, task, held } = await asking();
    const first = task.ask(ASK);
    await settle();
    const [key = ""] = await keysOf(bench, taskId);
    await bench.runtime.answer("alice", taskId, key, { n: 1 });
    await first;
    const second = task.ask(ASK);
    await settle();
    expect(await bench.runtime.answer("alice", taskId, key, { n: 1 })).toBe("ignored");
    expect(await bench.get(taskId)).toMatchObject({ status: "input_required" });
    const keys = await keysOf(bench, taskId);
    expect(new Set(keys).size).toBe(2);
    await bench.runtime.answer("alice", taskId, keys[1] ?? "", { n: 2 });
    expect(await second).toEqual({ n: 2 });
    held.end();
  });

  it("a question nobody answers in time is withdrawn, the tool is told so, and the task goes on", async () => {
    const { bench, taskId, task, held } = await asking();
    const answer = task.ask({ ...ASK, timeoutMs: 5000 });
    answer.catch(() => {});
    await bench.clock.advance(4999);
    expect(await bench.get(taskId)).toMatchObject({ status: "input_required" });
    await bench.clock.advance(1);
    await expect(answer).rejects.toMatchObject({ name: "QuestionWithdrawnError", reason: "timed_out" });
    const [key = ""] = await keysOf(bench, taskId);
    expect(await bench.get(taskId)).toMatchObject({
      status: "working",
      questions: [{ withdrawnAt: bench.clock.now() }],
    });
    expect(await bench.runtime.answer("alice", taskId, key, {})).toBe("ignored");
    expect(bench.clock.pending).toBeLessThanOrEqual(2);
    held.end();
  });

  it("an answer in time leaves no timer behind", async () => {
    const { bench, taskId, task, held } = await asking();
    const before = bench.clock.pending;
    for (let n = 0; n < 100; n += 1) {
      const answer = task.ask({ ...ASK, timeoutMs: 10 ** 9 });
      await settle();
      const key = (await keysOf(bench, taskId)).at(-1) ?? "";
      await bench.runtime.answer("alice", taskId, key, {});
      await answer;
    }
    expect(bench.clock.pending).toBeLessThanOrEqual(before + 1);
    held.end();
  });

  it("a question that could not be stored is the tool's error, and is not waited for", async () => {
    const store = new FaultyStore();
    const { bench, taskId, task, held } = await asking({ store });
    store.before = ({ method }) => (method === "update" ? outage() : undefined);
    await expect(task.ask(ASK)).rejects.toThrow("the store is out");
    store.before = () => {};
    expect(await keysOf(bench, taskId)).toEqual([]);
    held.end();
  });

  it("the end of the task withdraws what is still asked", async () => {
    const { bench, taskId, task, held } = await asking();
    const answer = task.ask(ASK);
    answer.catch(() => {});
    await settle();
    held.end();
    await expect(answer).rejects.toMatchObject({ reason: "task_ended" });
    expect(await bench.get(taskId)).toMatchObject({
      status: "completed",
      questions: [{ withdrawnAt: bench.clock.now() }],
    });
  });

  it("is somebody's own affair: another owner's answer is as that to a task that is not there", async () => {
    const { bench, taskId, task, held } = await asking();
    task.ask(ASK).catch(() => {});
    await settle();
    const [key = ""] = await keysOf(bench, taskId);
    expect(await bench.runtime.answer("bob", taskId, key, {})).toBeNull();
    expect(await bench.runtime.answer("alice", taskId, "__proto__", {})).toBe("ignored");
    expect(await bench.get(taskId)).toMatchObject({ status: "input_required" });
    held.end();
  });
});

describe("a task that waits for a person", () => {
  const ASKING: ToolHandler = async (args, context) => {
    if (args.asks === true) await taskOf(context).ask(ASK);
    return { kind: "result", result: {} };
  };

  it("takes no place of the runner's: two of two wait, and a third runs; what is answered goes on", async () => {
    const bench = await openRuntime(ASKING, { runner: new InProcessRunner({ concurrency: 2 }) });
    const waiting = [
      await bench.start({ arguments: { asks: true } }),
      await bench.start({ arguments: { asks: true } }),
    ];
    const third = await bench.start();
    await settle();
    expect(await bench.get(third.taskId)).toMatchObject({ status: "completed" });
    for (const { taskId } of waiting) {
      const [key = ""] = await keysOf(bench, taskId);
      await bench.runtime.answer("alice", taskId, key, {});
      await settle();
      expect(await bench.get(taskId)).toMatchObject({ status: "completed" });
    }
  });

  it("does so again once it works on", async () => {
    const held = new HeldHandler();
    const bench = await openRuntime(held.handler, { runner: new InProcessRunner({ concurrency: 1 }) });
    const { taskId } = await bench.start();
    await settle();
    const answer = taskOf(held.contexts[0]).ask(ASK);
    await settle();
    const [key = ""] = await keysOf(bench, taskId);
    await bench.runtime.answer("alice", taskId, key, {});
    await answer;
    await bench.start();
    await settle();
    expect(held.contexts).toHaveLength(1);
    held.end();
    await settle();
    expect(held.contexts).toHaveLength(2);
    held.end();
  });

  it("leaves its place free when it is cancelled, and takes it while work that does not stop goes on", async () => {
    const held = new HeldHandler();
    const bench = await openRuntime(held.handler, { runner: new InProcessRunner({ concurrency: 1 }) });
    const { taskId } = await bench.start();
    await settle();
    taskOf(held.contexts[0])
      .ask(ASK)
      .catch(() => {});
    await settle();
    const cancelled = bench.runtime.cancel("alice", taskId);
    await bench.clock.advance(60_000);
    expect((await cancelled)?.task.status).toBe("cancelled");
    await bench.start();
    await settle();
    expect(held.contexts).toHaveLength(1);
    held.end();
    await settle();
    expect(held.contexts).toHaveLength(2);
    held.end();
  });
});

describe("input without a question", () => {
  it("requireInput and setWorking set status and message, and answer whether they did", async () => {
    const { bench, taskId, task, held } = await asking();
    expect(await task.requireInput("Which one?")).toBe(true);
    expect(await bench.get(taskId)).toMatchObject({ status: "input_required", statusMessage: "Which one?" });
    expect(await task.setWorking("On it")).toBe(true);
    expect(await bench.get(taskId)).toMatchObject({ status: "working", statusMessage: "On it" });
    expect(await task.setWorking()).toBe(true);
    expect(await bench.get(taskId)).not.toHaveProperty("statusMessage");
    held.end();
  });
});
