import { summarize } from "@claimcheck/core";
import { describe, expect, it } from "vitest";
import { datalayer } from "../../src/dialects/datalayer.js";
import {
  CREATED_AT,
  cancelled,
  completed,
  ERROR_RESULT,
  failed,
  inputRequired,
  PROTOCOL_ERROR,
  RESULT,
  THREW,
  toolError,
  working,
} from "./records.js";

const call = { negotiated: true, toolName: "dig" } as const;
const related = { "io.modelcontextprotocol/related-task": { taskId: "tsk_1" } };
const now = CREATED_AT;

describe("what becomes of a call", () => {
  it.each([
    { taskSupport: "optional", asked: true, becomes: "task" },
    { taskSupport: "optional", asked: false, becomes: "direct" },
    { taskSupport: "required", asked: true, becomes: "task" },
    { taskSupport: "required", asked: false, becomes: "task_required" },
    { taskSupport: "forbidden", asked: true, becomes: "task_unsupported" },
    { taskSupport: "forbidden", asked: false, becomes: "direct" },
  ] as const)("a tool with $taskSupport, task asked: $asked → $becomes", ({ taskSupport, asked, becomes }) => {
    const decision = datalayer.decide({ ...call, taskSupport, asked });
    expect(decision.kind === "refuse" ? decision.fault.code : decision.kind).toBe(becomes);
  });
});

describe("creation", () => {
  it("answers a CreateTaskResult rather than the tool's output, working, with ttl and pollInterval", () => {
    expect(datalayer.created(working(), "2025", now)).toEqual({
      task: {
        taskId: "tsk_1",
        status: "working",
        createdAt: "2026-08-28T10:00:00.000Z",
        lastUpdatedAt: "2026-08-28T10:00:00.000Z",
        ttl: 900_000,
        pollInterval: 1000,
      },
    });
  });

  it("names the result type on a 2026 connection", () => {
    expect(datalayer.created(working(), "2026", now)).toMatchObject({
      resultType: "task",
      task: { taskId: "tsk_1", status: "working" },
    });
  });
});

describe("tasks/get and tasks/list", () => {
  it("carry no related-task metadata and neither result nor error", () => {
    expect(datalayer.got(completed(RESULT), { now })).toEqual({
      taskId: "tsk_1",
      status: "completed",
      createdAt: "2026-08-28T10:00:00.000Z",
      lastUpdatedAt: "2026-08-28T10:01:00.000Z",
      ttl: 960_000,
    });
  });

  it("a finished task reports the ttl that leads from its creation to when it is gone", () => {
    expect(datalayer.got(cancelled(), { now }).ttl).toBe(60_000 + 900_000);
    expect(datalayer.got(working(), { now }).ttl).toBe(900_000);
  });

  it("every working task carries a poll interval: the tool's, else one second", () => {
    expect(datalayer.got(working(), { now }).pollInterval).toBe(1000);
    expect(datalayer.got(working({ pollIntervalMs: 250 }), { now }).pollInterval).toBe(250);
    expect(datalayer.got(completed(RESULT), { now })).not.toHaveProperty("pollInterval");
  });

  it("a result that says isError is a completed task", () => {
    expect(datalayer.got(toolError(ERROR_RESULT), { now }).status).toBe("completed");
  });

  it("a tool that threw is a failed task carrying the error", () => {
    expect(datalayer.got(failed(THREW), { now })).toMatchObject({ status: "failed", statusMessage: "the kernel died" });
  });

  it("show the progress, and the output so far when it is asked for", () => {
    const task = working({ progress: { current: 1, total: 3, message: "one" }, partialOutput: ["a"] });
    expect(datalayer.got(task, { now })._meta).toEqual({
      "io.datalayer/progress": { current: 1, total: 3, message: "one" },
    });
    expect(datalayer.got(task, { now, partialOutput: true })._meta).toMatchObject({
      "io.datalayer/partial-output": ["a"],
    });
    expect(datalayer.got(working(), { now })).not.toHaveProperty("_meta");
  });

  it("a listing shows every task as tasks/get does, and where it goes on", () => {
    const tasks = [working(), completed(RESULT), toolError(ERROR_RESULT), cancelled()];
    const page = { tasks: tasks.map((task) => summarize(task)), nextCursor: "on" };
    expect(datalayer.listed(page)).toEqual({
      result: { tasks: tasks.map((task) => datalayer.got(task, { now })), nextCursor: "on" },
    });
    expect(datalayer.listed({ tasks: [] })).toEqual({ result: { tasks: [] } });
  });
});

