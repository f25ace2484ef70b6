import { join } from "node:path";
import { afterAll, expect, inject, test } from "vitest";
import { startExtraJupyter } from "../../../test/services/jupyter.js";
import { Command, temporaryFolder } from "./command.js";

// A server of its own: what is killed or handed over here leaves its kernel to anybody.
const extra = await startExtraJupyter(inject("jupyter").python);
afterAll(() => extra.stop());
const jupyter = extra.service;
const onJupyter = { JUPYTER_URL: jupyter.url, JUPYTER_TOKEN: jupyter.token };

/** Prints a line now and then for as long as nobody stops it. */
const ENDLESS = "import time\nfor i in range(600):\n    print('line', i, flush=True)\n    time.sleep(0.1)";
/** The same, and no interrupt stops it. */
const DEAF = ENDLESS.replace("    time.sleep(0.1)", "    try: time.sleep(0.1)\n    except KeyboardInterrupt: pass");
/** The SDK's client closes stdin, sends SIGTERM after two seconds, and kills after two more. */
const CLIENT_PATIENCE_MS = 4_000;

test("stdout carries whole protocol lines and nothing else", async () => {
  const command = new Command(["jupyter", "--store", "memory", "--log-level", "debug"], onJupyter);
  await command.initialize();
  const { result } = await command.request("tools/call", { name: "execute_code", arguments: { code: "print(6 * 7)" } });
  expect(JSON.stringify(result)).toContain("42");
  command.process.stdin.end();
  expect(await command.ended).toBe(0);
  for (const message of command.messages) expect(message).toMatchObject({ jsonrpc: "2.0" });
});

test("it ends by itself when stdin ends and nothing runs", async () => {
  const command = new Command(["jupyter", "--store", "memory"], onJupyter);
  await command.initialize();
  command.process.stdin.end();
  const { code, tookMs } = await command.exit();
  expect(code).toBe(0);
  expect(tookMs).toBeLessThan(CLIENT_PATIENCE_MS);
  expect(command.stderr).toBe("");
});

test("it ends by itself when stdin ends before a word was said", async () => {
  const command = new Command(["jupyter", "--store", "memory"], onJupyter);
  command.process.stdin.end();
  expect(await command.ended).toBe(0);
});

test("it ends by itself when stdin ends while a task runs, before a client would kill it", async () => {
  const command = new Command(["jupyter"], onJupyter);
  await command.initialize();
  const taskId = await command.callTask(ENDLESS);
  await command.untilTask(taskId, ({ output }) => output.includes("line 3"));
  command.process.stdin.end();
  const { code, tookMs } = await command.exit();
  expect(code).toBe(0);
  expect(tookMs).toBeLessThan(CLIENT_PATIENCE_MS);
});

test("it ends in order when the reader of stdout has gone", async () => {
  const command = new Command(["jupyter", "--store", "memory"], onJupyter);
  await command.initialize();
  await command.callTask(ENDLESS);
  command.process.stdout.destroy();
  command.send({ id: 999, method: "ping" });
  expect(await command.ended, command.stderr).toBe(0);
  expect(command.stderr.match(/EPIPE/g), command.stderr).toHaveLength(1);
});

test("it ends before a client would kill it though a cell ignores every interrupt: the next process has its task", async () => {
  const store = `sqlite:${join(temporaryFolder(), "tasks.db")}`;
  const command = new Command(["jupyter", "--store", store], onJupyter);
  await command.initialize();
  const taskId = await command.callTask(DEAF);
  await command.untilTask(taskId, ({ output }) => output.includes("line 3"));
  command.process.stdin.end();
  const { code, tookMs } = await command.exit();
  expect(code).toBe(0);
  expect(tookMs).toBeLessThan(CLIENT_PATIENCE_MS);
  const next = new Command(["jupyter", "--store", store], onJupyter);
  await next.initialize();
  await next.untilTask(taskId, ({ output }) => output.includes("line 30"));
  const { result } = await next.request("tasks/cancel", { taskId });
  expect(result).toMatchObject({ status: "cancelled", statusMessage: expect.stringContaining("may still be running") });
});

test("SIGTERM ends it in order", async () => {
  const command = new Command(["jupyter", "--store", "memory"], onJupyter);
  await command.initialize();
  command.process.kill("SIGTERM");
  expect(await command.ended).toBe(0);
});

test("answers that wait for a slow reader are all written out before the end", async () => {
  const command = new Command(["jupyter", "--store", "memory"], onJupyter);
  await command.initialize();
  const ids = Array.from({ length: 3_000 }, (_, index) => 1_000 + index);
  command.process.stdout.pause();
  for (const id of ids) command.send({ id, method: "tools/list" });
  command.process.stdin.end();
  // Longer than the process would linger with nothing left to write.
  await new Promise((resolve) => setTimeout(resolve, 2_500));
  command.process.stdout.resume();
  expect(await command.ended, command.stderr).toBe(0);
  expect(command.stdout.length).toBeGreaterThan(500_000);
  expect(command.messages.slice(1).map((message) => message.id)).toEqual(ids);
});

test("a task that has finished is collected from the next process", async () => {
  const home = temporaryFolder();
  const first = new Command(["jupyter"], onJupyter, home);
  await first.initialize();
  const taskId = await first.callTask("print(6 * 7)");
  await first.untilTask(taskId, ({ status }) => status === "completed");
  first.process.kill("SIGKILL");
  await first.ended;

  const second = new Command(["jupyter"], onJupyter, home);
  await second.initialize();
  const { result } = await second.request("tasks/result", { taskId });
  expect(JSON.stringify(result)).toContain("42");
});
