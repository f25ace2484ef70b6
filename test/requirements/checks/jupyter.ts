/** The page on tasks of datalayer's jupyter-mcp-server: the contract `io.datalayer/tasks`. */
import { tmpdir } from "node:os";
import { MemoryStore } from "@claimcheck/core";
import { FakeClock } from "@claimcheck/core/testing";
import { createTasks } from "@claimcheck/mcp";
import { McpServer } from "@modelcontextprotocol/server";
import { expect } from "vitest";
import { z } from "zod";
import { openStore } from "../../../packages/cli/src/store.js";
import { eventually } from "../../fixtures/eventually.js";
import { completion, workingTask } from "../../fixtures/working-task.js";
import { type Client, IDEMPOTENCY_KEY, resultOf } from "../../protocol/client.js";
import { type ChecksOf, ENDS, held, listed } from "./check.js";

const keyed = (key: string) => ({ _meta: { [IDEMPOTENCY_KEY]: key } });
const newKey = (client: Client) => `key ${client.nextId} ${Math.random()}`;

type LibraryId = "jupyter/store-that-cannot-be-loaded" | "jupyter/store-keeps-retention" | "jupyter/claimed-methods";

export const JUPYTER_CHECKS: Omit<ChecksOf<"jupyter">, LibraryId> = {
  "jupyter/only-when-asked": async ({ client }) => {
    expect(resultOf(await client.call("echo", { text: "a" })).structuredContent).toEqual({ text: "a" });
    for (const task of [{}, { ttl: 60_000 }]) {
      expect(resultOf(await client.call("echo", { text: "a" }, { task }))).toHaveProperty("task.taskId");
    }
  },
  "jupyter/claim-check": async ({ client }) => {
    const { task } = resultOf(await client.callTask("only_task", {}, { task: { ttl: 900_000 } }));
    expect(task).toEqual({
      taskId: expect.any(String),
      status: "working",
      createdAt: expect.any(String),
      lastUpdatedAt: expect.any(String),
      ttl: 900_000,
      pollInterval: 20,
    });
    expect(await client.create("helpers")).toMatchObject({ ttl: 900_000, pollInterval: 1000 });
  },
  "jupyter/retry-is-one-task": async ({ client }) => {
    const key = newKey(client);
    const first = await held(client, {}, keyed(key));
    // `held` gives each of its tasks a gate of its own, so the same call is made by hand.
    const again = newKey(client);
    const made = await Promise.all(
      Array.from({ length: 5 }, () => client.create("echo", { text: "once" }, keyed(again))),
    );
    expect(new Set(made.map(({ taskId }) => taskId)).size).toBe(1);
    expect(made[0]?.taskId).not.toBe(first.taskId);
    const ended = await client.ended(made[0]?.taskId ?? "");
    expect((await client.create("echo", { text: "once" }, keyed(again))).taskId).toBe(ended.taskId);
  },
  "jupyter/key-of-another-call": async ({ client }) => {
    const key = newKey(client);
    const args = { questions: [], together: true };
    const { taskId } = await client.create("asks", args, keyed(key));
    expect((await client.create("asks", { together: true, questions: [] }, keyed(key))).taskId).toBe(taskId);
    for (const [tool, others] of [
      ["asks", { ...args, questions: ["Who?"] }],
      ["helpers", {}],
    ] as const) {
      expect((await client.callTask(tool, others, keyed(key))).error?.code).toBe(-32602);
    }
  },
  "jupyter/key-lives-with-its-task": async ({ client }) => {
    const key = newKey(client);
    const { taskId } = await client.create("echo", { text: "a" }, { task: { ttl: 0 }, ...keyed(key) });
    await gone(client, taskId);
    expect((await client.create("echo", { text: "another call" }, keyed(key))).taskId).not.toBe(taskId);
  },
  "jupyter/key-without-task": async ({ client }) => {
    const key = newKey(client);
    for (const text of ["a", "b"]) {
      expect(resultOf(await client.call("echo", { text }, keyed(key))).structuredContent).toEqual({ text });
    }
  },
  "jupyter/five-states": async ({ client }) => {
    const working = await held(client);
    const { taskId: asking } = await client.create("asks", { questions: ["Who?"] });
    const waiting = await client.until(asking, ({ status }) => status !== "working");
    const ended = ["echo", "raises"].map(async (tool) =>
      client.ended((await client.create(tool, { text: "a" })).taskId),
    );
    const cancelled = resultOf(await client.request("tasks/cancel", { taskId: asking }));
    const all = [working, waiting, ...(await Promise.all(ended)), cancelled];
    expect(all.map(({ status }) => status)).toEqual(["working", "input_required", "completed", "failed", "cancelled"]);
  },
  "jupyter/newest-first": async ({ client }) => {
    const made: string[] = [];
    for (let n = 0; n < 5; n += 1) {
      made.push((await client.create("echo", { text: "a" })).taskId);
      // Two that were made in one millisecond are equally new.
      await new Promise((resolve) => setTimeout(resolve, 2));
    }
    const ids = (await listed(client)).map(({ taskId }) => taskId);
    expect(ids.filter((id) => made.includes(id))).toEqual(made.reverse());
  },
  "jupyter/no-update": async ({ client }) => {
    const { taskId } = await held(client);
    expect((await client.request("tasks/update", { taskId, inputResponses: {} })).error?.code).toBe(-32601);
  },
  "jupyter/failure-raises": async ({ client }) => {
    const { taskId } = await client.create("throws");
    expect(await client.ended(taskId)).toMatchObject({ status: "failed", statusMessage: "Out of disk." });
    const { error, result } = await client.request("tasks/result", { taskId });
    expect([error?.message, result]).toEqual(["Out of disk.", undefined]);
  },
  "jupyter/working-is-refused": async ({ client }) => {
    const { taskId } = await held(client);
    const { error } = await client.request("tasks/result", { taskId });
    expect(error).toMatchObject({ code: -32602, data: { status: "working", pollInterval: 20 } });
  },
  "jupyter/cancel-interrupts": async ({ client }) => {
    const task = await held(client);
    const answer = resultOf(await client.request("tasks/cancel", { taskId: task.taskId }));
    expect(answer).toMatchObject({ taskId: task.taskId, status: "cancelled" });
    expect(await task.notes()).toEqual(["started", "interrupted"]);
  },
  "jupyter/cancel-twice": async ({ client }) => {
    const { taskId } = await client.create("echo", { text: "a" });
    const ended = await client.ended(taskId);
    expect(resultOf(await client.request("tasks/cancel", { taskId }))).toEqual(ended);
  },
  "jupyter/helpers-outside-a-task": async ({ client }) => {
    const direct = resultOf(await client.call("helpers"));
    expect(direct.structuredContent).toMatchObject({ isTask: false, recorded: false, registered: false });
    const { taskId } = await client.create("helpers");
    await client.ended(taskId);
    const inTask = resultOf(await client.request("tasks/result", { taskId }));
    expect(inTask.structuredContent).toMatchObject({ isTask: true, recorded: true, registered: true });
  },
  "jupyter/cancelled-keeps-output": async ({ client }) => {
    const { taskId } = await held(client, { outputs: ["line 1", "line 2"] });
    await client.request("tasks/cancel", { taskId });
    const { content } = resultOf(await client.request("tasks/result", { taskId })) as { content: { text: string }[] };
    const text = content.map((block) => block.text).join("\n");
    // What was recorded last replaces what was before.
    expect([text.match(/line 1/g)?.length, text.match(/line 2/g)?.length]).toEqual([1, 1]);
  },
  "jupyter/cancelled-without-output": async ({ client }) => {
    const { taskId } = await held(client);
    await client.request("tasks/cancel", { taskId });
    const { error, result } = await client.request("tasks/result", { taskId });
    expect([error?.code, result]).toEqual([-32603, undefined]);
  },
  "jupyter/own-result-wins": async ({ client }) => {
    const task = await held(client, { outputs: ["half of it"], finishes: true });
    await client.request("tasks/cancel", { taskId: task.taskId });
    expect(await task.notes()).toEqual(["started", "interrupted", "finished"]);
    const { content } = resultOf(await client.request("tasks/result", { taskId: task.taskId }));
    expect(content).toEqual([{ type: "text", text: "let go" }]);
  },
  "jupyter/failure-keeps-output": async ({ client }) => {
    const { taskId } = await client.create("throws");
    await client.ended(taskId);
    const { error } = await client.request("tasks/result", { taskId });
    expect(error?.data).toEqual({ partialOutput: ["line 1", "line 2"] });
  },
  "jupyter/interrupt-that-fails": async ({ client }) => {
    const task = await held(client, { badInterrupt: true });
    const answer = resultOf(await client.request("tasks/cancel", { taskId: task.taskId }));
    expect(answer.status).toBe("cancelled");
    expect(await task.notes()).toContain("interrupted");
  },
  "jupyter/kept-for-its-ttl": async ({ client }) => {
    expect(await client.create("helpers")).toMatchObject({ ttl: 15 * 60_000 });
    const { ttl } = await client.create("helpers", {}, { task: { ttl: 1e12 } });
    expect(ttl).toBe(24 * 3_600_000);
    const { taskId } = await client.create("helpers", {}, { task: { ttl: 0 } });
    await gone(client, taskId);
  },
  "jupyter/expired-is-unknown": async ({ client }) => {
    const { taskId } = await client.create("echo", { text: "a" }, { task: { ttl: 0 } });
    await gone(client, taskId);
    for (const method of ["tasks/get", "tasks/result", "tasks/cancel"]) {
      const never = await client.request(method, { taskId: "tsk_0123456789abcdefghijkl" });
      expect(await client.request(method, { taskId })).toEqual(never);
    }
    expect((await listed(client)).map((task) => task.taskId)).not.toContain(taskId);
  },
  "jupyter/running-never-expires": async ({ client }) => {
    const { taskId, letGo } = await held(client, {}, { task: { ttl: 0 } });
    await new Promise((resolve) => setTimeout(resolve, 20));
    expect((await client.get(taskId)).status).toBe("working");
    await letGo();
    await gone(client, taskId);
  },
  "jupyter/poll-interval": async ({ client }) => {
    const created = await held(client);
    const got = await client.get(created.taskId);
    const inList = (await listed(client)).find(({ taskId }) => taskId === created.taskId);
    expect([created, got, inList].map((task) => task?.pollInterval)).toEqual([20, 20, 20]);
  },
  "jupyter/notified-at-the-end": async ({ client }) => {
    const task = await held(client, { outputs: ["line 1"] });
    await task.letGo();
    const isOfTask = (method: string, params: Record<string, unknown>) =>
      method === "notifications/tasks/status" && params.taskId === task.taskId;
    const { params } = await client.hear(({ method, params }) => isOfTask(method, params));
    expect(ENDS).toContain(params.status);
    for (const member of ["result", "content", "error"]) expect(params).not.toHaveProperty(member);
    expect(JSON.stringify(params)).not.toContain("let go");
  },
  "jupyter/extension-advertised": async ({ client }) => {
    const { capabilities } = (await client.initialize()) as {
      capabilities: { extensions: Record<string, unknown> };
    };
    expect(capabilities.extensions["io.datalayer/tasks"]).toMatchObject({ pollIntervalMs: 1000 });
  },
};

