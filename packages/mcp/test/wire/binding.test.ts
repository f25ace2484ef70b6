import { expect, it } from "vitest";
import { createTasks } from "../../src/index.js";
import { connectInMemory } from "./raw-client.js";
import { defaults } from "./servers.js";

it("one handler serves a direct call and a task", async () => {
  const tasks = createTasks(defaults);
  const client = await connectInMemory(tasks, (server) => {
    tasks.registerTool(server, "greet", { execution: { taskSupport: "optional" } }, (_args, ctx) =>
      ctx.task === null ? "directly" : "in a task",
    );
  });
  expect((await client.call("greet")).result).toEqual({ content: [{ type: "text", text: "directly" }] });
  const { taskId } = await client.callTask("greet");
  expect((await client.request("tasks/result", { taskId })).result).toMatchObject({
    content: [{ type: "text", text: "in a task" }],
  });
  await client.close();
  await tasks.close();
});
