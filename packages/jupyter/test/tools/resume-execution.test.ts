import { directContext, HandedOverError, type JsonValue, type ToolContext } from "@claimcheck/core";
import { FakeClock, settle } from "@claimcheck/core/testing";
import { describe, expect, it } from "vitest";
import type { SharedKernel } from "../../src/execution/index.js";
import { JupyterError, type RecorderAnswer } from "../../src/kernel/index.js";
import { kernelOf, type RunCheckpoint, resumeExecution } from "../../src/tools/resume-execution.js";
import type { WaitArguments, Workbench } from "../../src/tools/workbench.js";

const KERNEL = { id: "k" } as SharedKernel;
const LEFT = { kernel: { id: "k", origin: "started" as const }, isRecorded: true, sessionId: "before" };

/** A Jupyter Server that answers as told, one answer after the other, the last one again and again. */
function server(...answers: (SharedKernel | Error)[]) {
  const asked: (string | undefined)[][] = [];
  const left = async (...args: [string, string?]): Promise<SharedKernel> => {
    const answer = answers[Math.min(asked.push(args), answers.length) - 1];
    if (answer instanceof Error) throw answer;
    return answer as SharedKernel;
  };
  return { asked, left };
}

function call() {
  const messages: (string | undefined)[] = [];
  const clock = new FakeClock();
  const { context, cancelSource } = directContext({}, undefined, {
    sendProgress: (_current, options) => messages.push(options?.message) > 0,
  });
  return { context: context as ToolContext, cancelSource, clock, messages };
}

const UNREACHABLE = new JupyterError("unreachable", "nobody answers");

describe("the kernel of a run that an earlier process left", () => {
  it("is found at once where its server answers, under a session of our own where it records", async () => {
    const { asked, left } = server(KERNEL);
    const { context, clock } = call();
    expect(await kernelOf(LEFT, { left }, context, clock)).toBe(KERNEL);
    expect(asked).toEqual([["k", undefined]]);
  });

  it("is spoken to under the session of the process that is gone where it records nothing", async () => {
    const { asked, left } = server(KERNEL);
    const { context, clock } = call();
    await kernelOf({ ...LEFT, isRecorded: false }, { left }, context, clock);
    expect(asked).toEqual([["k", "before"]]);
  });

  it("is waited for while its server comes up, and the task says so", async () => {
    const { left } = server(UNREACHABLE, UNREACHABLE, KERNEL);
    const { context, clock, messages } = call();
    const found = kernelOf(LEFT, { left }, context, clock);
    await clock.advance(4000);
    expect(await found).toBe(KERNEL);
    expect(messages[0]).toContain("waiting for the Jupyter Server: nobody answers");
    expect(clock.pending).toBe(0);
  });

  it("is given up after a minute without an answer, with what is wrong", async () => {
    const { left } = server(UNREACHABLE);
    const { context, clock } = call();
    const found = expect(kernelOf(LEFT, { left }, context, clock)).rejects.toBe(UNREACHABLE);
    await clock.advance(62_000);
    await found;
  });

  it("is waited for no longer once the task goes on in another process", async () => {
    const { left } = server(UNREACHABLE);
    const { context, clock, cancelSource } = call();
    const found = expect(kernelOf(LEFT, { left }, context, clock)).rejects.toBeInstanceOf(HandedOverError);
    await settle();
    cancelSource.cancel(new HandedOverError());
    await found;
  });

  it("is looked for as well where the task is cancelled, whatever the server says, since the run may go on there", async () => {
    for (const when of ["before", "meanwhile"]) {
      const { asked, left } = server(UNREACHABLE, new JupyterError("unauthorized", "wrong token"), UNREACHABLE, KERNEL);
      const { context, clock, cancelSource } = call();
      if (when === "before") cancelSource.cancel();
      const found = kernelOf(LEFT, { left }, context, clock);
      await settle();
      cancelSource.cancel();
      await clock.advance(3000);
      expect(asked.length).toBeLessThan(4);
      await clock.advance(6000);
      expect(await found).toBe(KERNEL);
      expect(clock.pending).toBe(0);
    }
  });

  it("that the server has no more has died; what else the server says is raised as it is", async () => {
    const { context, clock } = call();
    const gone = server(new JupyterError("not_found", "no such kernel"));
    await expect(kernelOf(LEFT, gone, context, clock)).rejects.toThrow(/^Kernel k died: the server has no such kernel/);
    const denied = new JupyterError("unauthorized", "wrong token");
    await expect(kernelOf(LEFT, server(denied), context, clock)).rejects.toBe(denied);
  });
});

describe("a run that cannot be collected after all", () => {
  const CHECKPOINT: RunCheckpoint = { ...LEFT, executionId: "e", process: "before", msgId: "sent", code: "x" };
  const LOG = { isKnown: true, messages: [], dropped: 0 };

  it.each<[why: string, answer: RecorderAnswer | Error, handedOver: boolean]>([
    ["as its log cannot be read", new JupyterError("unreachable", "nobody answers"), false],
    ["as the task goes on in another process", { process: "before", log: LOG }, true],
    ["as another process answers in the kernel's place", { process: "after", log: LOG }, false],
  ])("%s leaves nothing that is kept for it", async (_why, answer, handedOver) => {
    const { context, clock, cancelSource } = call();
    const expected = new Set<string>();
    const connection = { expect: (id: string) => expected.add(id), forget: (id: string) => expected.delete(id) };
    const read = async (): Promise<RecorderAnswer> => {
      expect([...expected]).toEqual(["sent"]);
      if (handedOver) cancelSource.cancel(new HandedOverError());
      if (answer instanceof Error) throw answer;
      return answer;
    };
    const kernel = { id: "k", connection, recorder: { read } } as unknown as SharedKernel;
    const site = { kernels: server(kernel), notebooks: {} };
    const bench = { clock, site: async () => site } as unknown as Workbench;
    const anew = () => Promise.reject(new Error("made anew"));
    const args = {} as WaitArguments;
    const resumed = resumeExecution(CHECKPOINT as unknown as JsonValue, context, bench, args, anew);
    await expect(resumed).rejects.toThrow(handedOver ? HandedOverError : /nobody answers|another process answers/);
    expect([...expected]).toEqual([]);
  });
});
