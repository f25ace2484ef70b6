import assert from "node:assert/strict";
import type { StoreSignals, TaskRecord, TaskStore } from "@claimcheck/core";
import { type CaseGroup, promised } from "../case.js";
import type { CaseContext } from "../case-context.js";

const CALLS = "Calls `listener` when some process changed a task; with `null` when it can't be said which";

export const signalCases: CaseGroup = {
  name: "signals",
  cases: [
    promised("Says that the task changed", async (context) => assertHeard(context, context.store), {
      needs: ["signals"],
    }),
    promised(CALLS, async (context) => assertHeard(context, await context.openAnother()), {
      needs: ["signals", "openAnother"],
    }),
    promised(
      CALLS,
      async (context) => {
        const other = await context.openAnother();
        const [first, second] = [new Ear(signalsOf(other)), new Ear(signalsOf(other))];
        await change(context);
        await first.hears(context.signalWithinMs);
        await second.hears(context.signalWithinMs);
      },
      { detail: "each of several listeners", needs: ["signals", "openAnother"] },
    ),
    promised(
      "Never throws, never waits",
      async (context) => {
        const signals = signalsOf(context.store);
        for (const taskId of ["tsk_unknown", "", "\0", "x".repeat(100_000)]) {
          assert.equal(signals.publish(taskId), undefined);
        }
        await context.store.close?.();
        assert.equal(signals.publish("tsk_unknown"), undefined);
      },
      { detail: "whatever it is given, and closed as well", needs: ["signals"] },
    ),
    promised(
      "Never throws, never waits",
      async (context) => {
        const task = await context.create();
        let heard = false;
        signalsOf(context.store).subscribe(() => {
          heard = true;
        });
        signalsOf(context.store).publish(task.taskId);
        assert(!heard, "the listener ran inside publish");
      },
      { needs: ["signals"] },
    ),
    promised(
      "a function that stops the calls",
      async (context) => {
        const signals = signalsOf(context.store);
        const [gone, staying] = [new Ear(signals), new Ear(signals)];
        gone.close();
        gone.close();
        await change(context);
        await staying.hears(context.signalWithinMs);
        assert.equal(gone.count, 0);
      },
      { needs: ["signals"] },
    ),
  ],
};

function signalsOf(store: TaskStore): StoreSignals {
  assert(store.signals !== undefined, "the store has no signals");
  return store.signals;
}

/** Changes a task through the context's store, and says so as the runtime does. */
async function change(context: CaseContext): Promise<TaskRecord> {
  const task = await context.changed(await context.create(), { statusMessage: "changed" });
  signalsOf(context.store).publish(task.taskId);
  return task;
}

/** A listener at `store` hears of a change that the context's store makes. */
async function assertHeard(context: CaseContext, store: TaskStore): Promise<void> {
  const ear = new Ear(signalsOf(store));
  const task = await change(context);
  await ear.hears(context.signalWithinMs, (taskId) => taskId === null || taskId === task.taskId);
}

/** Listens and keeps what it heard. */
class Ear {
  readonly #heard: (string | null)[] = [];
  readonly #stop: () => void;
  #woken: () => void = () => {};

  constructor(signals: StoreSignals) {
    this.#stop = signals.subscribe((taskId) => {
      this.#heard.push(taskId);
      this.#woken();
    });
  }

  get count(): number {
    return this.#heard.length;
  }

  close(): void {
    this.#stop();
  }

  /** Resolves once something that `matches` was heard. */
  async hears(withinMs: number, matches: (taskId: string | null) => boolean = () => true): Promise<void> {
    let timer: NodeJS.Timeout | undefined;
    const late = new Promise<never>((_resolve, reject) => {
      const error = new assert.AssertionError({ message: `no listener was called within ${withinMs} ms` });
      timer = setTimeout(() => reject(error), withinMs);
    });
    try {
      while (!this.#heard.some(matches)) {
        const woken = new Promise<void>((resolve) => {
          this.#woken = resolve;
        });
        await Promise.race([woken, late]);
      }
    } finally {
      clearTimeout(timer);
      this.close();
    }
  }
}
