/** How long tasks are kept. */
import { FakeClock } from "@claimcheck/core/testing";
import { describe, expect, it } from "vitest";
import { gate } from "./raw-client.js";
import { OPTIONAL, scene } from "./servers.js";

describe.each(["datalayer", "2025-11-25"] as const)("contract %s", (contract) => {
  it("a finished task is kept for its ttl after it finished, and is then gone", async () => {
    const clock = new FakeClock();
    const running = gate<string>();
    const { connect } = scene((tasks, server) => tasks.registerTool(server, "dig", OPTIONAL, () => running.promise), {
      contract,
      clock,
    });
    const client = await connect();
    const { taskId, createdAt } = await client.callTask("dig", { task: { ttl: 1000 } });
    await clock.advance(60_000);
    expect((await client.request("tasks/get", { taskId })).result).toMatchObject({ status: "working", ttl: 1000 });
    running.open("dug");
    await clock.advance(999);
    const { result } = await client.request("tasks/get", { taskId });
    expect(result).toMatchObject({ status: "completed", ttl: 61_000 });
    // What a client computes is true: this is the instant from which it is gone.
    const goneAt = Date.parse(createdAt) + (result?.ttl as number);
    await clock.advance(goneAt - clock.now() - 1);
    expect((await client.request("tasks/result", { taskId })).result).toMatchObject({ content: [{ text: "dug" }] });
    await clock.advance(1);
    for (const method of ["tasks/get", "tasks/result", "tasks/cancel"]) {
      expect((await client.request(method, { taskId })).error).toEqual({ code: -32602, message: "No such task." });
    }
    expect((await client.request("tasks/list")).result).toEqual({ tasks: [] });
  });

  it("by default that is 15 minutes, or what the tool says; a caller may say otherwise", async () => {
    const clock = new FakeClock();
    const { connect } = scene(
      (tasks, server) => {
        tasks.registerTool(server, "plain", OPTIONAL, () => "dug");
        tasks.registerTool(server, "brief", { ...OPTIONAL, ttl: 5000 }, () => "dug");
      },
      { contract, clock },
    );
    const client = await connect();
    expect((await client.callTask("plain")).ttl).toBe(15 * 60_000);
    expect((await client.callTask("brief")).ttl).toBe(5000);
    expect((await client.callTask("brief", { task: { ttl: 7000 } })).ttl).toBe(7000);
  });
});
