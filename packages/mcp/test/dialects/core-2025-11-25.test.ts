import { summarize } from "@claimcheck/core";
import { describe, expect, it } from "vitest";
import { core20251125, core20251125WithoutErrorStatus } from "../../src/dialects/core-2025-11-25.js";
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
    const decision = core20251125.decide({ ...call, taskSupport, asked });
    expect(decision.kind === "refuse" ? decision.fault.code : decision.kind).toBe(becomes);
  });

  it.each(["optional", "required", "forbidden"] as const)(
    "where tasks are not negotiated, metadata is ignored and a tool with %s runs directly",
    (taskSupport) => {
      for (const asked of [true, false]) {
        expect(core20251125.decide({ toolName: "dig", negotiated: false, taskSupport, asked })).toEqual({
          kind: "direct",
        });
      }
    },
  );
});

describe("creation", () => {
  it("answers { task } with ISO instants, ttl and pollInterval, and no result type on either generation", () => {
    for (const era of ["2025", "2026"] as const) {
      expect(core20251125.created(working({ pollIntervalMs: 300 }), era, now)).toEqual({
        task: {
          taskId: "tsk_1",
          status: "working",
          createdAt: "2026-08-28T10:00:00.000Z",
          lastUpdatedAt: "2026-08-28T10:00:00.000Z",
          ttl: 900_000,
          pollInterval: 300,
        },
      });
    }
  });
});

describe("tasks/get and tasks/list", () => {
  it("a result that says isError is a failed task with the error's text as its message", () => {
    const got = core20251125.got(toolError(ERROR_RESULT), { now });
    expect(got).toMatchObject({ status: "failed", statusMessage: "NameError: x\nat cell 3", ttl: 960_000 });
    expect(got).not.toHaveProperty("_meta");
  });

  it("a status message is bounded, never cut inside a character", () => {
    const text = "😀".repeat(2000);
    const got = core20251125.got(toolError({ content: [{ type: "text", text }], isError: true }), { now });
    const message = got.statusMessage as string;
    expect(message.length).toBeLessThanOrEqual(1000);
    expect(message).toMatch(/^(😀)+…$/u);
  });

  it("an isError result without text still says that there was an error", () => {
    const got = core20251125.got(toolError({ content: [], isError: true }), { now });
    expect(got.statusMessage).toBe("The tool reported an error.");
  });

  it.each([
    [THREW, "the kernel died"],
    [PROTOCOL_ERROR, "not today"],
  ])("a failed task says why (%j)", (outcome, statusMessage) => {
    expect(core20251125.got(failed(outcome), { now })).toMatchObject({ status: "failed", statusMessage });
  });

  it("a listing shows every task as tasks/get does", () => {
    const silent = toolError({ content: [], isError: true });
    const ended = [toolError(ERROR_RESULT), silent, failed(THREW), cancelled(), completed(RESULT)];
    const tasks = [working(), inputRequired(), ...ended];
    const answer = core20251125.listed({ tasks: tasks.map((task) => summarize(task)) });
    expect(answer).toEqual({ result: { tasks: tasks.map((task) => core20251125.got(task, { now })) } });
    expect(answer).not.toHaveProperty("result.nextCursor");
  });
});

describe("tasks/result", () => {
  it.each([working(), inputRequired()])("waits while the task is $status", (task) => {
    expect(core20251125.result(task)).toBe("wait");
  });

  it("serves the whole result with related-task metadata beside the tool's own", () => {
    expect(core20251125.result(completed(RESULT))).toEqual({
      result: { ...RESULT, _meta: { "vendor/x": 1, ...related } },
    });
  });

  it("serves an isError result as it is", () => {
    expect(core20251125.result(toolError(ERROR_RESULT))).toEqual({ result: { ...ERROR_RESULT, _meta: related } });
  });

  it("of a tool that threw is the isError result that the direct call gives", () => {
    expect(core20251125.result(failed(THREW, { partialOutput: ["x"] }))).toEqual({
      result: { content: [{ type: "text", text: "the kernel died" }], isError: true, _meta: related },
    });
  });

  it("of a task that did not end by itself shows what it had produced, and then why it ended", () => {
    expect(core20251125.result(failed(LOST, { partialOutput: ["x"] }))).toEqual({
      result: {
        content: [
          { type: "text", text: "x" },
          { type: "text", text: "the process was lost" },
        ],
        isError: true,
        _meta: { "io.datalayer/partial-output": true, ...related },
      },
    });
  });

  it("of a protocol error raises the same code, message and data", () => {
    expect(core20251125.result(failed(PROTOCOL_ERROR, { partialOutput: ["x"] }))).toEqual({
      raised: { code: -32042, message: "not today", data: { day: "Sunday" } },
    });
  });

  it("of a cancelled task serves what it had produced, marked as partial", () => {
    expect(core20251125.result(cancelled({ partialOutput: ["line 1"] }))).toEqual({
      result: {
        content: [{ type: "text", text: "line 1" }],
        _meta: { "io.datalayer/partial-output": true, ...related },
      },
    });
  });

  it.each([undefined, []])("of a cancelled task that produced nothing (%j) raises, saying so", (partialOutput) => {
    const task = cancelled(partialOutput === undefined ? {} : { partialOutput });
    expect(core20251125.result(task)).toMatchObject({ fault: { code: "no_result" } });
  });
});

describe("tasks/cancel", () => {
  it("answers the cancelled task", () => {
    expect(core20251125.cancelled(cancelled(), true)).toEqual({ result: core20251125.got(cancelled(), { now }) });
  });

  it.each([completed(RESULT), toolError(ERROR_RESULT), failed(THREW), cancelled()])(
    "of a finished task is refused ($status)",
    (task) => {
      expect(core20251125.cancelled(task, false)).toMatchObject({ fault: { code: "already_terminal" } });
    },
  );
});

describe("notifications/tasks/status", () => {
  it.each([working(), inputRequired(), toolError(ERROR_RESULT), cancelled()])(
    "is sent on every change ($status), without related-task metadata",
    (task) => {
      const { _meta, ...params } = core20251125.got(task, { now });
      expect(core20251125.statusNotification(task, now)).toEqual({ method: "notifications/tasks/status", params });
    },
  );
});

describe("for clients that never fetch a failed task's result", () => {
  it("a result that says isError is of a completed task, with its text as the message, and is served as ever", () => {
    const task = toolError(ERROR_RESULT);
    const shown = { status: "completed", statusMessage: "NameError: x\nat cell 3" };
    expect(core20251125WithoutErrorStatus.got(task, { now })).toMatchObject(shown);
    expect(core20251125WithoutErrorStatus.statusNotification(task, now)?.params).toMatchObject(shown);
    expect(core20251125WithoutErrorStatus.listed({ tasks: [summarize(task)] })).toMatchObject({
      result: { tasks: [{ status: "completed" }] },
    });
    expect(core20251125WithoutErrorStatus.result(task)).toEqual(core20251125.result(task));
  });

  it("a tool that threw is a failed task all the same", () => {
    expect(core20251125WithoutErrorStatus.got(failed(THREW), { now })).toMatchObject({ status: "failed" });
  });
});
