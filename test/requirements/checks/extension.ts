/** The extension `io.modelcontextprotocol/tasks` of revision 2026-07-28 (SEP-2663). */
import { expect } from "vitest";
import { type Client, type Reply, resultOf, TASKS_EXTENSION, type WireTask } from "../../protocol/client.js";
import { RAISED } from "../../protocol/tools.js";
import { type ChecksOf, held, isInstant, lookRandom } from "./check.js";

const UNKNOWN = "tsk_0123456789abcdefghijkl";
const METHODS = ["tasks/get", "tasks/update", "tasks/cancel"];
const REQUIRED = { requiredCapabilities: { extensions: { [TASKS_EXTENSION]: {} } } };
const accept = (name: string) => ({ action: "accept", content: { name } });

function update(client: Client, taskId: string, inputResponses: object): Promise<Reply> {
  return client.request("tasks/update", { taskId, inputResponses });
}

async function onlyKey(client: Client, taskId: string): Promise<string> {
  const [key = ""] = Object.keys(await client.questions(taskId, 1));
  return key;
}

/** Listens for the tasks: the ids acknowledged, and what is told of the first once its status is the one asked for. */
async function listen(client: Client, taskIds: string[]) {
  const subscription = client.nextId;
  void client.request("subscriptions/listen", { notifications: { taskIds } });
  const isOurs = (params: Record<string, unknown>): boolean =>
    (params._meta as Record<string, unknown> | undefined)?.["io.modelcontextprotocol/subscriptionId"] === subscription;
  const { params } = await client.hear(
    (heard) => heard.method === "notifications/subscriptions/acknowledged" && isOurs(heard.params),
  );
  return {
    acknowledged: (params.notifications as { taskIds?: string[] }).taskIds ?? [],
    told: async (status: string) => {
      const isIt = (each: Record<string, unknown>): boolean => isOurs(each) && each.status === status;
      const heard = await client.hear(({ method, params }) => method === "notifications/tasks" && isIt(params));
      return withoutMeta(heard.params);
    },
  };
}

/** A notification is no result. */
function withoutResultType({ resultType, _meta, ...task }: WireTask): Record<string, unknown> {
  return task;
}

/** What the server says of itself in every result is no part of an acknowledgement. */
function withoutMeta({ _meta, ...rest }: Record<string, unknown>): Record<string, unknown> {
  return rest;
}

async function endedTask(client: Client, tool: string, args: object = {}): Promise<WireTask> {
  return client.ended((await client.create(tool, args)).taskId);
}

