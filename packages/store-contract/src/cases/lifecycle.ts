import assert from "node:assert/strict";
import { format } from "node:util";
import { type CaseGroup, promised } from "../case.js";
import type { CaseContext } from "../case-context.js";

export const lifecycleCases: CaseGroup = {
  name: "lifecycle",
  cases: [
    promised("May be called again: a second call changes nothing", async (context) => {
      const task = await context.create({ idempotencyKey: "key" });
      await context.store.open?.();
      await Promise.all([context.store.open?.(), context.store.open?.()]);
      assert.deepEqual(await context.store.get(task.taskId), task);
      assert.deepEqual(await context.store.findByKey("owner", "key"), task);
    }),
    promised("May be called again", async ({ store }) => {
      await store.close?.();
      await store.close?.();
      await Promise.all([store.close?.(), store.close?.()]);
    }),
    promised("A store never logs a payload", async (context) => {
      const { written, errors } = await withCapturedOutput(() => useSecretly(context));
      assert(!written.includes(SECRET), "a payload was written to the console");
      assert(errors.length > 0, "the case provokes no error");
      for (const error of errors) assert(!format(error).includes(SECRET), "an error carries a payload");
    }),
  ],
};

const SECRET = "c0nfidential-payl0ad";

/** Uses every method with payloads that hold {@link SECRET}; answers the errors that were met. */
async function useSecretly(context: CaseContext): Promise<unknown[]> {
  const { store } = context;
  const payloads = { arguments: { password: SECRET }, request: { token: SECRET }, idempotencyKey: SECRET };
  const task = await context.create(payloads);
  const errors: unknown[] = [];
  const note = (error: unknown): void => void errors.push(error);
  const partialOutput = [SECRET];
  await store.create(await context.newTask({ taskId: task.taskId, ...payloads, idempotencyKey: "other" })).catch(note);
  await store.update(task.taskId, task.version, { partialOutput, checkpoint: { secret: SECRET } });
  await store.update(task.taskId, task.version, { partialOutput });
  await store.list({ limit: 1, cursor: "no cursor" }).catch(note);
  await store.list({ limit: 1 });
  await store.findByKey("owner", SECRET);
  await context.sweepAll();
  return errors;
}

const CONSOLE_METHODS = ["log", "info", "warn", "error", "debug", "trace", "dir"] as const;

/** What `use` wrote, by the console or straight to the standard streams. */
async function withCapturedOutput(use: () => Promise<unknown[]>): Promise<{ written: string; errors: unknown[] }> {
  const chunks: string[] = [];
  const restore: (() => void)[] = [];
  const capture = <T extends object>(target: T, method: keyof T): void => {
    const original = target[method];
    target[method] = ((...values: unknown[]) => chunks.push(format(...values)) > 0) as T[keyof T];
    restore.push(() => {
      target[method] = original;
    });
  };
  for (const method of CONSOLE_METHODS) capture(console, method);
  capture(process.stdout, "write");
  capture(process.stderr, "write");
  try {
    return { errors: await use(), written: chunks.join("\n") };
  } finally {
    for (const undo of restore) undo();
  }
}
