/** Core tasks of revision 2025-11-25, and progress of them. */
import { expect } from "vitest";
import { type Client, IDEMPOTENCY_KEY, RELATED_TASK, resultOf, type WireTask } from "../../protocol/client.js";
import { RAISED } from "../../protocol/tools.js";
import { type ChecksOf, ENDS, held, isInstant, listed, lookRandom } from "./check.js";

const UNKNOWN = "tsk_0123456789abcdefghijkl";
const METHODS_OF_ONE = ["tasks/get", "tasks/result", "tasks/cancel"];
const accept = (name: string) => ({ action: "accept", content: { name } });

/** Every task that the server shows of one: created, got, listed, cancelled. */
async function everyAnswer(client: Client): Promise<WireTask[]> {
  const task = await held(client);
  const { taskId } = task;
  const inList = (await listed(client)).filter((each) => each.taskId === taskId);
  const got = await client.get(taskId);
  const cancelled = resultOf(await client.request("tasks/cancel", { taskId })) as WireTask;
  return [task, got, ...inList, cancelled];
}

/** Asks one question in a task, with the stream open on which it comes. */
async function asked(client: Client) {
  const { taskId } = await client.create("asks", { questions: ["Who?"] });
  await client.until(taskId, ({ status }) => status === "input_required");
  const result = client.request("tasks/result", { taskId });
  const question = await client.hear(({ method, params }) => {
    const related = (params._meta as Record<string, { taskId: string }> | undefined)?.[RELATED_TASK];
    return method === "elicitation/create" && related?.taskId === taskId;
  });
  return { taskId, result, question };
}

