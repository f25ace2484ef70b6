import { MemoryStore, type TaskRecord } from "@claimcheck/core";
import { FakeClock } from "@claimcheck/core/testing";
import { describe, expect, it } from "vitest";
import { costGrowth } from "../../../test/fixtures/growth.js";
import { liveTask, NOW, text } from "./kit/records.js";

function newStore(): { store: MemoryStore; clock: FakeClock } {
  const clock = new FakeClock(NOW);
  return { store: new MemoryStore({ clock }), clock };
}

const task = (n: number, over: Partial<TaskRecord> = {}): TaskRecord =>
  ({ ...liveTask({ taskId: `tsk_${n}`, createdAt: NOW + n }), ...over }) as TaskRecord;

async function finish(store: MemoryStore, taskId: string, finishedAt: number): Promise<void> {
  const outcome = { kind: "result" as const, result: text("done") };
  await store.update(taskId, 1, { status: "completed", outcome, finishedAt });
}

describe("the memory store", () => {
  it("a record that is written again after its end is swept once, and its neighbours are not", async () => {
    const { store, clock } = newStore();
    for (const n of [1, 2]) await store.create(task(n, { ttlMs: 1000 }));
    await finish(store, "tsk_1", NOW);
    await store.update("tsk_1", 2, { statusMessage: "again", finishedAt: NOW });
    await clock.advance(1000);
    expect(await store.sweep(10)).toBe(1);
    expect(await store.sweep(10)).toBe(0);
    expect((await store.list({ owner: "alice", limit: 10 })).tasks.map(({ taskId }) => taskId)).toEqual(["tsk_2"]);
  });

  it("sweeps no more than it is asked to, the first to expire first", async () => {
    const { store, clock } = newStore();
    for (let n = 0; n < 10; n += 1) {
      await store.create(task(n, { ttlMs: 1000 * (10 - n) }));
      await finish(store, `tsk_${n}`, NOW);
    }
    await clock.advance(3000);
    expect([await store.sweep(2), await store.sweep(2), await store.sweep(2)]).toEqual([2, 1, 0]);
    expect((await store.list({ limit: 100 })).tasks).toHaveLength(7);
  });

  it("keeps nothing of what has been swept, and a sweep costs no more the more there is", async () => {
    const growth = await costGrowth(1000, 10_000, async (steps) => {
      const { store, clock } = newStore();
      for (let n = 0; n < steps; n += 1) {
        await store.create(task(n, { ttlMs: 1000, owner: `o${n}`, idempotencyKey: "k" }));
        await finish(store, `tsk_${n}`, NOW);
      }
      await clock.advance(1000);
      while ((await store.sweep(500)) === 500);
      expect(await store.list({ limit: 1 })).toEqual({ tasks: [] });
      expect(await store.findByKey("o7", "k")).toBeNull();
    });
    expect(growth).toBeLessThan(5);
  });

  it("an id that is taken is refused and changes nothing", async () => {
    const { store } = newStore();
    await store.create(task(1, { idempotencyKey: "k" }));
    await expect(store.create(task(1, { owner: "bob" }))).rejects.toThrow("tsk_1 is taken");
    expect((await store.list({ limit: 10 })).tasks).toHaveLength(1);
    expect((await store.list({ owner: "bob", limit: 10 })).tasks).toEqual([]);
  });
});