describe("tasks/result", () => {
  it("on a task that is still working is refused, with the status and when to ask again", () => {
    expect(datalayer.result(working({ pollIntervalMs: 250 }))).toEqual({
      fault: {
        code: "result_not_ready",
        message: "The task is still working: its result is there once it is terminal.",
        data: { status: "working", pollInterval: 250 },
      },
    });
  });

  it("at input_required stays open", () => {
    expect(datalayer.result(inputRequired())).toBe("wait");
  });

  it("serves the whole result, what the tool put into its metadata included", () => {
    expect(datalayer.result(completed(RESULT))).toEqual({
      result: { ...RESULT, _meta: { "vendor/x": 1, ...related } },
    });
  });

  it("serves a result that says isError", () => {
    expect(datalayer.result(toolError(ERROR_RESULT))).toEqual({ result: { ...ERROR_RESULT, _meta: related } });
  });

  it("of a tool that threw raises the error, its partial output in the data", () => {
    expect(datalayer.result(failed(THREW))).toEqual({ fault: { code: "tool_failed", message: "the kernel died" } });
    expect(datalayer.result(failed(THREW, { partialOutput: ["line 1"] }))).toEqual({
      fault: { code: "tool_failed", message: "the kernel died", data: { partialOutput: ["line 1"] } },
    });
  });

  it("of a protocol error raises that error, its partial output beside its data", () => {
    expect(datalayer.result(failed(PROTOCOL_ERROR))).toEqual({ raised: PROTOCOL_ERROR.error });
    expect(datalayer.result(failed(PROTOCOL_ERROR, { partialOutput: ["line 1"] }))).toEqual({
      raised: { ...PROTOCOL_ERROR.error, data: { day: "Sunday", partialOutput: ["line 1"] } },
    });
    const scalar = { kind: "protocol_error", error: { code: 1, message: "no", data: 7 } } as const;
    expect(datalayer.result(failed(scalar, { partialOutput: ["x"] }))).toEqual({
      raised: { code: 1, message: "no", data: { data: 7, partialOutput: ["x"] } },
    });
  });

  it("of a cancelled task serves what it had produced", () => {
    const image = { type: "image", data: "AA==", mimeType: "image/png" };
    const outputs = ["line 1", image, { type: "stream", text: "x" }, 7, null, ["a"]];
    expect(datalayer.result(cancelled({ partialOutput: outputs }))).toEqual({
      result: {
        content: [
          { type: "text", text: "line 1" },
          image,
          { type: "text", text: '{"type":"stream","text":"x"}' },
          { type: "text", text: "7" },
          { type: "text", text: "null" },
          { type: "text", text: '["a"]' },
        ],
        _meta: related,
      },
    });
  });

  it.each([undefined, []])("of a cancelled task that produced nothing (%j) raises, saying so", (partialOutput) => {
    const task = cancelled(partialOutput === undefined ? {} : { partialOutput });
    expect(datalayer.result(task)).toEqual({
      fault: { code: "no_result", message: "The task was cancelled and had produced nothing: it has no result." },
    });
  });
});

describe("tasks/cancel", () => {
  it("answers the task, a finished one as it is", () => {
    expect(datalayer.cancelled(cancelled(), true)).toEqual({ result: datalayer.got(cancelled(), { now }) });
    expect(datalayer.cancelled(completed(RESULT), false)).toMatchObject({ result: { status: "completed" } });
  });
});

describe("notifications/tasks/status", () => {
  it("is sent when a task reaches a terminal state, with the status and never the result", () => {
    expect(datalayer.statusNotification(completed(RESULT), now)).toEqual({
      method: "notifications/tasks/status",
      params: datalayer.got(completed(RESULT), { now }),
    });
  });

  it.each([working(), inputRequired()])("is not sent of a task that goes on ($status)", (task) => {
    expect(datalayer.statusNotification(task, now)).toBeNull();
  });
});