export const CORE_CHECKS: ChecksOf<"core"> = {
  "core/capability-declared": async ({ client }) => {
    const { capabilities } = (await client.initialize()) as { capabilities: { tasks: object } };
    expect(capabilities.tasks).toEqual({ list: {}, cancel: {}, requests: { tools: { call: {} } } });
  },
  "core/undeclared-request-ignores-task": async ({ client }) => {
    const plain = resultOf(await client.request("tools/list"));
    expect(resultOf(await client.request("tools/list", { task: { ttl: 1000 } }))).toEqual(plain);
    expect(resultOf(await client.request("ping", { task: {} }))).toEqual({});
  },
  "core/forbidden-tool-as-task": async ({ client }) => {
    for (const tool of ["open_gate", "look"]) {
      expect((await client.callTask(tool, { gate: "none" })).error?.code).toBe(-32601);
    }
  },
  "core/required-tool-without-task": async ({ client }) => {
    expect((await client.call("only_task")).error?.code).toBe(-32601);
  },
  "core/task-support-listed": async ({ client }) => {
    const { tools } = resultOf(await client.request("tools/list")) as {
      tools: { name: string; execution?: { taskSupport: string } }[];
    };
    const supportOf = (name: string) => tools.find((tool) => tool.name === name)?.execution?.taskSupport;
    expect(["echo", "only_task", "look"].map(supportOf)).toEqual(["optional", "required", undefined]);
    expect(["forbidden", undefined]).toContain(supportOf("open_gate"));
  },
  "core/id-is-string": async ({ client }) => {
    for (const { taskId } of await everyAnswer(client)) expect(typeof taskId).toBe("string");
  },
  "core/id-is-servers": async ({ client }) => {
    const task = { taskId: "mine", id: "mine" };
    expect((await client.create("echo", { text: "a" }, { task, taskId: "mine" })).taskId).not.toBe("mine");
    expect((await client.request("tasks/get", { taskId: "mine" })).error?.code).toBe(-32602);
  },
  "core/id-is-unique": async ({ client }) => {
    const made = await Promise.all(Array.from({ length: 20 }, () => client.create("echo", { text: "a" })));
    expect(new Set(made.map(({ taskId }) => taskId)).size).toBe(20);
  },
  "core/begins-working": async ({ client }) => {
    for (const tool of ["raises", "fails", "throws"]) {
      expect((await client.create(tool)).status).toBe("working");
    }
    expect((await client.create("echo", { text: "a" })).status).toBe("working");
  },
  "core/valid-transitions": async ({ client }) => {
    const { taskId, result, question } = await asked(client);
    expect((await client.get(taskId)).status).toBe("input_required");
    client.respond(question, accept("Ada"));
    await result;
    expect((await client.get(taskId)).status).toBe("completed");
    const { taskId: waiting } = await client.create("asks", { questions: ["Who?"] });
    await client.until(waiting, ({ status }) => status === "input_required");
    expect(resultOf(await client.request("tasks/cancel", { taskId: waiting })).status).toBe("cancelled");
    const gate = `valid-transitions ${waiting}`;
    const { taskId: pausing } = await client.create("pauses", { gate });
    await client.until(pausing, ({ status }) => status === "input_required");
    await client.call("open_gate", { gate: `${gate} resumes` });
    await client.until(pausing, ({ status }) => status === "working");
    await client.call("open_gate", { gate });
    expect((await client.ended(pausing)).status).toBe("completed");
  },
  "core/end-is-final": async ({ client }) => {
    for (const [tool, args] of [["echo", { text: "a" }], ["raises"], ["fails"]] as const) {
      const { taskId } = await client.create(tool, args);
      const ended = await client.ended(taskId);
      await client.request("tasks/cancel", { taskId });
      expect(await client.get(taskId)).toEqual(ended);
    }
  },
  "core/input-required-when-asking": async ({ client }) => {
    const { taskId, result, question } = await asked(client);
    expect((await client.get(taskId)).status).toBe("input_required");
    client.respond(question, accept("Ada"));
    expect(resultOf(await result).content).toEqual([{ type: "text", text: "Ada" }]);
    expect((await client.get(taskId)).status).toBe("completed");
  },
  "core/question-names-its-task": async ({ client }) => {
    const { taskId, result, question } = await asked(client);
    expect(question.params._meta).toMatchObject({ [RELATED_TASK]: { taskId } });
    client.respond(question, { ...accept("Ada"), _meta: { [RELATED_TASK]: { taskId } } });
    expect((await result).error).toBeUndefined();
  },
  "core/created-at": async ({ client }) => {
    const answers = await everyAnswer(client);
    expect(answers).toHaveLength(4);
    for (const { createdAt } of answers)
      expect([createdAt, isInstant(createdAt)]).toEqual([answers[0]?.createdAt, true]);
  },
  "core/last-updated-at": async ({ client }) => {
    for (const { createdAt, lastUpdatedAt } of await everyAnswer(client)) {
      expect(isInstant(lastUpdatedAt)).toBe(true);
      expect(Date.parse(lastUpdatedAt)).toBeGreaterThanOrEqual(Date.parse(createdAt));
    }
  },
  "core/actual-ttl": async ({ client }) => {
    const task = await held(client, {}, { task: { ttl: 60_000 } });
    expect([task.ttl, (await client.get(task.taskId)).ttl]).toEqual([60_000, 60_000]);
    const asLongAsMayBe = await held(client, {}, { task: { ttl: 1e12 } });
    const { ttl } = await client.get(asLongAsMayBe.taskId);
    expect(ttl).toBe(asLongAsMayBe.ttl);
    expect(ttl).toBeLessThan(1e12);
  },
  "core/create-task-result": async ({ client }) => {
    const result = resultOf(await client.callTask("echo", { text: "not yet" }));
    expect(result.task).toMatchObject({ taskId: expect.any(String), status: "working" });
    expect(result).not.toHaveProperty("content");
    expect(JSON.stringify(result)).not.toContain("not yet");
  },
  "core/result-at-the-end": async ({ client }) => {
    const { taskId } = await client.create("echo", { text: "over" });
    await client.ended(taskId);
    expect(resultOf(await client.request("tasks/result", { taskId })).structuredContent).toEqual({ text: "over" });
    const { taskId: raised } = await client.create("raises");
    await client.ended(raised);
    expect((await client.request("tasks/result", { taskId: raised })).error).toEqual(RAISED);
    const cancelled = await held(client, { outputs: ["so far"] });
    await client.request("tasks/cancel", { taskId: cancelled.taskId });
    const result = await client.request("tasks/result", { taskId: cancelled.taskId });
    expect(JSON.stringify(resultOf(result).content)).toContain("so far");
  },
  "core/result-blocks": async ({ client }) => {
    const { taskId, letGo } = await held(client);
    const seen: string[] = [];
    const result = client.request("tasks/result", { taskId }).then((reply) => {
      seen.push("result");
      return reply;
    });
    for (let poll = 0; poll < 5; poll += 1) seen.push((await client.get(taskId)).status);
    await letGo();
    expect(resultOf(await result).content).toEqual([{ type: "text", text: "let go" }]);
    expect(seen.slice(0, 6)).toEqual(["working", "working", "working", "working", "working", "result"]);
  },
  "core/result-as-direct": async ({ client }) => {
    for (const [tool, args] of [["echo", { text: "a" }], ["fails"], ["throws"], ["raises"]] as const) {
      const direct = await client.call(tool, args);
      const { taskId } = await client.create(tool, args);
      const { result, error } = await client.request("tasks/result", { taskId });
      const { _meta, ...rest } = { _meta: undefined, ...result };
      const { _meta: directMeta, ...directRest } = { _meta: undefined, ...direct.result };
      const related = { [RELATED_TASK]: { taskId } };
      expect([rest, _meta, error]).toEqual([
        directRest,
        direct.result && { ...(directMeta as object | undefined), ...related },
        direct.error,
      ]);
    }
  },
  "core/messages-name-their-task": async ({ client }) => {
    const { taskId, letGo } = await held(client, {}, { _meta: { progressToken: "names" } });
    await letGo();
    const result = await client.request("tasks/result", { taskId });
    if (result.error?.code === -32602) await client.ended(taskId);
    const reported = await client.hear(
      ({ method, params }) => isProgressOf("names", method, params) && params.progress === 2,
    );
    expect(reported.params._meta).toMatchObject({ [RELATED_TASK]: { taskId } });
    const logged = client.heard.filter(({ method }) => method === "notifications/message").at(-1);
    expect(logged?.params._meta).toEqual({ [RELATED_TASK]: { taskId } });
    for (const { method, params } of client.heard) {
      if (isProgressOf("names", method, params)) expect(params._meta).toMatchObject({ [RELATED_TASK]: { taskId } });
    }
  },
  "core/result-names-its-task": async ({ client }) => {
    const { taskId } = await client.create("echo", { text: "a" });
    await client.ended(taskId);
    const { _meta } = resultOf(await client.request("tasks/result", { taskId }));
    expect(_meta).toMatchObject({ [RELATED_TASK]: { taskId }, "example.com/length": 1 });
  },
  "core/parameter-is-the-truth": async ({ client }) => {
    const other = await held(client);
    const { taskId } = await client.create("echo", { text: "mine" });
    await client.ended(taskId);
    const _meta = { [RELATED_TASK]: { taskId: other.taskId } };
    expect(resultOf(await client.request("tasks/get", { taskId, _meta })).taskId).toBe(taskId);
    const result = resultOf(await client.request("tasks/result", { taskId, _meta }));
    expect(result.structuredContent).toEqual({ text: "mine" });
    await client.request("tasks/cancel", { taskId, _meta });
    expect((await client.get(other.taskId)).status).toBe("working");
  },
  "core/answers-without-related-task": async ({ client }) => {
    const { taskId } = await held(client);
    const replies = [
      await client.request("tasks/get", { taskId }),
      await client.request("tasks/list"),
      await client.request("tasks/cancel", { taskId }),
    ];
    for (const reply of replies) expect(JSON.stringify(resultOf(reply))).not.toContain(RELATED_TASK);
  },
  "core/status-notification": async ({ client }) => {
    const { taskId, letGo } = await held(client);
    await letGo();
    const { params } = await client.hear(
      ({ method, params }) => isStatusOf(taskId, method, params) && params.status === "completed",
    );
    const { _meta, ...rest } = { _meta: undefined, ...params };
    expect(rest).toEqual(await withoutMeta(client.get(taskId)));
    expect(JSON.stringify(_meta ?? {})).not.toContain(RELATED_TASK);
  },
  "core/next-cursor": async ({ client }) => {
    const page = async (): Promise<{ tasks: unknown[]; nextCursor?: string }> =>
      resultOf(await client.request("tasks/list")) as never;
    for (let batch = 0; batch < 10 && (await page()).nextCursor === undefined; batch += 1) {
      await Promise.all(Array.from({ length: 20 }, () => client.create("echo", { text: "one of many" })));
    }
    const all = await listed(client);
    expect(all.length).toBeGreaterThan((await page()).tasks.length);
    expect(new Set(all.map(({ taskId }) => taskId)).size).toBe(all.length);
  },
  "core/list-has-what-get-has": async ({ client }) => {
    const working = await held(client);
    const { taskId: failed } = await client.create("raises");
    await client.ended(failed);
    const all = await listed(client);
    for (const taskId of [working.taskId, failed]) {
      expect(all.find((task) => task.taskId === taskId)).toEqual(await withoutMeta(client.get(taskId)));
    }
  },
  "core/cancel-ended": async ({ client }) => {
    for (const [tool, args] of [["echo", { text: "a" }], ["fails"], ["raises"]] as const) {
      const { taskId } = await client.create(tool, args);
      await client.ended(taskId);
      expect((await client.request("tasks/cancel", { taskId })).error?.code).toBe(-32602);
    }
    const { taskId } = await held(client);
    expect((await client.request("tasks/cancel", { taskId })).error).toBeUndefined();
    expect((await client.request("tasks/cancel", { taskId })).error?.code).toBe(-32602);
  },
  "core/cancelled-before-the-answer": async ({ client }) => {
    const { taskId } = await held(client);
    expect(resultOf(await client.request("tasks/cancel", { taskId })).status).toBe("cancelled");
    expect((await client.get(taskId)).status).toBe("cancelled");
  },
  "core/cancelled-stays": async ({ client }) => {
    const { taskId, letGo } = await held(client);
    await client.request("tasks/cancel", { taskId });
    const cancelled = await client.get(taskId);
    await letGo();
    await client.call("echo", { text: "a turn later" });
    expect(await client.get(taskId)).toEqual(cancelled);
    expect(cancelled.status).toBe("cancelled");
  },
  "core/unknown-id": async ({ client }) => {
    for (const method of METHODS_OF_ONE) {
      for (const taskId of [UNKNOWN, "", 5, null, undefined, "x".repeat(10_000)]) {
        expect([method, taskId, (await client.request(method, { taskId })).error?.code]).toEqual([
          method,
          taskId,
          -32602,
        ]);
      }
    }
  },
  "core/unknown-cursor": async ({ client }) => {
    for (const cursor of ["nope", "", 5, {}, "ey".repeat(1000)]) {
      expect([cursor, (await client.request("tasks/list", { cursor })).error?.code]).toEqual([cursor, -32602]);
    }
  },
  "core/internal-error": async ({ client }) => {
    const { error } = await client.callTask("unstorable");
    expect(error?.code).toBe(-32603);
    expect(error?.message).not.toContain("db.internal");
  },
  "core/error-result-is-failure": async ({ client }) => {
    const { taskId } = await client.create("fails");
    expect((await client.ended(taskId)).status).toBe("failed");
  },
  "core/failure-says-why": async ({ client }) => {
    for (const [tool, why] of [
      ["throws", "Out of disk."],
      ["raises", RAISED.message],
    ] as const) {
      const { taskId } = await client.create(tool);
      expect((await client.ended(taskId)).statusMessage).toContain(why);
    }
  },
  "core/error-is-the-calls": async ({ client }) => {
    const direct = await client.call("raises");
    const { taskId } = await client.create("raises");
    await client.ended(taskId);
    expect(direct.error).toEqual(RAISED);
    expect((await client.request("tasks/result", { taskId })).error).toEqual(direct.error);
  },
  "core/result-is-the-calls": async ({ client }) => {
    for (const [tool, args] of [["echo", { text: "a" }], ["fails"]] as const) {
      const direct = resultOf(await client.call(tool, args));
      const { taskId } = await client.create(tool, args);
      await client.ended(taskId);
      expect(resultOf(await client.request("tasks/result", { taskId }))).toMatchObject(direct);
    }
  },
  "core/bound-to-authorization": async ({ client, serving }) => {
    const task = await held(client);
    const bob = await serving.connect({ as: "bob" });
    const unknown = await bob.request("tasks/get", { taskId: UNKNOWN });
    for (const method of METHODS_OF_ONE) expect(await bob.request(method, { taskId: task.taskId })).toEqual(unknown);
    expect((await client.get(task.taskId)).status).toBe("working");
    const key = { _meta: { [IDEMPOTENCY_KEY]: `whose ${task.taskId}` } };
    const [hers, his] = [await client.create("echo", { text: "a" }, key), await bob.create("echo", { text: "a" }, key)];
    expect(hers.taskId).not.toBe(his.taskId);
  },
  "core/list-bound-to-authorization": async ({ client, serving }) => {
    const { taskId } = await client.create("echo", { text: "hers" });
    const bob = await serving.connect({ as: `bob-${taskId}` });
    expect(await listed(bob)).toEqual([]);
    const { taskId: his } = await bob.create("echo", { text: "his" });
    expect((await listed(bob)).map((task) => task.taskId)).toEqual([his]);
    expect((await listed(client)).map((task) => task.taskId)).not.toContain(his);
  },
  "core/id-cannot-be-guessed": async ({ client }) => {
    const made = await Promise.all(Array.from({ length: 32 }, () => client.create("echo", { text: "a" })));
    expect(lookRandom(made.map(({ taskId }) => taskId))).toBe(true);
  },
  "core/max-ttl": async ({ client }) => {
    for (const ttl of [Number.MAX_SAFE_INTEGER, null]) {
      expect((await client.create("echo", { text: "a" }, { task: { ttl } })).ttl).toBe(24 * 3_600_000);
    }
  },
};

