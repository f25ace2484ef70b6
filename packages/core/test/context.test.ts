import {
  directContext,
  InProcessRunner,
  type JsonValue,
  recordOutput,
  registerInterrupt,
  type TaskNews,
} from "@claimcheck/core";
import { settle } from "@claimcheck/core/testing";
import { describe, expect, it } from "vitest";
import { ambientTask } from "../src/context.js";
import { text } from "./kit/records.js";
import { openRuntime, taskOf } from "./kit/runtime.js";

const someTurns = async (n: number): Promise<void> => {
  for (let turn = 0; turn < n % 7; turn += 1) await new Promise((resolve) => setImmediate(resolve));
};

describe("the ambient helpers", () => {
  it("answer false and do nothing outside a task", () => {
    let called = false;
    expect(registerInterrupt(() => (called = true))).toBe(false);
    expect(recordOutput(["lost"])).toBe(false);
    expect(ambientTask()).toBeUndefined();
    expect(called).toBe(false);
  });

  it("mean the task they are called in, however deep, also after awaits and from timers", async () => {
    const deep = async (): Promise<boolean[]> => {
      await Promise.resolve();
      const fromTimer = await new Promise<boolean>((resolve) => setImmediate(() => resolve(recordOutput(["timer"]))));
      return [registerInterrupt(() => {}), fromTimer, ambientTask() !== undefined];
    };
    const { runtime, start } = await openRuntime(async () => ({ kind: "result", result: { answers: await deep() } }));
    const { taskId } = await start();
    expect(await runtime.wait("alice", taskId)).toMatchObject({ outcome: { result: { answers: [true, true, true] } } });
  });

  it("a hundred tasks at once never mix: context, progress, output, and the interrupt of the one that is cancelled", async () => {
    const interrupted: JsonValue[] = [];
    const { runtime, start } = await openRuntime(
      async (args, context) => {
        const n = args.n as number;
        await someTurns(n);
        const before = ambientTask()?.taskId;
        registerInterrupt(() => interrupted.push(n));
        await someTurns(n * 3);
        recordOutput([n]);
        taskOf(context).sendProgress(n);
        await someTurns(n * 5);
        const same = before === taskOf(context).taskId && ambientTask()?.taskId === before;
        if (n % 10 === 0) await context.cancelToken.wait();
        if (n % 10 === 0) throw new Error("stopped");
        return { kind: "result", result: text(`${n} ${same}`) };
      },
      { runner: new InProcessRunner({ concurrency: 100 }) },
    );
    const tasks = await Promise.all(Array.from({ length: 100 }, (_, n) => start({ arguments: { n } })));
    for (let turn = 0; turn < 60; turn += 1) await settle();
    for (const [n, { taskId }] of tasks.entries()) {
      if (n % 10 !== 0) {
        expect(await runtime.get("alice", taskId)).toMatchObject({ outcome: { result: text(`${n} true`) } });
        continue;
      }
      const cancelled = await runtime.cancel("alice", taskId);
      expect(cancelled?.task).toMatchObject({ status: "cancelled", partialOutput: [n], progress: { current: n } });
      expect(interrupted.at(-1)).toBe(n);
    }
    expect(interrupted).toHaveLength(10);
  });

  it("called by what a finished task left behind answer false", async () => {
    let late: boolean | undefined;
    const { start } = await openRuntime(() => {
      setImmediate(() => setImmediate(() => (late = recordOutput(["late"]))));
      return { kind: "result", result: {} };
    });
    await start();
    await settle();
    expect(late).toBe(false);
  });
});

describe("the context of a task", () => {
  it("has helpers that may be taken out of it", async () => {
    const heard: TaskNews["type"][] = [];
    const { runtime, start } = await openRuntime((_args, { sendProgress, log, cancelToken, signal, task }) => {
      const said = [sendProgress(1), log("info", "one"), signal.aborted, cancelToken.isCancelled(), task !== null];
      return { kind: "result", result: { said } };
    });
    const { taskId } = await start({ watcher: (news) => heard.push(news.type) > 0 });
    const said = [true, true, false, false, true];
    expect(await runtime.wait("alice", taskId)).toMatchObject({ outcome: { result: { said } } });
    expect(heard.slice(0, 2)).toEqual(["progress", "log"]);
  });
});

describe("the context of a direct call", () => {
  it("has no task, keeps request and input, and stops when its caller cancels", async () => {
    const { context, cancelSource } = directContext({ principal: "p" }, { n: 1 });
    expect(context).toMatchObject({ task: null, request: { principal: "p" }, input: { n: 1 } });
    const waiting = context.cancelToken.wait();
    cancelSource.cancel();
    expect(context.signal.aborted).toBe(true);
    expect(await waiting).toBe(true);
  });
});
