/** Over real pipes: calls, tasks, and what is told of them without being asked. */
import { type ChildProcessWithoutNullStreams, spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { beforeAll, expect, it, onTestFinished } from "vitest";
import type { Heard, Reply } from "../wire/raw-client.js";

const fixture = fileURLToPath(new URL("./fixture-server.mjs", import.meta.url));

/** The server process runs what was built. */
beforeAll(async () => {
  const root = fileURLToPath(new URL("../../../..", import.meta.url));
  const build = spawn(process.execPath, ["node_modules/typescript-native/bin/tsc", "-b", "packages/mcp"], {
    cwd: root,
  });
  expect(await once(build, "exit")).toEqual([0, null]);
});

class PipedServer {
  readonly process: ChildProcessWithoutNullStreams;
  /** Every line of stdout. */
  readonly lines: string[] = [];
  stderr = "";
  saidOver = false;
  readonly #waiting = new Map<unknown, (reply: Reply) => void>();
  #nextId = 1;

  constructor(...args: string[]) {
    this.process = spawn(process.execPath, [fixture, ...args]);
    this.process.stdin.on("error", () => {});
    this.process.stderr.on("data", (chunk) => {
      this.stderr += chunk;
    });
    createInterface(this.process.stdout).on("line", (line) => {
      // The fixture's last word, once stdout is the process's own again.
      if (line === "over") {
        this.saidOver = true;
        return;
      }
      this.lines.push(line);
      const message = JSON.parse(line) as Reply & Partial<Heard>;
      if (message.method === undefined) this.#waiting.get(message.id)?.(message);
    });
    onTestFinished(() => void this.process.kill("SIGKILL"));
  }

  get messages(): (Reply & Partial<Heard>)[] {
    return this.lines.map((line) => JSON.parse(line));
  }

  write(text: string | Buffer): void {
    this.process.stdin.write(text);
  }

  request(method: string, params: unknown = {}): Promise<Reply> {
    const id = this.#nextId++;
    const reply = new Promise<Reply>((resolve) => this.#waiting.set(id, resolve));
    this.write(`${JSON.stringify({ jsonrpc: "2.0", id, method, params })}\n`);
    return reply;
  }

  async initialize(): Promise<void> {
    const clientInfo = { name: "piped", version: "0" };
    await this.request("initialize", {
      protocolVersion: "2025-11-25",
      capabilities: { elicitation: {} },
      clientInfo,
    });
  }

  async callTask(name: string, extra: object = {}): Promise<string> {
    const { result } = await this.request("tools/call", { name, task: {}, ...extra });
    return (result?.task as { taskId?: string } | undefined)?.taskId ?? "";
  }

  /** Resolves with the exit code; the caller bounds it by the test's time-out. */
  async exit(): Promise<number | null> {
    if (this.process.exitCode !== null) return this.process.exitCode;
    const [code] = await once(this.process, "exit");
    return code as number | null;
  }
}

async function connected(...args: string[]): Promise<PipedServer> {
  const server = new PipedServer(...args);
  await server.initialize();
  return server;
}

it("progress and status lines arrive while tasks/result is pending, then the result", async () => {
  const server = await connected();
  const taskId = await server.callTask("dig", { _meta: { progressToken: "t" } });
  const { result } = await server.request("tasks/result", { taskId });
  expect(result).toMatchObject({ content: [{ text: "dug" }] });
  const after = server.messages.slice(2);
  const progress = after.filter(({ method }) => method === "notifications/progress");
  expect(progress.map(({ params }) => [params?.progressToken, params?.progress])).toEqual([
    ["t", 1],
    ["t", 2],
    ["t", 3],
  ]);
  const last = after.slice(-2).map(({ method, params, result }) => method ?? params ?? result);
  expect(last).toEqual(["notifications/tasks/status", result]);
});

it("a blocked result does not block other lines; cancelling ends it with what there was", async () => {
  const server = await connected();
  const taskId = await server.callTask("endless");
  const waiting = server.request("tasks/result", { taskId });
  expect((await server.request("tasks/get", { taskId })).result?.status).toBe("working");
  expect((await server.request("tasks/cancel", { taskId })).result?.status).toBe("cancelled");
  expect((await waiting).result).toMatchObject({ content: [{ text: "one foot" }] });
});

it("in our contract a result that is not there yet is refused", async () => {
  const server = await connected("datalayer");
  const taskId = await server.callTask("endless");
  expect((await server.request("tasks/result", { taskId })).error).toMatchObject({
    code: -32602,
    data: { status: "working" },
  });
});

/** The `_meta` of a 2026-era request that declares the extension. */
const modern = {
  "io.modelcontextprotocol/protocolVersion": "2026-07-28",
  "io.modelcontextprotocol/clientInfo": { name: "piped", version: "0" },
  "io.modelcontextprotocol/clientCapabilities": { extensions: { "io.modelcontextprotocol/tasks": {} } },
};

it("a subscription is acknowledged, tells every change, and ends when its task has", async () => {
  const server = new PipedServer();
  const call = await server.request("tools/call", { name: "dig", arguments: {}, _meta: modern });
  const taskId = call.result?.taskId;
  const { id, result } = await server.request("subscriptions/listen", {
    notifications: { taskIds: [taskId] },
    _meta: modern,
  });
  const told = server.messages.filter(({ params }) => {
    const meta = params?._meta as Record<string, unknown> | undefined;
    return meta?.["io.modelcontextprotocol/subscriptionId"] === id;
  });
  expect(told[0]).toMatchObject({
    method: "notifications/subscriptions/acknowledged",
    params: { notifications: { taskIds: [taskId] } },
  });
  const rest = told.slice(1);
  expect(new Set(rest.map(({ method }) => method))).toEqual(new Set(["notifications/tasks"]));
  expect(rest.at(-1)?.params).toMatchObject({ taskId, status: "completed", result: { content: [{ text: "dug" }] } });
  const serverInfo = { name: "fixture", version: "0" };
  expect(result).toMatchObject({ resultType: "complete", _meta: { "io.modelcontextprotocol/serverInfo": serverInfo } });
});

it("a subscription that is cancelled says nothing more; another one to the same task goes on", async () => {
  const server = new PipedServer();
  const call = await server.request("tools/call", { name: "endless", arguments: {}, _meta: modern });
  const taskIds = [call.result?.taskId];
  const listen = () => server.request("subscriptions/listen", { notifications: { taskIds }, _meta: modern });
  void listen();
  const staying = listen();
  await expect.poll(() => server.messages.filter(({ method }) => method === "notifications/tasks").length).toBe(2);
  server.write(`${JSON.stringify({ jsonrpc: "2.0", method: "notifications/cancelled", params: { requestId: 2 } })}\n`);
  await server.request("tasks/cancel", { taskId: taskIds[0], _meta: modern });
  expect((await staying).result).toMatchObject({ resultType: "complete" });
  const ofCancelled = server.messages.filter(({ id, params }) => {
    const meta = params?._meta as Record<string, unknown> | undefined;
    return id === 2 || meta?.["io.modelcontextprotocol/subscriptionId"] === 2;
  });
  expect(ofCancelled).toHaveLength(2);
});

it("a client that reads nothing makes the server keep a bounded amount for its subscription", async () => {
  const server = new PipedServer();
  const call = await server.request("tools/call", { name: "chatters", arguments: {}, _meta: modern });
  const taskIds = [call.result?.taskId];
  server.process.stdout.pause();
  const ended = server.request("subscriptions/listen", { notifications: { taskIds }, _meta: modern });
  // Its last word on stderr: everything has been said.
  await expect.poll(() => server.stderr).toContain("all said");
  server.process.stdout.resume();
  expect((await ended).result).toMatchObject({ resultType: "complete" });
  const told = server.messages.filter(({ method }) => method === "notifications/tasks");
  expect(told.length).toBeLessThan(3000);
  expect(told.at(-1)?.params).toMatchObject({ status: "completed" });
});

it("stdout carries whole protocol lines only; what tools and libraries print goes to stderr", async () => {
  const server = await connected();
  const calls = Array.from({ length: 20 }, (_, i) =>
    i % 2 === 0 ? server.request("tools/call", { name: "chatty" }) : server.request("tools/list"),
  );
  await Promise.all([...calls, server.request("tools/call", { name: "chatty_worker" })]);
  await expect.poll(() => server.stderr).toContain("written by a worker");
  for (const line of server.lines) expect(JSON.parse(line)).toMatchObject({ jsonrpc: "2.0" });
  expect(server.lines.join()).not.toContain("printed by a tool");
  for (const said of ["a banner", "printed by a tool", "feet", "written to stdout", "said by a child"]) {
    expect(server.stderr).toContain(said);
  }
});

it("lines that are no message are answered as such, and the next good request as ever", async () => {
  const server = await connected();
  for (const bad of ["\n", "Debugger attached.\n", '{"jsonrpc":\n', "42\n", "[]\n", "null\n", "\u2028\n"])
    server.write(bad);
  server.write("not json\n".repeat(20_000));
  expect((await server.request("ping")).result).toEqual({});
  const answers = server.messages.filter(({ error }) => error !== undefined);
  expect(answers).toHaveLength(20_006);
});

it("characters split between chunks arrive whole, and make the same call", async () => {
  const server = await connected();
  const text = "é€😀\u2028";
  const meta = { "io.datalayer/idempotency-key": text };
  const first = await server.callTask("dig", { _meta: meta });
  const params = { name: "dig", task: {}, _meta: meta };
  const bytes = Buffer.from(`${JSON.stringify({ jsonrpc: "2.0", id: "split", method: "tools/call", params })}\r\n`);
  for (const byte of bytes) {
    server.write(Buffer.from([byte]));
    await new Promise((resolve) => setImmediate(resolve));
  }
  await server.request("tasks/result", { taskId: first });
  const split = server.messages.find(({ id }) => id === "split");
  expect(split?.result).toMatchObject({ task: { taskId: first } });
});

it("the end of stdin ends the connection, with a task running; what is still in the pipe is written out", async () => {
  const server = await connected();
  await server.callTask("endless");
  const waiting = server.request("tools/call", { name: "big" });
  expect(JSON.stringify((await waiting).result)).toHaveLength(
    10_000_000 + '{"content":[{"type":"text","text":""}]}'.length,
  );
  server.process.stdin.end();
  expect(await server.exit()).toBe(0);
  expect(server.stderr).not.toContain("onerror");
});

it("nor does a task that waits for a person keep the process", async () => {
  const server = await connected();
  const taskId = await server.callTask("asks");
  await expect.poll(async () => (await server.request("tasks/get", { taskId })).result?.status).toBe("input_required");
  server.process.stdin.end();
  expect(await server.exit()).toBe(0);
});

it("an answer that a slow client has not read when it ends stdin is written out before the process ends", async () => {
  const server = await connected();
  const { stdin, stdout } = server.process;
  stdout.pause();
  void server.request("tools/call", { name: "big" });
  await expect.poll(() => stdout.readableLength).toBeGreaterThan(0);
  stdin.end();
  // Another turn of the server's, which it must not use to exit.
  await new Promise((resolve) => setTimeout(resolve, 200));
  expect(server.process.exitCode).toBeNull();
  stdout.resume();
  expect(await server.exit()).toBe(0);
  await expect.poll(() => server.saidOver).toBe(true);
  const last = server.messages.at(-1)?.result as { content: [{ text: string }] };
  expect(last.content[0].text).toHaveLength(10_000_000);
});

it("the stdin of a client that has never said anything may end too", async () => {
  const server = new PipedServer();
  server.process.stdin.end();
  expect(await server.exit()).toBe(0);
});

it("a stdout that nobody reads any more ends the connection, and the process does not crash", async () => {
  const server = await connected();
  await server.callTask("dig", { _meta: { progressToken: 1 } });
  server.process.stdout.destroy();
  expect(await server.exit()).toBe(0);
  expect(server.stderr).not.toMatch(/Unhandled|uncaught/i);
});

it("stdout is the process's own again once the connection has ended", async () => {
  const server = await connected();
  server.process.stdin.end();
  await server.exit();
  await expect.poll(() => server.saidOver).toBe(true);
});
