import { Server } from "node:http";
import { connect } from "node:net";
import { expect, it, onTestFinished, vi } from "vitest";
import { gate } from "../wire/raw-client.js";
import { OPTIONAL } from "../wire/servers.js";
import { HttpClient, serving } from "./http-client.js";

it("ends open streams, waiting results, idle connections and half-sent requests, and leaves the tasks", async () => {
  const running = gate();
  const { tasks, serving: served } = await serving(
    (tasks, server) =>
      tasks.registerTool(server, "dig", OPTIONAL, async () => {
        await running.promise;
        return "dug";
      }),
    { auth: "none" },
    { ownership: "single-user" },
  );
  const client = new HttpClient(served.url);
  await client.initialize();
  const stream = await client.listen();
  const { taskId } = await client.callTask("dig");
  const waiting = [client, new HttpClient(served.url)].map(async (waiter) => {
    const response = await waiter.post("tasks/result", { taskId });
    return response.text().catch(() => "cut");
  });
  const halfSent = connect(served.port, "127.0.0.1");
  halfSent.on("error", () => {});
  halfSent.write(
    "POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 100\r\n\r\n{",
  );
  const closedSocket = new Promise((resolve) => halfSent.once("close", resolve));
  await Promise.all(waiting.map((_, i) => client.request("ping", { i })));

  const startedAt = performance.now();
  await served.close();
  expect(performance.now() - startedAt).toBeLessThan(2000);
  await Promise.all([stream.ended, closedSocket]);
  for (const text of await Promise.all(waiting)) expect(text).not.toContain("dug");
  await expect(fetch(served.url)).rejects.toThrow();

  running.open();
  expect(await tasks.runtime.wait(JSON.stringify(["single-user"]), taskId)).toMatchObject({ status: "completed" });
  expect(tasks.runtime.gauges.watchedTasks).toBe(0);
  await served.close();
});

it("a server that nobody is connected to closes at once", async () => {
  const { serving: served } = await serving(() => {});
  // What comes after the grace, when somebody is.
  const cut = vi.spyOn(Server.prototype, "closeAllConnections");
  onTestFinished(() => cut.mockRestore());
  await served.close();
  expect(cut).not.toHaveBeenCalled();
});
