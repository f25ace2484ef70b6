import { describe, expect, it } from "vitest";
import { decideUndeclared, extension20260728, extensionRequired } from "../../src/dialects/extension-2026-07-28.js";
import {
  CREATED_AT,
  cancelled,
  completed,
  ERROR_RESULT,
  failed,
  inputRequired,
  LOST,
  PROTOCOL_ERROR,
  RESULT,
  THREW,
  toolError,
  working,
} from "./records.js";

const call = { negotiated: true, toolName: "dig" } as const;
const now = CREATED_AT;
const got = (task: Parameters<typeof extension20260728.got>[0]) => extension20260728.got(task, { now });

describe("what becomes of a call", () => {
  it.each([
    { taskSupport: "optional", becomes: "task" },
    { taskSupport: "required", becomes: "task" },
    { taskSupport: "forbidden", becomes: "direct" },
  ] as const)(
    "a tool with $taskSupport → $becomes; the legacy task parameter is ignored",
    ({ taskSupport, becomes }) => {
      for (const asked of [true, false]) {
        expect(extension20260728.decide({ ...call, taskSupport, asked })).toEqual({ kind: becomes });
      }
    },
  );

  it.each(["optional", "forbidden"] as const)("undeclared, a tool with %s runs directly", (taskSupport) => {
    for (const asked of [true, false]) {
      expect(decideUndeclared({ ...call, taskSupport, asked })).toEqual({ kind: "direct" });
    }
  });

  it("undeclared, a tool that requires a task is refused, naming the capability", () => {
    expect(decideUndeclared({ ...call, taskSupport: "required", asked: true })).toMatchObject({
      kind: "refuse",
      fault: {
        code: "extension_required",
        data: { requiredCapabilities: { extensions: { "io.modelcontextprotocol/tasks": {} } } },
      },
    });
    expect(extensionRequired("tasks/get").code).toBe("extension_required");
  });
});

describe("creation", () => {
  it("answers flat, with resultType task, ttlMs and pollIntervalMs", () => {
    expect(extension20260728.created(working(), "2026", now)).toEqual({
      resultType: "task",
      taskId: "tsk_1",
      status: "working",
      createdAt: "2026-08-28T10:00:00.000Z",
      lastUpdatedAt: "2026-08-28T10:00:00.000Z",
      ttlMs: 900_000,
      pollIntervalMs: 100,
    });
  });
});

it("a retry's claim check says of a task that has ended what tasks/get says", () => {
  const ended = [completed(RESULT), toolError(ERROR_RESULT), failed(THREW), failed(PROTOCOL_ERROR), cancelled()];
  for (const task of ended) {
    const { resultType, ...claim } = extension20260728.created(task, "2026", now);
    expect(resultType).toBe("task");
    expect(got(task)).toMatchObject(claim);
  }
});

