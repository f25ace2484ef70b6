import { InProcessRunner } from "@claimcheck/core";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { costGrowth } from "../../../test/fixtures/growth.js";

/** A host whose runs end when the test says so. */
class Host {
  readonly started: string[] = [];
  readonly #ends = new Map<string, () => void>();

  run(taskId: string): Promise<void> {
    this.started.push(taskId);
    return new Promise((resolve) => this.#ends.set(taskId, resolve));
  }

  get running(): number {
    return this.#ends.size;
  }

  async end(taskId: string): Promise<void> {
    this.#ends.get(taskId)?.();
    this.#ends.delete(taskId);
    await new Promise((resolve) => setImmediate(resolve));
  }
}

function newRunner(concurrency: number): { runner: InProcessRunner; host: Host } {
  const runner = new InProcessRunner({ concurrency });
  const host = new Host();
  runner.open(host);
  return { runner, host };
}

describe("the in-process runner", () => {
  it("runs as many at a time as it was told, and the next as soon as one has settled", async () => {
    const { runner, host } = newRunner(2);
    for (const taskId of ["a", "b", "c", "d"]) runner.submit({ owner: "o", taskId }, false);
    expect(host.started).toEqual(["a", "b"]);
    await host.end("b");
    expect(host.started).toEqual(["a", "b", "c"]);
    await host.end("a");
    expect(host.started).toEqual(["a", "b", "c", "d"]);
  });

  it("takes owners in turn, so that a backlog of one holds up nobody else", async () => {
    const { runner, host } = newRunner(1);
    for (let n = 0; n < 1000; n += 1) runner.submit({ owner: "greedy", taskId: `g${n}` }, false);
    for (const taskId of ["x1", "x2"]) runner.submit({ owner: "x", taskId }, false);
    runner.submit({ owner: "y", taskId: "y1" }, false);
    for (let turn = 0; turn < 6; turn += 1) await host.end(host.started.at(-1) as string);
    expect(host.started).toEqual(["g0", "g1", "x1", "y1", "g2", "x2", "g3"]);
  });

  it("gives the place of a task that waits for a person to the next, and counts the task again when it goes on", async () => {
    const { runner, host } = newRunner(1);
    for (const taskId of ["a", "b", "c"]) runner.submit({ owner: "o", taskId }, false);
    runner.setWaiting("a", true);
    runner.setWaiting("a", true);
    expect(host.started).toEqual(["a", "b"]);
    runner.setWaiting("a", false);
    await host.end("b");
    expect(host.started).toEqual(["a", "b"]);
    await host.end("a");
    expect(host.started).toEqual(["a", "b", "c"]);
  });

  it("frees no place twice: of a task that ends while it waits", async () => {
    const { runner, host } = newRunner(1);
    for (const taskId of ["a", "b", "c"]) runner.submit({ owner: "o", taskId }, false);
    runner.setWaiting("a", true);
    await host.end("a");
    expect(host.started).toEqual(["a", "b"]);
    await host.end("b");
    expect(host.started).toEqual(["a", "b", "c"]);
  });

  it("gives nobody a place past those who queue", () => {
    const { runner } = newRunner(1);
    expect(runner.reserve()).toBe(true);
    runner.submit({ owner: "a", taskId: "a" }, false);
    expect(runner.reserve()).toBe(false);
  });

  it("a place that was reserved and is given back goes to whoever queues", () => {
    const { runner, host } = newRunner(1);
    runner.reserve();
    runner.submit({ owner: "a", taskId: "a" }, false);
    expect(host.started).toEqual([]);
    runner.unreserve();
    expect(host.started).toEqual(["a"]);
  });

  it("a task that is removed never runs; one that has started, or is not here, is not removed", async () => {
    const { runner, host } = newRunner(1);
    for (const taskId of ["a", "b", "c"]) runner.submit({ owner: "o", taskId }, false);
    expect(runner.remove({ owner: "o", taskId: "a" })).toBe(false);
    expect(runner.remove({ owner: "other", taskId: "b" })).toBe(false);
    expect(runner.remove({ owner: "o", taskId: "b" })).toBe(true);
    expect(runner.remove({ owner: "o", taskId: "b" })).toBe(false);
    await host.end("a");
    expect(host.started).toEqual(["a", "c"]);
  });

  it("a host that rejects frees the place all the same", async () => {
    const runner = new InProcessRunner({ concurrency: 1 });
    let runs = 0;
    runner.open({
      run: () => {
        runs += 1;
        return Promise.reject(new Error("no"));
      },
    });
    for (const taskId of ["a", "b"]) runner.submit({ owner: "o", taskId }, false);
    await new Promise((resolve) => setImmediate(resolve));
    expect(runs).toBe(2);
  });

  it("starts nothing once it is closed, and begins with all its places when it is opened again", async () => {
    const { runner, host } = newRunner(2);
    runner.submit({ owner: "o", taskId: "a" }, false);
    expect(runner.reserve()).toBe(true);
    runner.submit({ owner: "o", taskId: "queued" }, false);
    runner.close();
    expect(runner.reserve()).toBe(false);
    runner.submit({ owner: "o", taskId: "reserved" }, true);
    await host.end("a");
    expect(host.started).toEqual(["a"]);
    runner.open(host);
    expect([runner.reserve(), runner.reserve(), runner.reserve()]).toEqual([true, true, false]);
  });

  it("whatever is submitted, removed and ended: never too many, nothing lost, nothing twice, in order for each owner", async () => {
    const step = fc.oneof(
      { weight: 3, arbitrary: fc.record({ submit: fc.constantFrom("a", "b", "c") }) },
      { weight: 1, arbitrary: fc.record({ remove: fc.nat() }) },
      { weight: 2, arbitrary: fc.record({ end: fc.nat() }) },
    );
    await fc.assert(
      fc.asyncProperty(
        fc.integer({ min: 1, max: 3 }),
        fc.array(step, { maxLength: 40 }),
        async (concurrency, steps) => {
          const { runner, host } = newRunner(concurrency);
          const submitted: { owner: string; taskId: string }[] = [];
          const removed = new Set<string>();
          const ended = new Set<string>();
          for (const todo of steps) {
            if ("submit" in todo) {
              const submission = { owner: todo.submit, taskId: `${todo.submit}${submitted.length}` };
              submitted.push(submission);
              runner.submit(submission, false);
            } else if ("remove" in todo) {
              const target = submitted[todo.remove % Math.max(1, submitted.length)];
              if (target !== undefined && runner.remove(target)) removed.add(target.taskId);
            } else await endOne(host, ended, todo.end);
            expect(host.running).toBeLessThanOrEqual(concurrency);
          }
          while (host.running > 0) await endOne(host, ended, 0);
          const kept = submitted.filter(({ taskId }) => !removed.has(taskId));
          expect(new Set(host.started)).toEqual(new Set(kept.map(({ taskId }) => taskId)));
          expect(host.started).toHaveLength(kept.length);
          for (const owner of ["a", "b", "c"]) {
            const mine = host.started.filter((taskId) => taskId.startsWith(owner));
            expect(mine).toEqual(kept.filter((task) => task.owner === owner).map(({ taskId }) => taskId));
          }
        },
      ),
      { numRuns: 100 },
    );
  });

  it("one of fifty thousand that queue costs no more than one of a few, run or removed", async () => {
    const growth = await costGrowth(2000, 50_000, async (steps) => {
      const runner = new InProcessRunner({ concurrency: 1 });
      let runs = 0;
      const run = async (): Promise<void> => {
        runs += 1;
      };
      runner.open({ run });
      runner.reserve();
      for (let n = 0; n < steps; n += 1) runner.submit({ owner: `o${n % 10}`, taskId: `t${n}` }, false);
      for (let n = 0; n < steps / 2; n += 1) runner.remove({ owner: `o${n % 10}`, taskId: `t${n}` });
      runner.unreserve();
      while (runs < steps / 2) await new Promise((resolve) => setImmediate(resolve));
    });
    expect(growth).toBeLessThan(5);
  });

  it.each([0, -1, 1.5, Number.NaN])("refuses a concurrency of %s", (concurrency) => {
    expect(() => new InProcessRunner({ concurrency })).toThrow("at least 1");
  });
});

async function endOne(host: Host, ended: Set<string>, which: number): Promise<void> {
  const running = host.started.filter((taskId) => !ended.has(taskId));
  const taskId = running[which % Math.max(1, running.length)];
  if (taskId === undefined) return;
  ended.add(taskId);
  await host.end(taskId);
}
