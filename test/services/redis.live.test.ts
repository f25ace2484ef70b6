import { existsSync } from "node:fs";
import { expect, onTestFinished, test } from "vitest";
import { eventually } from "../fixtures/eventually.js";
import { removeWhenGone, startRedis, startSentinel } from "./redis.js";

test.each([
  ["server", () => startRedis()],
  ["sentinel", async () => startSentinel("mymaster", (await watched()).port)],
])("a %s ends with the process that it is for, and leaves no folder", async (_what, start) => {
  const server = await start();
  onTestFinished(() => server.remove());
  const goes = removeWhenGone(server.dir);
  expect(existsSync(server.dir)).toBe(true);
  goes();
  await eventually(() => !existsSync(server.dir), 30_000);
  await eventually(() => server.process.signalCode === "SIGKILL", 30_000);
});

async function watched() {
  const server = await startRedis();
  onTestFinished(() => server.remove());
  return server;
}
