import assert from "node:assert/strict";
import { setTimeout as sleep } from "node:timers/promises";
import type { TaskStore } from "@claimcheck/core";
import { type CaseGroup, promised } from "../case.js";
import type { CaseContext } from "../case-context.js";

const REJECTS = "A store that is broken rejects; the caller takes nothing for granted then";

export const outageCases: CaseGroup = {
  name: "outage and recovery",
  cases: [
    promised(
      REJECTS,
      async (context) => {
        const { store } = context;
        const task = await context.create({ idempotencyKey: "key" });
        const [record, completion] = [await context.newTask(), await context.completion()];
        await context.breakDown();
        const calls: Record<string, () => Promise<unknown>> = {
          get: () => store.get(task.taskId),
          "get of what is not there": () => store.get("tsk_unknown"),
          list: () => store.list({ limit: 1 }),
          findByKey: () => store.findByKey("owner", "key"),
          create: () => store.create(record),
          update: () => store.update(task.taskId, task.version, completion),
        };
        for (const [name, call] of Object.entries(calls)) await assertRejects(context, name, call);
      },
      { needs: ["outage"] },
    ),
    promised(
      REJECTS,
      async (context) => {
        const held = await context.create({ idempotencyKey: "key" });
        const done = await context.finish(await context.create());
        const again = await context.newTask({ idempotencyKey: "key" });
        await outage(context);
        const { store } = context;
        for (const task of [held, done]) assert.deepEqual(await store.get(task.taskId), task);
        assert.deepEqual(await store.create(again), held);
        assert.equal((await context.listAll()).length, 2);
        assert.deepEqual(await store.get(held.taskId), held);
        await context.finish(held);
      },
      { detail: "afterwards it works by itself, and has what was acknowledged", needs: ["outage"] },
    ),
    promised(
      REJECTS,
      async (context) => {
        const { store } = context;
        const first = await context.newTask({ idempotencyKey: "key" });
        const retry = await context.newTask({ idempotencyKey: "key" });
        await outage(context, () => store.create(first));
        const stored = await store.create(retry);
        assert.deepEqual(stored, stored.taskId === first.taskId ? first : retry);
        assert.deepEqual(await store.findByKey("owner", "key"), stored);
        assert.deepEqual(await context.listAll(), [stored.taskId]);
      },
      { detail: "a retry of a create that was rejected makes one task, whole", needs: ["outage"] },
    ),
    promised(
      REJECTS,
      async (context) => {
        const { store } = context;
        const task = await context.create();
        const completion = await context.completion();
        await outage(context, () => store.update(task.taskId, task.version, completion));
        const now = await store.get(task.taskId);
        const whole = { ...task, ...completion, version: task.version + 1 };
        assert.deepEqual(now, now?.version === task.version ? task : whole);
      },
      { detail: "an update that was rejected has happened whole or not at all", needs: ["outage"] },
    ),
    promised(REJECTS, (context) => assertHeardAgain(context, context.store), {
      detail: "signals come back",
      needs: ["outage", "signals"],
    }),
    promised(REJECTS, async (context) => assertHeardAgain(context, await context.openAnother()), {
      detail: "signals between processes come back",
      needs: ["outage", "signals", "openAnother"],
    }),
  ],
};

/** Breaks the back end, has `call` rejected meanwhile, and mends it. */
async function outage(context: CaseContext, call: () => Promise<unknown> = () => context.store.get("tsk_unknown")) {
  await context.breakDown();
  await assertRejects(context, "the call", call);
  await context.mend();
}

async function assertRejects(context: CaseContext, name: string, call: () => Promise<unknown>): Promise<void> {
  const answer = await Promise.race([
    call().then(
      (value) => `answered ${JSON.stringify(value)}`,
      () => "rejected",
    ),
    sleep(context.outageWithinMs, `had not answered after ${context.outageWithinMs} ms`, { ref: false }),
  ]);
  assert.equal(answer, "rejected", `${name}, while the back end is out`);
}

/** A listener that was there before the outage hears of a change that comes after it. */
async function assertHeardAgain(context: CaseContext, listening: TaskStore): Promise<void> {
  const heard: (string | null)[] = [];
  listening.signals?.subscribe((taskId) => heard.push(taskId));
  await outage(context);
  const task = await context.changed(await context.create(), { statusMessage: "changed" });
  for (const until = Date.now() + context.outageWithinMs; ; await sleep(20)) {
    // Those that are published before the wire is back may be lost.
    context.store.signals?.publish(task.taskId);
    if (heard.includes(task.taskId)) return;
    assert(Date.now() < until, `no listener was called within ${context.outageWithinMs} ms of the outage`);
  }
}