export const EXTENSION_CHECKS: ChecksOf<"extension"> = {
  "extension/declared": async ({ client }) => {
    const { capabilities } = resultOf(await client.request("server/discover")) as {
      capabilities: { extensions: Record<string, unknown> };
    };
    expect(capabilities.extensions[TASKS_EXTENSION]).toEqual({});
  },
  "extension/no-task-undeclared": async ({ client }) => {
    for (let turn = 0; turn < 3; turn += 1) {
      expect(resultOf(await client.call("echo", { text: "a" })).resultType).toBe("task");
      const plain = resultOf(await client.call("echo", { text: "a" }, {}, { capabilities: {} }));
      expect(plain).toMatchObject({ resultType: "complete", structuredContent: { text: "a" } });
      expect(plain).not.toHaveProperty("taskId");
    }
  },
  "extension/missing-capability": async ({ client }) => {
    const { error } = await client.call("only_task", {}, {}, { capabilities: {} });
    expect(error).toMatchObject({ code: -32021, data: REQUIRED });
  },
  "extension/result-type-task": async ({ client }) => {
    const result = resultOf(await client.call("only_task"));
    expect(result).toMatchObject({ resultType: "task", taskId: expect.any(String), status: "working" });
    for (const member of ["task", "result", "error", "inputRequests", "content"]) {
      expect(result).not.toHaveProperty(member);
    }
  },
  "extension/no-result-type-task-elsewhere": async ({ client }) => {
    const { taskId } = await held(client);
    const replies = [
      await client.request("server/discover"),
      await client.request("tools/list"),
      await client.call("look", { gate: "none" }),
      await client.call("fails", {}, {}, { capabilities: {} }),
      await client.call("asks_first"),
      await client.request("tasks/get", { taskId }),
      await update(client, taskId, {}),
      await client.request("tasks/cancel", { taskId }),
    ];
    const types = replies.map((reply) => resultOf(reply).resultType);
    expect(types).toEqual(types.map((_, at) => (at === 4 ? "input_required" : "complete")));
  },
  "extension/times-and-intervals": async ({ client }) => {
    const task = await held(client);
    await task.letGo();
    for (const each of [task, await client.ended(task.taskId)]) {
      expect([each.createdAt, each.lastUpdatedAt].map(isInstant)).toEqual([true, true]);
      expect(each.ttlMs === null || Number.isInteger(each.ttlMs)).toBe(true);
      expect(each.pollIntervalMs === undefined || Number.isInteger(each.pollIntervalMs)).toBe(true);
      expect([each.ttl, each.pollInterval]).toEqual([undefined, undefined]);
    }
    expect(task.pollIntervalMs).toBe(20);
  },
  "extension/failed-means-json-rpc-error": async ({ client }) => {
    for (const [tool, text] of [
      ["fails", "No such branch."],
      ["throws", "Out of disk."],
    ] as const) {
      const task = await endedTask(client, tool);
      expect(task).toMatchObject({ status: "completed", result: { isError: true, content: [{ text }] } });
      expect(task).not.toHaveProperty("error");
    }
    expect((await endedTask(client, "raises")).status).toBe("failed");
  },
  "extension/durable-before-the-answer": async ({ client, serving }) => {
    const other = serving.asksWho ? await serving.connect() : client;
    for (let turn = 0; turn < 10; turn += 1) {
      const { taskId } = await client.create("echo", { text: "a" });
      expect((await other.get(taskId)).taskId).toBe(taskId);
    }
  },
  "extension/rounds-before-the-task": async ({ client }) => {
    const round = resultOf(await client.call("asks_first"));
    expect(round).toMatchObject({
      resultType: "input_required",
      inputRequests: { who: { method: "elicitation/create" } },
    });
    expect(round).not.toHaveProperty("taskId");
    const answered = { inputResponses: { who: accept("Ada") }, requestState: round.requestState };
    const created = resultOf(await client.call("asks_first", {}, answered));
    expect(created.resultType).toBe("task");
    for (const member of ["requestState", "inputRequests"]) expect(created).not.toHaveProperty(member);
    const task = await client.ended(created.taskId as string);
    expect(task.result).toMatchObject({ structuredContent: { who: accept("Ada") } });
  },
  "extension/get-working": async ({ client }) => {
    const { taskId } = await held(client);
    const task = await client.get(taskId);
    expect(task).toMatchObject({ taskId, status: "working" });
    for (const member of ["result", "error", "inputRequests"]) expect(task).not.toHaveProperty(member);
  },
  "extension/get-input-required": async ({ client }) => {
    const { taskId } = await client.create("asks", { questions: ["First?", "Second?"], together: true });
    const requests = Object.values(await client.questions(taskId, 2));
    expect(requests.map(({ method }) => method)).toEqual(["elicitation/create", "elicitation/create"]);
    expect(requests.map(({ params }) => params.message).sort()).toEqual(["First?", "Second?"]);
    expect((await client.get(taskId)).status).toBe("input_required");
    await client.request("tasks/cancel", { taskId });
  },
  "extension/get-completed": async ({ client }) => {
    const task = await endedTask(client, "echo", { text: "over" });
    expect(task).toMatchObject({ status: "completed", result: { structuredContent: { text: "over" } } });
    for (const member of ["error", "inputRequests"]) expect(task).not.toHaveProperty(member);
  },
  "extension/get-cancelled": async ({ client }) => {
    const { taskId } = await held(client);
    await client.request("tasks/cancel", { taskId });
    expect(await client.ended(taskId)).toMatchObject({ taskId, status: "cancelled" });
  },
  "extension/get-failed": async ({ client }) => {
    const task = await endedTask(client, "raises");
    expect(task).toMatchObject({
      status: "failed",
      error: RAISED,
      statusMessage: expect.stringContaining(RAISED.message),
    });
    expect(task).not.toHaveProperty("result");
  },
  "extension/get-result-type": async ({ client }) => {
    const working = await held(client);
    const { taskId: asking } = await client.create("asks", { questions: ["Who?"] });
    await client.questions(asking, 1);
    const tasks = [working.taskId, asking].map((taskId) => client.get(taskId));
    const ended = ["echo", "fails", "raises"].map((tool) => endedTask(client, tool, { text: "a" }));
    const all = await Promise.all([...tasks, ...ended]);
    expect(all.map(({ status, resultType }) => [status, resultType])).toEqual([
      ["working", "complete"],
      ["input_required", "complete"],
      ["completed", "complete"],
      ["completed", "complete"],
      ["failed", "complete"],
    ]);
    await client.request("tasks/cancel", { taskId: asking });
  },
  "extension/keys-are-unique": async ({ client }) => {
    const questions = ["One?", "Two?", "Two?", "Three?"];
    const { taskId } = await client.create("asks", { questions });
    const keys: string[] = [];
    for (const name of questions) {
      const key = await onlyKey(client, taskId);
      keys.push(key);
      await update(client, taskId, { [key]: accept(name) });
      await client.until(taskId, ({ inputRequests }) => !Object.hasOwn(inputRequests ?? {}, key));
    }
    expect(new Set(keys).size).toBe(questions.length);
    expect((await client.ended(taskId)).result).toMatchObject({ structuredContent: { names: questions } });
  },
  "extension/update-acknowledged": async ({ client }) => {
    const { taskId } = await client.create("asks", { questions: ["Who?"] });
    const key = await onlyKey(client, taskId);
    const acknowledged = resultOf(await update(client, taskId, { [key]: accept("Ada") }));
    expect(withoutMeta(acknowledged)).toEqual({ resultType: "complete" });
    expect((await client.ended(taskId)).status).toBe("completed");
  },
  "extension/update-ignores-other-keys": async ({ client }) => {
    const { taskId } = await client.create("asks", { questions: ["First?", "Second?"] });
    const first = await onlyKey(client, taskId);
    const invented = await update(client, taskId, { invented: accept("Eve"), __proto__: accept("Eve") });
    expect(withoutMeta(resultOf(invented))).toEqual({ resultType: "complete" });
    expect(await onlyKey(client, taskId)).toBe(first);
    await update(client, taskId, { [first]: accept("Ada") });
    await client.until(
      taskId,
      ({ inputRequests }) => inputRequests !== undefined && !Object.hasOwn(inputRequests, first),
    );
    const again = await update(client, taskId, { [first]: accept("Eve") });
    expect(withoutMeta(resultOf(again))).toEqual({ resultType: "complete" });
    await update(client, taskId, { [await onlyKey(client, taskId)]: accept("Alan") });
    expect((await client.ended(taskId)).result).toMatchObject({ structuredContent: { names: ["Ada", "Alan"] } });
  },
  "extension/update-in-part": async ({ client }) => {
    const { taskId } = await client.create("asks", { questions: ["First?", "Second?"], together: true });
    const asked = await client.questions(taskId, 2);
    const [answered = "", open = ""] = Object.keys(asked);
    await update(client, taskId, { [answered]: accept("Ada") });
    const left = await client.questions(taskId, 1);
    expect(left).toEqual({ [open]: asked[open] });
    expect((await client.get(taskId)).status).toBe("input_required");
    await update(client, taskId, { [open]: accept("Alan") });
    expect((await client.ended(taskId)).status).toBe("completed");
  },
  "extension/cancel-acknowledged": async ({ client }) => {
    const working = await held(client);
    const ended = await endedTask(client, "echo", { text: "a" });
    for (const taskId of [working.taskId, ended.taskId, ended.taskId]) {
      const acknowledged = resultOf(await client.request("tasks/cancel", { taskId }));
      expect(withoutMeta(acknowledged)).toEqual({ resultType: "complete" });
    }
    expect((await client.get(ended.taskId)).status).toBe("completed");
  },
  "extension/cancelled-notification-cancels-no-task": async ({ client }) => {
    const requestId = client.nextId;
    const { taskId, letGo } = await held(client);
    client.notify("notifications/cancelled", { requestId, reason: "Changed my mind." });
    await client.call("look", { gate: "none" });
    expect((await client.get(taskId)).status).toBe("working");
    await letGo();
    expect((await client.ended(taskId)).status).toBe("completed");
  },
  "extension/methods-undeclared": async ({ client }) => {
    const { taskId } = await held(client);
    for (const method of METHODS) {
      for (const id of [taskId, UNKNOWN]) {
        const reply = await client.request(method, { taskId: id, inputResponses: {} }, { capabilities: {} });
        expect(reply.error).toMatchObject({ code: -32021, data: REQUIRED });
      }
    }
    expect((await client.get(taskId)).status).toBe("working");
  },
  "extension/unknown-id": async ({ client }) => {
    for (const method of METHODS) {
      for (const taskId of [UNKNOWN, "", "x".repeat(1000)]) {
        const { error } = await client.request(method, { taskId, inputResponses: {} });
        expect([method, taskId, error?.code]).toEqual([method, taskId, -32602]);
      }
    }
  },
  "extension/internal-error": async ({ client }) => {
    const { error } = await client.call("unstorable");
    expect(error?.code).toBe(-32603);
    expect(error?.message).not.toContain("db.internal");
  },
  "extension/exactly-the-calls-outcome": async ({ client }) => {
    for (const [tool, args] of [["echo", { text: "a" }], ["fails"], ["throws"]] as const) {
      const direct = resultOf(await client.call(tool, args, {}, { capabilities: {} }));
      const { result } = await endedTask(client, tool, args);
      const { _meta: _, ...ofTask } = result as Record<string, unknown>;
      expect(ofTask).toEqual(withoutMeta(direct));
    }
    const { error } = await client.call("raises", {}, {}, { capabilities: {} });
    expect((await endedTask(client, "raises")).error).toEqual(error);
  },
  "extension/id-cannot-be-guessed": async ({ client }) => {
    const made = await Promise.all(Array.from({ length: 32 }, () => client.create("echo", { text: "a" })));
    expect(lookRandom(made.map(({ taskId }) => taskId))).toBe(true);
  },
  "extension/bound-to-authorization": async ({ client, serving }) => {
    const { taskId } = await client.create("asks", { questions: ["Who?"] });
    const key = await onlyKey(client, taskId);
    const bob = await serving.connect({ as: "bob" });
    for (const method of METHODS) {
      const params = { taskId, inputResponses: { [key]: accept("Eve") } };
      const unknown = await bob.request(method, { ...params, taskId: UNKNOWN });
      expect(await bob.request(method, params)).toEqual(unknown);
    }
    expect(await onlyKey(client, taskId)).toBe(key);
    await client.request("tasks/cancel", { taskId });
  },
  "extension/listen-undeclared": async ({ client }) => {
    const { taskId } = await held(client);
    for (const taskIds of [[taskId], [UNKNOWN], []]) {
      const listened = await client.request(
        "subscriptions/listen",
        { notifications: { taskIds } },
        { capabilities: {} },
      );
      expect(listened.error).toMatchObject({ code: -32021, data: REQUIRED });
    }
  },
  "extension/listen-acknowledges": async ({ client, serving }) => {
    const { taskId } = await held(client);
    expect((await listen(client, [UNKNOWN, taskId])).acknowledged).toEqual([taskId]);
    const bob = await serving.connect({ as: "bob" });
    if (bob !== client) expect((await listen(bob, [taskId])).acknowledged).not.toContain(taskId);
  },
  "extension/listen-tells-the-task": async ({ client }) => {
    const task = await held(client);
    const { told } = await listen(client, [task.taskId]);
    expect(await told("working")).toEqual(withoutResultType(await client.get(task.taskId)));
    await task.letGo();
    expect(await told("completed")).toEqual(withoutResultType(await client.get(task.taskId)));
  },
  "extension/listen-without-progress-or-messages": async ({ client }) => {
    const asks = { progressToken: `listening ${client.nextId}`, "io.modelcontextprotocol/logLevel": "debug" };
    const task = await held(client, {}, { _meta: asks });
    const before = client.heard.length;
    const { told } = await listen(client, [task.taskId]);
    await task.letGo();
    await told("completed");
    const methods = new Set(client.heard.slice(before).map(({ method }) => method));
    expect([...methods].sort()).toEqual(["notifications/subscriptions/acknowledged", "notifications/tasks"]);
  },
  "extension/matching-headers": async ({ client }) => {
    const { taskId } = await client.create("asks", { questions: ["Who?"] });
    await client.questions(taskId, 1);
    for (const method of METHODS) {
      const headers = { "mcp-method": method, "mcp-name": ` ${taskId} \t` };
      expect((await client.request(method, { taskId, inputResponses: {} }, { headers })).error).toBeUndefined();
    }
  },
  "extension/contradicting-headers": async ({ client }) => {
    const { taskId } = await held(client);
    for (const method of METHODS) {
      for (const headers of [
        { "mcp-name": "" },
        { "mcp-name": UNKNOWN },
        { "mcp-name": taskId.toUpperCase() },
        { "mcp-method": "tools/call" },
      ]) {
        const { error } = await client.request(method, { taskId, inputResponses: {} }, { headers });
        expect([method, headers, error?.code]).toEqual([method, headers, -32020]);
      }
    }
    expect((await client.get(taskId)).status).toBe("working");
  },
  "extension/no-list-no-result": async ({ client }) => {
    const { taskId } = await endedTask(client, "echo", { text: "a" });
    for (const method of ["tasks/list", "tasks/result"]) {
      expect((await client.request(method, { taskId })).error?.code).toBe(-32601);
    }
  },
  "extension/task-parameter-ignored": async ({ client }) => {
    const task = { ttl: 1 };
    const undeclared = await client.call("echo", { text: "a" }, { task }, { capabilities: {} });
    expect(resultOf(undeclared).structuredContent).toEqual({ text: "a" });
    expect(resultOf(await client.call("look", { gate: "none" }, { task })).structuredContent).toEqual({ notes: [] });
    const { ttlMs } = resultOf(await client.call("echo", { text: "a" }, { task }));
    expect(ttlMs).toBeGreaterThan(1000);
    expect((await client.call("echo", { text: "a" }, { task: "no object" })).error).toBeUndefined();
  },
  "extension/no-legacy-capability": async ({ client }) => {
    const { capabilities } = resultOf(await client.request("server/discover"));
    expect(capabilities).not.toHaveProperty("tasks");
    const { tools } = resultOf(await client.request("tools/list")) as { tools: object[] };
    for (const tool of tools) expect(tool).not.toHaveProperty("execution");
  },
  "extension/legacy-capability-declares-nothing": async ({ client }) => {
    const { taskId } = await held(client);
    const capabilities = { tasks: { list: {}, cancel: {}, requests: { tools: { call: {} } } } };
    expect(resultOf(await client.call("echo", { text: "a" }, {}, { capabilities })).resultType).toBe("complete");
    expect((await client.call("only_task", {}, {}, { capabilities })).error?.code).toBe(-32021);
    expect((await client.request("tasks/get", { taskId }, { capabilities })).error?.code).toBe(-32021);
  },
};
