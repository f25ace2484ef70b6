/** Planted secrets are looked for where they must not be: in the file that keeps the tasks, and in every log. */
import { mkdtemp, readdir, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { PassThrough } from "node:stream";
import type { CancelToken, Logger } from "@claimcheck/core";
import { createTasks, serveHttp, serveStdio, type Tasks, type TasksOptions } from "@claimcheck/mcp";
import { SqliteStore } from "@claimcheck/sqlite";
import { McpServer } from "@modelcontextprotocol/server";
import { expect, it, onTestFinished } from "vitest";

const TOKEN = "planted-token-5f1c";
const COOKIE = "planted-cookie-a207";
const KEPT = "planted-trace-93be";
const PAYLOADS = ["planted-argument-11", "planted-output-22", "planted-result-33", "planted-progress-44"];
const OPTIONAL = { execution: { taskSupport: "optional" } } as const;

/** Everything that is logged, at every level. */
class Log implements Logger {
  text = "";
  debug = (fields: object, message: string): void => this.#keep(fields, message);
  info = this.debug;
  warn = this.debug;
  error = this.debug;

  #keep(fields: object, message: string): void {
    this.text += `${JSON.stringify(fields)} ${message}\n`;
  }
}

async function opened(options: TasksOptions = {}) {
  const folder = await mkdtemp(join(tmpdir(), "claimcheck-secrets-"));
  const log = new Log();
  const tasks = createTasks({ store: new SqliteStore({ path: join(folder, "tasks.db") }), logger: log, ...options });
  onTestFinished(async () => {
    await tasks.close();
    await rm(folder, { recursive: true });
  });
  /** What is in the file, and in those beside it. */
  const file = async (): Promise<string> => {
    const names = await readdir(folder);
    const contents = await Promise.all(names.map((name) => readFile(join(folder, name), "latin1")));
    return contents.join("\n");
  };
  return { tasks, log, file };
}

/** What the tool waits for, with half of its work done. */
type Held = (cancelToken: CancelToken) => Promise<void>;

function serverOf(tasks: Tasks, held: Held = async () => {}): McpServer {
  const server = new McpServer({ name: "test", version: "0" });
  tasks.registerTool(server, "dig", OPTIONAL, async (_args, ctx) => {
    ctx.task?.sendProgress(1, { message: "planted-progress-44" });
    ctx.task?.recordOutput([{ type: "text", text: "planted-output-22" }]);
    await held(ctx.cancelToken);
    return { content: [{ type: "text", text: "planted-result-33" }], structuredContent: { saw: ctx.request } };
  });
  tasks.registerTool(server, "fail", OPTIONAL, () => {
    throw new TypeError("no");
  });
  return server;
}

