/** The page on tasks of pymcp-kit. */
import { expect } from "vitest";
import { resultOf } from "../../protocol/client.js";
import { serve } from "../../protocol/serving.js";
import { type ChecksOf, held, listed } from "./check.js";

export const PYMCP_CHECKS: ChecksOf<"pymcp"> = {
  "pymcp/enabled-by-default": async ({ client }) => {
    const { capabilities } = await client.initialize();
    expect(capabilities).toHaveProperty("tasks.requests.tools.call");
    expect((await client.callTask("look", { gate: "none" })).error?.code).toBe(-32601);
  },
  "pymcp/optional": async ({ client }) => {
    expect(resultOf(await client.call("echo", { text: "a" })).structuredContent).toEqual({ text: "a" });
    const { taskId } = await client.create("echo", { text: "a" });
    const result = resultOf(await client.request("tasks/result", { taskId }));
    expect(result.structuredContent).toEqual({ text: "a" });
  },
  "pymcp/required": async ({ client }) => {
    expect((await client.call("only_task")).error).toMatchObject({
      code: -32601,
      message: expect.stringContaining("only_task"),
    });
    const { taskId } = await client.create("only_task");
    expect((await client.ended(taskId)).status).toBe("completed");
  },
  "pymcp/forbidden": async ({ client }) => {
    expect((await client.callTask("open_gate", { gate: "none" })).error?.code).toBe(-32601);
    expect((await client.call("open_gate", { gate: "none" })).error).toBeUndefined();
  },
  "pymcp/helpers": async ({ client }) => {
    const direct = resultOf(await client.call("helpers")).structuredContent;
    expect(direct).toMatchObject({
      isTask: false,
      taskId: null,
      isCancelled: false,
      request: expect.arrayContaining(["owner"]),
    });
    const { taskId } = await client.create("helpers");
    const inTask = resultOf(await client.request("tasks/result", { taskId })).structuredContent;
    expect(inTask).toMatchObject({
      isTask: true,
      taskId,
      isCancelled: false,
      request: expect.arrayContaining(["owner"]),
    });
  },
  "pymcp/require-input": async ({ client }) => {
    const gate = `require-input ${client.nextId}`;
    const { taskId } = await client.create("pauses", { gate });
    const waiting = await client.until(taskId, ({ status }) => status === "input_required");
    expect(waiting.statusMessage).toBe("Choose the target.");
    await client.call("open_gate", { gate: `${gate} resumes` });
    const going = await client.until(taskId, ({ status }) => status === "working");
    expect(going.statusMessage).toBe("Going on.");
    await client.call("open_gate", { gate });
    expect((await client.ended(taskId)).status).toBe("completed");
  },
  "pymcp/cooperative-cancel": async ({ client }) => {
    const task = await held(client);
    await client.request("tasks/cancel", { taskId: task.taskId });
    await task.letGo();
    expect(await task.notes()).not.toContain("finished");
    expect((await client.get(task.taskId)).status).toBe("cancelled");
  },
  "pymcp/elicitation": async ({ client }) => {
    const { taskId } = await client.create("asks", { questions: [`Who wants ${client.nextId}?`] });
    const message = `Who wants ${client.nextId - 1}?`;
    const result = client.request("tasks/result", { taskId });
    const question = await client.hear(
      ({ method, params }) => method === "elicitation/create" && params.message === message,
    );
    client.respond(question, { action: "accept", content: { name: "staging" } });
    expect(resultOf(await result).structuredContent).toEqual({ names: ["staging"] });
  },
  "pymcp/four-methods": async ({ client }) => {
    const { taskId, letGo } = await held(client);
    expect((await listed(client)).map((task) => task.taskId)).toContain(taskId);
    expect((await client.get(taskId)).status).toBe("working");
    await letGo();
    expect((await client.request("tasks/result", { taskId })).error).toBeUndefined();
    const other = await held(client);
    expect(resultOf(await client.request("tasks/cancel", { taskId: other.taskId })).status).toBe("cancelled");
  },
  "pymcp/status-notifications": async ({ client }) => {
    const gate = `notified ${client.nextId}`;
    const { taskId } = await client.create("pauses", { gate });
    const hears = (status: string) =>
      client.hear(({ method, params }) => {
        return method === "notifications/tasks/status" && params.taskId === taskId && params.status === status;
      });
    expect((await hears("input_required")).params.statusMessage).toBe("Choose the target.");
    await client.call("open_gate", { gate: `${gate} resumes` });
    await client.call("open_gate", { gate });
    await hears("completed");
    const heard = client.heard.filter(({ params }) => params.taskId === taskId).map(({ params }) => params.status);
    expect(heard).toEqual(["input_required", "working", "completed"]);
  },
  "pymcp/progress-notifications": async ({ client }) => {
    const progressToken = `pymcp ${client.nextId}`;
    const { letGo } = await held(client, {}, { _meta: { progressToken } });
    await letGo();
    const last = await client.hear(({ params }) => params.progressToken === progressToken && params.progress === 2);
    expect(last).toMatchObject({ method: "notifications/progress", params: { total: 2, message: "all the way" } });
  },
  "pymcp/structured-result": async ({ client }) => {
    const { taskId } = await client.create("echo", { text: "whole" });
    expect(resultOf(await client.request("tasks/result", { taskId }))).toMatchObject({
      content: [{ type: "text", text: "whole" }],
      structuredContent: { text: "whole" },
      _meta: { "example.com/length": 5 },
    });
  },
  "pymcp/session-without-auth": async ({ serving: { transport, dialect } }) => {
    const open = await serve(transport, dialect, false);
    try {
      const [ada, bob] = [await open.connect({ as: null }), await open.connect({ as: null })];
      const { taskId } = await ada.create("echo", { text: "a" });
      expect((await ada.ended(taskId)).status).toBe("completed");
      for (const method of ["tasks/get", "tasks/result", "tasks/cancel"]) {
        expect((await bob.request(method, { taskId })).error?.code).toBe(-32602);
      }
      expect(await listed(bob)).toEqual([]);
    } finally {
      await open.close();
    }
  },
  "pymcp/principal-with-auth": async ({ client, serving }) => {
    const { taskId } = await client.create("echo", { text: "hers" });
    const [again, bob] = [await serving.connect(), await serving.connect({ as: "bob" })];
    const result = resultOf(await again.request("tasks/result", { taskId }));
    expect(result.structuredContent).toEqual({ text: "hers" });
    expect((await bob.request("tasks/result", { taskId })).error?.code).toBe(-32602);
  },
  "pymcp/not-negotiated": async ({ serving }) => {
    const client = await serving.connect({ protocolVersion: "2025-06-18" });
    const { structuredContent } = resultOf(await client.callTask("echo", { text: "a" }));
    expect(structuredContent).toEqual({ text: "a" });
  },
};
