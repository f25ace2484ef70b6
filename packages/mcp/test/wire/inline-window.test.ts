/** Work that is done within `inlineMs` is answered as if there had been no task (SEP-2663: the server decides per call). */

import { ProtocolError } from "@modelcontextprotocol/server";
import { expect, it } from "vitest";
import { eventually } from "../../../../test/fixtures/eventually.js";
import { modernScene } from "./modern-client.js";
import { gate } from "./raw-client.js";

const inline = (inlineMs: number) => ({ execution: { taskSupport: "optional" }, inlineMs }) as const;

it("quick work answers its plain result, whatever it came to", async () => {
  const { connect } = await modernScene((tasks, server) => {
    tasks.registerTool(server, "quick", inline(5000), () => "dug");
    tasks.registerTool(server, "rock", inline(5000), () => Promise.reject(new Error("rock")));
    tasks.registerTool(server, "raises", inline(5000), () => Promise.reject(new ProtocolError(-32042, "no")));
  });
  const client = connect();
  expect((await client.call("quick")).result).toMatchObject({ resultType: "complete", content: [{ text: "dug" }] });
  expect((await client.call("rock")).result).toMatchObject({ resultType: "complete", isError: true });
  expect((await client.call("raises")).error).toMatchObject({ code: -32042, message: "no" });
});

it("what is not done by then is a task, `working`, and goes on", async () => {
  const running = gate<string>();
  const { connect } = await modernScene((tasks, server) =>
    tasks.registerTool(server, "slow", inline(20), () => running.promise),
  );
  const client = connect();
  const { result } = await client.call("slow");
  expect(result).toMatchObject({ resultType: "task", status: "working" });
  running.open("dug");
  const taskId = result?.taskId as string;
  await eventually(async () => (await client.get(taskId)).status === "completed");
});

it("what asks is a task at once", async () => {
  const { connect } = await modernScene((tasks, server) =>
    tasks.registerTool(server, "asks", inline(60_000), (_args, ctx) =>
      ctx.elicit({ message: "?", requestedSchema: {} }),
    ),
  );
  const client = connect({ capabilities: { elicitation: {} } });
  const { result } = await client.call("asks");
  expect(result).toMatchObject({ resultType: "task" });
  expect(Object.keys(await client.questions(result?.taskId as string))).toHaveLength(1);
});

it("by default nothing is held", async () => {
  const { connect } = await modernScene((tasks, server) =>
    tasks.registerTool(server, "quick", { execution: { taskSupport: "optional" } }, () => "dug"),
  );
  expect((await connect().call("quick")).result).toMatchObject({ resultType: "task", status: "working" });
});
