import { CancelledError, directContext } from "@claimcheck/core";
import { describe, expect, it } from "vitest";
import { CancelSource } from "../src/cancel-source.js";

describe("a cancel source", () => {
  it("once cancelled says so by token, by signal and to everybody who waits, and stays so", async () => {
    const source = new CancelSource();
    const { signal } = source;
    const waiting = [source.wait(), source.wait()];
    expect(source.isCancelled()).toBe(false);
    expect(() => source.checkCancelled()).not.toThrow();
    source.cancel();
    source.cancel();
    source.close();
    expect(source.isCancelled()).toBe(true);
    expect(() => source.checkCancelled()).toThrow(CancelledError);
    expect(signal.aborted && signal.reason).toBeInstanceOf(CancelledError);
    expect(await Promise.all([...waiting, source.wait()])).toEqual([true, true, true]);
  });

  it("a signal that is first asked for after the cancellation is aborted already", () => {
    const source = new CancelSource();
    source.cancel();
    expect(source.signal.aborted).toBe(true);
    expect(source.signal).toBe(source.signal);
  });

  it("once closed answers false to who waits, and cannot be cancelled any more", async () => {
    const source = new CancelSource();
    const waiting = source.wait();
    source.close();
    source.cancel();
    expect(await waiting).toBe(false);
    expect(await source.wait()).toBe(false);
    expect(source.signal.aborted).toBe(false);
  });

  it("ten thousand waits on one call keep one promise", () => {
    const { context } = directContext({}, undefined);
    const first = context.cancelToken.wait();
    for (let n = 0; n < 10_000; n += 1) expect(context.cancelToken.wait() === first).toBe(true);
  });
});
