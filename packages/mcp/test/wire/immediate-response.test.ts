/** What a host may tell its model at once (2025-11-25, tasks, "Model Immediate Response"). */
import { expect, it } from "vitest";
import { z } from "zod";
import { eventually } from "../../../../test/fixtures/eventually.js";
import { modernScene } from "./modern-client.js";
import type { RawClient } from "./raw-client.js";
import { OPTIONAL, scene } from "./servers.js";

const KEY = "io.modelcontextprotocol/model-immediate-response";
const DATALAYER = "io.datalayer/tasks";
const inputSchema = z.object({ feet: z.coerce.number().default(3) });

const created = async (client: RawClient, name: string, args = {}) =>
  (await client.call(name, { task: {}, arguments: args })).result;

const said = (result: Record<string, unknown> | undefined) => (result?._meta as Record<string, unknown>)?.[KEY];

it.each([[], [DATALAYER]])(
  "a text, and one made of the arguments, is told with the claim check",
  async (...extensions) => {
    const { connect } = scene((tasks, server) => {
      tasks.registerTool(server, "dig", { ...OPTIONAL, immediateResponse: "Digging." }, () => "dug");
      const immediateResponse = ({ feet }: { feet: number }) => `Digging ${feet + 1} feet.`;
      tasks.registerTool(server, "bore", { ...OPTIONAL, inputSchema, immediateResponse }, () => "bored");
    });
    const client = await connect({ extensions });
    expect(await created(client, "dig")).toMatchObject({ task: { status: "working" }, _meta: { [KEY]: "Digging." } });
    expect(said(await created(client, "bore", { feet: "6" }))).toBe("Digging 7 feet.");
    expect(said(await created(client, "bore"))).toBe("Digging 4 feet.");
  },
);

it("a tool that says nothing adds nothing, nor does a plain call or the result", async () => {
  const { connect } = scene((tasks, server) => {
    tasks.registerTool(server, "plain", OPTIONAL, () => "dug");
    tasks.registerTool(server, "dig", { ...OPTIONAL, immediateResponse: "Digging." }, () => "dug");
  });
  const client = await connect();
  expect((await created(client, "plain"))?._meta).toBeUndefined();
  expect(said((await client.call("dig")).result)).toBeUndefined();
  const { taskId } = await client.callTask("dig");
  expect(said((await client.request("tasks/result", { taskId })).result)).toBeUndefined();
});

it("one that throws does not keep the work from being done", async () => {
  const immediateResponse = () => {
    throw new Error("nothing comes to mind");
  };
  const { connect } = scene((tasks, server) =>
    tasks.registerTool(server, "dig", { ...OPTIONAL, immediateResponse }, () => "dug"),
  );
  const client = await connect();
  const { taskId } = await client.callTask("dig");
  expect((await client.request("tasks/result", { taskId })).result).toMatchObject({ content: [{ text: "dug" }] });
});

it("the extension of 2026-07-28 does not know it", async () => {
  const { connect } = await modernScene((tasks, server) =>
    tasks.registerTool(server, "dig", { ...OPTIONAL, immediateResponse: "Digging." }, () => "dug"),
  );
  const { result } = await connect().call("dig");
  expect(result?.resultType).toBe("task");
  expect(said(result)).toBeUndefined();
});

it("a retry with the same key is told the same", async () => {
  const { connect } = scene((tasks, server) =>
    tasks.registerTool(server, "dig", { ...OPTIONAL, immediateResponse: "Digging." }, () => "dug"),
  );
  const client = await connect();
  const call = { task: {}, _meta: { "io.datalayer/idempotency-key": "k" } };
  const first = await client.call("dig", call);
  await eventually(async () => {
    const { taskId } = (first.result as { task: { taskId: string } }).task;
    return (await client.request("tasks/get", { taskId })).result?.status === "completed";
  });
  expect(said((await client.call("dig", call)).result)).toBe("Digging.");
});