async function servedOverHttp(options: TasksOptions = {}, held?: Held) {
  const scene = await opened(options);
  const onerror = (error: Error): void => scene.log.error({}, `${error.stack}`);
  const served = await serveHttp(scene.tasks, () => serverOf(scene.tasks, held), { auth: { token: TOKEN }, onerror });
  onTestFinished(() => served.close());
  let id = 0;
  const post = async (method: string, params: unknown, extra: Record<string, string> = {}) => {
    const headers = {
      accept: "application/json, text/event-stream",
      "content-type": "application/json",
      authorization: `Bearer ${TOKEN}`,
      cookie: `session=${COOKIE}`,
      "x-trace": KEPT,
      ...extra,
    };
    id += 1;
    const body = JSON.stringify({ jsonrpc: "2.0", id, method, params });
    const text = await (await fetch(served.url, { method: "POST", headers, body })).text();
    return JSON.parse(/^data: (\{.*)$/m.exec(text)?.[1] ?? text);
  };
  return { ...scene, post, url: served.url };
}

/** Calls the tool as a task, and waits for it. */
async function dig(post: (method: string, params: unknown) => Promise<unknown>, name = "dig") {
  const params = { name, arguments: { what: "planted-argument-11" }, task: {} };
  const created = (await post("tools/call", params)) as { result: { task: { taskId: string } } };
  return (await post("tasks/result", { taskId: created.result.task.taskId })) as Record<string, unknown>;
}

it("neither token nor cookie nor any header is in the file that keeps the tasks, nor seen by a tool", async () => {
  const { post, file } = await servedOverHttp();
  const answer = JSON.stringify(await dig(post));
  const kept = await file();
  // The search finds what is there.
  for (const payload of ["planted-argument-11", "planted-result-33"]) expect(kept.includes(payload)).toBe(true);
  for (const secret of [TOKEN, COOKIE, KEPT]) {
    expect(kept.includes(secret)).toBe(false);
    expect(answer).not.toContain(secret);
  }
});

it("a header that the server asks to keep is kept, and no other", async () => {
  const { post, file } = await servedOverHttp({ keepHeaders: ["X-Trace"] });
  expect(JSON.stringify(await dig(post))).toContain(KEPT);
  const kept = await file();
  expect(kept.includes(KEPT)).toBe(true);
  for (const secret of [TOKEN, COOKIE]) expect(kept.includes(secret)).toBe(false);
});

it("no log says a secret or a payload, at any level, whatever goes wrong", async () => {
  const { post, log, url, tasks } = await servedOverHttp();
  await dig(post);
  await dig(post, "fail");
  await post("tools/call", { name: "dig", arguments: "planted-argument-11", task: { ttl: "planted-argument-11" } });
  await post("tasks/get", { taskId: "planted-argument-11" });
  await post("tasks/list", { cursor: "planted-argument-11" });
  await post("planted-argument-11", { x: "planted-argument-11" });
  await post("ping", {}, { authorization: "Bearer planted-token-5f1c-wrong" });
  await post("ping", {}, { "mcp-session-id": TOKEN });
  const headers = { authorization: `Bearer ${TOKEN}`, accept: "application/json, text/event-stream" };
  for (const body of ["planted-argument-11", '{"x": planted-argument-11', '"planted-argument-11"']) {
    await fetch(url, { method: "POST", headers: { ...headers, "content-type": "application/json" }, body });
  }
  await tasks.close();
  for (const secret of [TOKEN, COOKIE, KEPT, ...PAYLOADS]) expect(log.text).not.toContain(secret);
});

it("no log says one when the server shuts down in the middle of a call", async () => {
  const went: string[] = [];
  let begun = (): void => {};
  const inTheMiddle = new Promise<void>((resolve) => {
    begun = resolve;
  });
  const { post, log, tasks } = await servedOverHttp({}, async (cancelToken) => {
    went.push("in");
    begun();
    await cancelToken.wait();
    went.push("on, told to stop");
  });
  const params = { name: "dig", arguments: { what: "planted-argument-11" }, task: {} };
  await post("tools/call", params);
  await inTheMiddle;
  await tasks.close();
  expect(went).toEqual(["in", "on, told to stop"]);
  await post("tools/call", params);
  for (const secret of [TOKEN, COOKIE, ...PAYLOADS]) expect(log.text).not.toContain(secret);
});

it("no log says what a line on stdio says that is no message", async () => {
  const { tasks, log } = await opened();
  const stdin = new PassThrough();
  const stdout = new PassThrough();
  const onerror = (error: Error): void => log.error({}, `${error.stack}`);
  const served = await serveStdio(tasks, () => serverOf(tasks), { stdin, stdout, onerror });
  const initialize = { protocolVersion: "2025-11-25", capabilities: {}, clientInfo: { name: "x", version: "0" } };
  const lines = [
    "planted-argument-11 is no JSON",
    '{"x": planted-argument-11',
    '"planted-argument-11"',
    '{"planted-argument-11": 1}',
    JSON.stringify({ jsonrpc: "2.0", id: 1, method: "initialize", params: initialize }),
    JSON.stringify({ jsonrpc: "2.0", id: 2, method: "tools/call", params: { name: "planted-argument-11" } }),
    JSON.stringify({ jsonrpc: "2.0", id: 99, result: { x: "planted-argument-11" } }),
  ];
  stdin.write(`${lines.join("\n")}\n`);
  for await (const chunk of stdout) if (String(chunk).includes('"id":2')) break;
  await served.close();
  expect(log.text).toContain("What came in was no JSON-RPC message");
  for (const payload of PAYLOADS) expect(log.text).not.toContain(payload);
});
