import { getEventListeners } from "node:events";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { settle } from "@claimcheck/core/testing";
import { describe, expect, it, onTestFinished } from "vitest";
import { HeldHandler, openRuntime, taskOf } from "./kit/runtime.js";

setFlagsFromString("--expose-gc");
const collectGarbage = runInNewContext("gc") as () => void;

const nothing = (): void => {};

function leaveBehind(): void {
  const kept = setInterval(nothing, 10 ** 6);
  onTestFinished(() => clearInterval(kept));
}

/** What a task was given and what it brought, to see whether anything still holds it. */
async function runOne(): Promise<Record<string, WeakRef<object>>> {
  const { runtime, start } = await openRuntime((args, context) => {
    // As a connection that outlives the call that opened it does, this holds the task that it was made in.
    leaveBehind();
    taskOf(context).recordOutput([args]);
    taskOf(context).registerInterrupt(() => context);
    const result = { big: "x".repeat(1000) };
    refs.result = new WeakRef<object>(result);
    refs.context = new WeakRef<object>(context);
    return { kind: "result", result };
  });
  const input = { parsed: true };
  const args = { n: 1 };
  const refs: Record<string, WeakRef<object>> = { input: new WeakRef(input), arguments: new WeakRef(args) };
  const { taskId } = await start({ arguments: args, input });
  await runtime.wait("alice", taskId);
  await settle();
  return refs;
}

describe("a task that has ended", () => {
  it("is held by nothing in the runtime, though its handler left something running behind", async () => {
    const refs = await runOne();
    await settle();
    await new Promise((resolve) => setTimeout(resolve, 10));
    collectGarbage();
    for (const [what, ref] of Object.entries(refs)) expect(`${what} ${ref.deref() === undefined}`).toBe(`${what} true`);
  });

  it("leaves no listener on its signal but the tool's own, after ten thousand calls of its helpers", async () => {
    const held = new HeldHandler();
    const { start } = await openRuntime(held.handler);
    await start();
    await settle();
    const context = held.contexts[0];
    for (let n = 0; n < 10_000; n += 1) {
      taskOf(context).sendProgress(n);
      void context?.cancelToken.wait();
    }
    expect(getEventListeners(context?.signal as AbortSignal, "abort")).toEqual([]);
    held.end();
  });
});