export const LIBRARY_CHECKS: Record<LibraryId, () => Promise<void>> = {
  "jupyter/store-that-cannot-be-loaded": async () => {
    await expect(openStore("no-such-package:Store", { cwd: tmpdir(), homeDir: tmpdir() })).rejects.toThrow(
      /no-such-package/,
    );
  },
  "jupyter/store-keeps-retention": async () => {
    const clock = new FakeClock();
    const store = new MemoryStore({ clock });
    const { taskId, owner, version } = await store.create(workingTask({ ttlMs: 1000, idempotencyKey: "k" }));
    await store.update(taskId, version, completion(clock.now()));
    const found = async () => [(await store.get(taskId))?.taskId, (await store.findByKey(owner, "k"))?.taskId];
    expect(await found()).toEqual([taskId, taskId]);
    await clock.advance(1001);
    expect(await found()).toEqual([undefined, undefined]);
  },
  "jupyter/claimed-methods": async () => {
    const server = new McpServer({ name: "claims", version: "0" });
    server.server.setRequestHandler("tasks/get", { params: z.looseObject({}) }, () => ({}));
    expect(() => createTasks().bind(server)).toThrow(/tasks\/get/);
  },
};

/** Resolves once the id is answered as one that never was. */
async function gone(client: Client, taskId: string): Promise<void> {
  await eventually(async () => (await client.request("tasks/get", { taskId })).error?.code === -32602);
}
