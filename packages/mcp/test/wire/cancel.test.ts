/** Cancelling stops the work, and a cancelled task keeps what it produced. */
import { recordOutput, registerInterrupt } from "@claimcheck/core";
import { describe, expect, it } from "vitest";
import { eventually } from "../../../../test/fixtures/eventually.js";
import type { ToolContext } from "../../src/index.js";
import { gate } from "./raw-client.js";
import { OPTIONAL, scene } from "./servers.js";

async function untilCancelled(ctx: ToolContext): Promise<void> {
  await ctx.cancelToken.wait();
  ctx.cancelToken.checkCancelled();
}

describe.each(["datalayer", "2025-11-25"] as const)("contract %s", (contract) => {
  it("tasks/cancel interrupts the work, then stops waiting for it, and answers the cancelled task", async () => {
    const order: string[] = [];
    const stopped = gate();
    const { connect } = scene(
      (tasks, server) =>
        tasks.registerTool(server, "dig", OPTIONAL, async (_args, ctx) => {
          registerInterrupt(() => {
            order.push("interrupted");
            stopped.open();
          });
          ctx.signal.addEventListener("abort", () => order.push("signalled"));
          await stopped.promise;
          order.push("stopped");
          ctx.cancelToken.checkCancelled();
        }),
      { contract },
    );
    const client = await connect();
    const { taskId } = await client.callTask("dig");
    const { result } = await client.request("tasks/cancel", { taskId });
    order.push("answered");
    expect(result).toMatchObject({ taskId, status: "cancelled" });
    expect(result).not.toHaveProperty("pollInterval");
    expect(order).toEqual(["signalled", "interrupted", "stopped", "answered"]);
  });

  it("on cancellation the partial output becomes the result", async () => {
    const { connect } = scene(
      (tasks, server) =>
        tasks.registerTool(server, "dig", OPTIONAL, async (_args, ctx) => {
          recordOutput(["one foot"]);
          recordOutput(["one foot", { type: "image", data: "AA==", mimeType: "image/png" }, { feet: 2 }]);
          await untilCancelled(ctx);
        }),
      { contract },
    );
    const client = await connect();
    const { taskId } = await client.callTask("dig");
    await client.request("tasks/cancel", { taskId });
    const { result } = await client.request("tasks/result", { taskId });
    expect(result?.content).toEqual([
      { type: "text", text: "one foot" },
      { type: "image", data: "AA==", mimeType: "image/png" },
      { type: "text", text: '{"feet":2}' },
    ]);
    const marked = (result?._meta as Record<string, unknown> | undefined)?.["io.datalayer/partial-output"];
    expect(marked).toBe(contract === "datalayer" ? undefined : true);
  });

  it("a task that produced nothing keeps no result, and says so", async () => {
    const { connect } = scene(
      (tasks, server) => tasks.registerTool(server, "dig", OPTIONAL, (_args, ctx) => untilCancelled(ctx)),
      { contract },
    );
    const client = await connect();
    const { taskId } = await client.callTask("dig");
    await client.request("tasks/cancel", { taskId });
    expect((await client.request("tasks/result", { taskId })).error).toEqual({
      code: -32603,
      message: expect.stringContaining("produced nothing"),
    });
  });

  it("an interrupt that fails does not stop the cancellation", async () => {
    const { connect } = scene(
      (tasks, server) =>
        tasks.registerTool(server, "dig", OPTIONAL, async (_args, ctx) => {
          ctx.task?.registerInterrupt(() => {
            throw new Error("kernel is deaf");
          });
          await untilCancelled(ctx);
        }),
      { contract },
    );
    const client = await connect();
    const { taskId } = await client.callTask("dig");
    expect((await client.request("tasks/cancel", { taskId })).result).toMatchObject({ status: "cancelled" });
  });

  it("a finished task stays as it is: answered by our contract, refused with -32602 by the core's, each time", async () => {
    let aborted = 0;
    const { connect } = scene(
      (tasks, server) =>
        tasks.registerTool(server, "dig", OPTIONAL, (_args, ctx) => {
          ctx.signal.addEventListener("abort", () => {
            aborted += 1;
          });
          return "dug";
        }),
      { contract },
    );
    const client = await connect();
    const { taskId } = await client.callTask("dig");
    await eventually(async () => (await client.request("tasks/get", { taskId })).result?.status === "completed");
    const before = (await client.request("tasks/get", { taskId })).result;
    client.heard.length = 0;
    for (let i = 0; i < 2; i += 1) {
      const reply = await client.request("tasks/cancel", { taskId });
      if (contract === "datalayer") expect(reply.result).toEqual(before);
      else expect(reply.error).toEqual({ code: -32602, message: expect.stringContaining("completed") });
    }
    expect((await client.request("tasks/get", { taskId })).result).toEqual(before);
    expect(aborted).toBe(0);
    expect(client.heard).toEqual([]);
  });

  it("a task that waits for a person is cancelled as well", async () => {
    const { connect } = scene(
      (tasks, server) =>
        tasks.registerTool(server, "dig", OPTIONAL, async (_args, ctx) => {
          await ctx.task?.requireInput("Where to?");
          await untilCancelled(ctx);
        }),
      { contract },
    );
    const client = await connect();
    const { taskId } = await client.callTask("dig");
    await eventually(async () => (await client.request("tasks/get", { taskId })).result?.status === "input_required");
    const waiting = client.request("tasks/result", { taskId });
    expect((await client.request("tasks/cancel", { taskId })).result).toMatchObject({ status: "cancelled" });
    expect((await waiting).error?.code).toBe(-32603);
  });

  it("notifications/cancelled for the creating request changes nothing", async () => {
    const started = gate();
    const running = gate<string>();
    let aborted = false;
    const { connect } = scene(
      (tasks, server) =>
        tasks.registerTool(server, "dig", OPTIONAL, (_args, ctx) => {
          ctx.signal.addEventListener("abort", () => {
            aborted = true;
          });
          started.open();
          return running.promise;
        }),
      { contract },
    );
    const client = await connect();
    const created = client.request("tools/call", { name: "dig", task: {} }, 7);
    await client.send({ jsonrpc: "2.0", method: "notifications/cancelled", params: { requestId: 7 } });
    const { taskId } = ((await created).result as { task: { taskId: string } }).task;
    await started.promise;
    await client.send({ jsonrpc: "2.0", method: "notifications/cancelled", params: { requestId: 7 } });
    running.open("dug");
    await eventually(async () => (await client.request("tasks/get", { taskId })).result?.status === "completed");
    expect(aborted).toBe(false);
  });
});