describe("tasks/get", () => {
  it.each([
    [0, 100],
    [1_999, 100],
    [2_000, 1_000],
    [59_999, 1_000],
    [60_000, 5_000],
    [86_400_000, 5_000],
  ])("at age %i ms asks to poll every %i ms", (age, pollIntervalMs) => {
    expect(extension20260728.got(working(), { now: CREATED_AT + age }).pollIntervalMs).toBe(pollIntervalMs);
  });

  it("asks to poll as the tool says, in whole milliseconds", () => {
    expect(got(working({ pollIntervalMs: 249.6, ttlMs: 1000.4 }))).toMatchObject({ pollIntervalMs: 250, ttlMs: 1000 });
  });

  it("inlines the result of a completed task with resultType complete and without related-task metadata", () => {
    const withRelated = {
      ...RESULT,
      _meta: { "vendor/x": 1, "io.modelcontextprotocol/related-task": { taskId: "?" } },
    };
    expect(got(completed(withRelated))).toEqual({
      resultType: "complete",
      taskId: "tsk_1",
      status: "completed",
      createdAt: "2026-08-28T10:00:00.000Z",
      lastUpdatedAt: "2026-08-28T10:01:00.000Z",
      ttlMs: 960_000,
      result: { ...RESULT, resultType: "complete" },
    });
  });

  it("a result that says isError is a completed task, inlined", () => {
    expect(got(toolError(ERROR_RESULT))).toMatchObject({
      status: "completed",
      result: { ...ERROR_RESULT, resultType: "complete" },
    });
  });

  it("a tool that threw is a completed task with the isError result that the direct call gives", () => {
    const task = got(failed(THREW));
    expect(task).toMatchObject({
      status: "completed",
      result: { content: [{ type: "text", text: "the kernel died" }], isError: true, resultType: "complete" },
    });
    expect(task).not.toHaveProperty("error");
  });

  it("a task that did not end by itself shows what it had produced, and then why it ended", () => {
    expect(got(failed(LOST, { partialOutput: ["x"] }))).toMatchObject({
      status: "completed",
      result: {
        content: [{ text: "x" }, { text: "the process was lost" }],
        isError: true,
        _meta: { "io.datalayer/partial-output": true },
      },
    });
    expect(got(failed(THREW, { partialOutput: ["x"] })).result).toEqual(got(failed(THREW)).result);
  });

  it("a protocol error is a failed task with that error, and says why", () => {
    const task = got(failed(PROTOCOL_ERROR));
    expect(task).toMatchObject({ status: "failed", error: PROTOCOL_ERROR.error, statusMessage: "not today" });
    expect(task).not.toHaveProperty("result");
  });

  it("an input_required task shows its outstanding questions by key, and only those", () => {
    expect(got(inputRequired())).toMatchObject({
      status: "input_required",
      inputRequests: { q1: { method: "elicitation/create", params: { message: "Where to?" } } },
    });
    expect(Object.keys(got(inputRequired()).inputRequests as object)).toEqual(["q1"]);
  });

  it("a question key that names a built-in member is an ordinary key", () => {
    const question = { key: "__proto__", method: "elicitation/create", params: {}, askedAt: 0 };
    const { inputRequests } = got(inputRequired({ questions: [question] }));
    expect(Object.keys(inputRequests as object)).toEqual(["__proto__"]);
  });

  it("a cancelled task carries what it had produced, marked, and nothing when it produced nothing", () => {
    expect(got(cancelled({ partialOutput: ["line 1"] }))).toMatchObject({
      status: "cancelled",
      result: {
        resultType: "complete",
        content: [{ type: "text", text: "line 1" }],
        _meta: { "io.datalayer/partial-output": true },
      },
    });
    expect(got(cancelled())).not.toHaveProperty("result");
  });

  it("shows no progress on the wire, and the output so far when it is asked for", () => {
    const task = working({ progress: { current: 1 }, partialOutput: ["a"] });
    expect(got(task)).not.toHaveProperty("_meta");
    expect(extension20260728.got(task, { now, partialOutput: true })._meta).toEqual({
      "io.datalayer/partial-output": ["a"],
    });
  });
});

describe("the other methods", () => {
  it("tasks/list and tasks/result do not exist", () => {
    const notFound = { fault: { code: "method_not_found", message: "Method not found" } };
    expect(extension20260728.listed({ tasks: [] })).toEqual(notFound);
    expect(extension20260728.result(completed(RESULT))).toEqual(notFound);
  });

  it("tasks/cancel is the same empty acknowledgement whatever became of it", () => {
    expect(extension20260728.cancelled(cancelled(), true)).toEqual({ result: { resultType: "complete" } });
    expect(extension20260728.cancelled(completed(RESULT), false)).toEqual({ result: { resultType: "complete" } });
  });

  it("a push carries the task as tasks/get shows it", () => {
    const { resultType, ...params } = got(completed(RESULT));
    expect(extension20260728.statusNotification(completed(RESULT), now)).toEqual({
      method: "notifications/tasks",
      params,
    });
  });
});