export const PROGRESS_CHECKS: ChecksOf<"progress"> = {
  "progress/token-for-the-tasks-life": async ({ client }) => {
    const progressToken = `life ${client.nextId}`;
    const { letGo } = await held(client, {}, { _meta: { progressToken } });
    await client.hear(({ method, params }) => isProgressOf(progressToken, method, params) && params.progress === 1);
    await letGo();
    const last = await client.hear(
      ({ method, params }) => isProgressOf(progressToken, method, params) && params.progress === 2,
    );
    expect(last.params).toMatchObject({ progressToken, progress: 2, total: 2, message: "all the way" });
  },
  "progress/increases": async ({ client }) => {
    const progressToken = 1000 + client.nextId;
    const { taskId, letGo } = await held(client, {}, { _meta: { progressToken } });
    await letGo();
    await client.ended(taskId);
    await client.hear(({ method, params }) => isProgressOf(progressToken, method, params) && params.progress === 2);
    const all = client.heard.filter(({ method, params }) => isProgressOf(progressToken, method, params));
    const said = all.map(({ params }) => params.progress as number);
    expect(said).toEqual([...new Set(said)].sort((a, b) => a - b));
  },
  "progress/only-known-tokens": async ({ client }) => {
    const before = client.heard.length;
    const { taskId, letGo } = await held(client);
    await letGo();
    await client.ended(taskId);
    const reported = client.heard.slice(before).filter(({ method, params }) => {
      const related = (params._meta as Record<string, { taskId: string }> | undefined)?.[RELATED_TASK];
      return method === "notifications/progress" && related?.taskId === taskId;
    });
    expect(reported).toEqual([]);
  },
  "progress/stops-at-the-end": async ({ client }) => {
    const progressToken = `end ${client.nextId}`;
    const { taskId } = await held(client, { finishes: true }, { _meta: { progressToken } });
    await client.request("tasks/cancel", { taskId });
    const end = await client.hear(
      ({ method, params }) => isStatusOf(taskId, method, params) && ENDS.includes(String(params.status)),
    );
    await client.call("echo", { text: "a turn later" });
    const after = client.heard.slice(client.heard.indexOf(end) + 1);
    expect(after.filter(({ method, params }) => isProgressOf(progressToken, method, params))).toEqual([]);
  },
};

function isProgressOf(token: string | number, method: string, params: Record<string, unknown>): boolean {
  return method === "notifications/progress" && params.progressToken === token;
}

function isStatusOf(taskId: string, method: string, params: Record<string, unknown>): boolean {
  return method === "notifications/tasks/status" && params.taskId === taskId;
}

/** `tasks/get` may show beside the task how far it has come. */
async function withoutMeta(task: Promise<WireTask>): Promise<Record<string, unknown>> {
  const { _meta, ...rest } = await task;
  return rest;
}