describe("a cancellation that comes too late, or of nothing", () => {
  it.each([
    ["an answered call", { requestId: 7 }],
    ["a request that never was", { requestId: "nobody" }],
    ["the initialize request", { requestId: 100 }],
    ["no request at all", {}],
    ["what is no id", { requestId: { id: 7 } }],
    ["null", { requestId: null }],
  ])("of %s changes nothing, is answered by nothing, and the connection goes on", async (_what, params) => {
    const started = gate();
    const running = gate<string>();
    const { connect } = scene((tasks, server) => {
      tasks.registerTool(server, "dig", OPTIONAL, () => "dug");
      tasks.registerTool(server, "wait", OPTIONAL, () => {
        started.open();
        return running.promise;
      });
    });
    const client = await connect();
    await client.request("tools/call", { name: "dig", arguments: {} }, 7);
    const waiting = client.call("wait");
    await started.promise;
    const before = client.log.length;
    await client.send({ jsonrpc: "2.0", method: "notifications/cancelled", params });
    expect((await client.request("ping")).result).toEqual({});
    expect(client.log).toHaveLength(before + 1);
    running.open("waited");
    expect((await waiting).result).toMatchObject({ content: [{ text: "waited" }] });
  });
});

describe("a direct call", () => {
  it.each([0, "0", "", 12])("with id %j stops when its caller cancels it, and is not answered", async (id) => {
    const started = gate();
    const stopped = gate<boolean>();
    const { connect } = scene((tasks, server) =>
      tasks.registerTool(server, "dig", OPTIONAL, async (_args, ctx) => {
        started.open();
        stopped.open(await ctx.cancelToken.wait());
        expect(ctx.signal.aborted).toBe(true);
      }),
    );
    const client = await connect();
    void client.request("tools/call", { name: "dig" }, id);
    await started.promise;
    await client.send({ jsonrpc: "2.0", method: "notifications/cancelled", params: { requestId: id } });
    expect(await stopped.promise).toBe(true);
    await client.request("ping");
    expect(client.log.filter((reply) => "id" in reply && reply.id === id)).toEqual([]);
  });

  it("stops when its caller is gone; a task does not", async () => {
    const started = [gate(), gate()] as const;
    const ended = gate<boolean>();
    const running = gate<string>();
    const { tasks, connect } = scene(
      (tasks, server) =>
        tasks.registerTool(server, "dig", OPTIONAL, async (_args, ctx) => {
          if (ctx.task === null) {
            started[0].open();
            ended.open(await ctx.cancelToken.wait());
            return;
          }
          started[1].open();
          const word = await running.promise;
          return ctx.signal.aborted ? "aborted" : word;
        }),
      { ownership: "single-user" },
    );
    const client = await connect();
    void client.call("dig");
    const { taskId } = await client.callTask("dig");
    await Promise.all(started.map(({ promise }) => promise));
    await client.close();
    expect(await ended.promise).toBe(true);
    running.open("dug");
    const later = await connect();
    expect((await later.request("tasks/result", { taskId })).result).toMatchObject({ content: [{ text: "dug" }] });
    expect(tasks.runtime.gauges.running).toBe(0);
  });

  it("that ended well tells whoever still waits on its token that it was not cancelled", async () => {
    let waiting: Promise<boolean> | undefined;
    const { connect } = scene((tasks, server) =>
      tasks.registerTool(server, "dig", OPTIONAL, (_args, ctx) => {
        waiting = ctx.cancelToken.wait();
        expect(ctx.cancelToken.isCancelled()).toBe(false);
        expect(registerInterrupt(() => {})).toBe(false);
        expect(recordOutput(["x"])).toBe(false);
        return "dug";
      }),
    );
    expect((await (await connect()).call("dig")).result).toMatchObject({ content: [{ text: "dug" }] });
    expect(await waiting).toBe(false);
  });
});
