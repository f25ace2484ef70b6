/** The published client of tasks (`@modelcontextprotocol/ext-tasks` on the SDK's v2 client), in both generations. */
import type { Client, Transport } from "@modelcontextprotocol/client";
import {
  createApplicationInputHandler,
  createTaskSessionFromClient,
  type TaskEnabledSession,
} from "@modelcontextprotocol/ext-tasks/client";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { z } from "zod";
import { TRANSPORTS, type TransportName } from "../protocol/serving.js";
import { Open } from "./address.js";
import { CAPABILITIES, CLIENT_INFO, connectSdkV2, ERAS, type Era, TASK_CAPABILITIES } from "./sdk-v2.js";

/** Sends what the SDK's client cannot read the answers of, on the same transport. */
function rawDispatch(transport: Transport) {
  const waiting = new Map<unknown, (response: unknown) => void>();
  const { onmessage } = transport;
  transport.onmessage = (message, extra) => {
    const take = "method" in message ? undefined : waiting.get(message.id);
    if (take === undefined) onmessage?.(message, extra);
    else {
      const { error, result } = message as { error?: unknown; result?: unknown };
      take(error === undefined ? { kind: "result", result } : { kind: "error", error });
    }
  };
  let nextId = 0;
  return (request: unknown) => {
    nextId += 1;
    const id = `raw-${nextId}`;
    const answered = new Promise((resolve) => waiting.set(id, resolve));
    // A connection that closes takes what is on its way with it.
    transport.send({ jsonrpc: "2.0", ...(request as object), id } as never).catch(() => {});
    return answered as never;
  };
}

async function connected(name: TransportName, era: Era, open: Open) {
  const capabilities = era === "2026" ? TASK_CAPABILITIES : CAPABILITIES;
  const { client, transport } = await connectSdkV2(name, era, open, capabilities);
  const never = (): never => {
    throw new Error("not asked for");
  };
  const input = createApplicationInputHandler({
    elicitation: (request) => ({
      action: "accept",
      content: { name: JSON.stringify(request).includes("First?") ? "Ada" : "Alan" },
    }),
    sampling: never,
    roots: never,
  });
  const framing = {
    protocolVersion: "2026-07-28",
    clientInfo: CLIENT_INFO,
    clientCapabilities: TASK_CAPABILITIES,
  };
  const session = createTaskSessionFromClient<void>(client, {
    endpointId: "test",
    onInputRequest: input,
    ...(era === "2026" && { rawDispatch: rawDispatch(transport), v2RequestFraming: framing }),
  } as Parameters<typeof createTaskSessionFromClient<void>>[1]);
  open.add(() => session.close());
  return { client, session };
}

function textOf(outcome: object): string {
  return JSON.stringify(outcome, (_key, value) => (value instanceof Error ? `${value.message} ${value.cause}` : value));
}

describe.each(TRANSPORTS)("over %s", (name) => {
  describe.each(ERAS)("in the era of %s", (era) => {
    const open = new Open();
    let session: TaskEnabledSession;
    let client: Client;
    beforeAll(async () => {
      ({ client, session } = await connected(name, era, open));
    });
    afterAll(() => open.close());

    const call = (tool: string, args: object = {}) =>
      session.callTool(tool, args as never, { task: { preference: "require" } } as never);
    const settle = async (tool: string, args?: object) => textOf((await (await call(tool, args)).settle()).outcome);

    it("a call is a task from creation to result", async () => {
      expect(await settle("echo", { text: "dug" })).toContain('"structuredContent":{"text":"dug"}');
      expect(await settle("only_task")).toContain("done");
    });

    it("questions reach the application, one after another, and their answers the tool", async () => {
      expect(await settle("asks", { questions: ["First?", "Second?"] })).toContain('{"names":["Ada","Alan"]}');
    });

    it("what failed says why", async () => {
      // An isError result is one that completed in the later generation.
      expect(await settle("throws")).toContain("Out of disk.");
      expect(await settle("fails")).toContain("No such branch.");
      expect(await settle("raises")).toContain("Sign in first.");
    });

    it("a task that is cancelled ends", async () => {
      const execution = await call("hold", { gate: `${name} ${era}` });
      await execution.cancel();
      expect(textOf((await execution.settle()).outcome)).toContain("cancelled");
    });

    // There is nothing to listen to in the era of 2025.
    if (era === "2025") return;
    it("a client that listens is told how its task goes", async () => {
      const told: Record<string, unknown>[] = [];
      const params = z.looseObject({});
      client.setNotificationHandler("notifications/tasks", { params }, (notified) => void told.push(notified));
      const gate = `listening ${name}`;
      const execution = await call("hold", { gate });
      if (execution.kind !== "task") throw new Error("no task was made");
      const { taskId } = execution.handle;
      const subscription = await client.listen({ taskIds: [taskId] } as never);
      await expect.poll(() => told).toMatchObject([{ taskId, status: "working" }]);
      await client.callTool({ name: "open_gate", arguments: { gate } });
      await expect.poll(() => told.at(-1)).toMatchObject({ taskId, status: "completed", result: { content: [{}] } });
      await subscription.close();
    });
  });
});
