/** The real command as a process, and the wire to it. It runs the build, which `npm test` makes first. */
import { type ChildProcessWithoutNullStreams, spawn } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { onTestFinished } from "vitest";

export const bin = fileURLToPath(new URL("../bin/claimcheck.js", import.meta.url));

export interface Reply {
  id?: unknown;
  method?: string;
  // biome-ignore lint/suspicious/noExplicitAny: a test looks into whatever came
  result?: any;
  error?: { code: number; message: string; data?: unknown };
}

/** A folder that is gone when the test has finished. */
export function temporaryFolder(): string {
  const dir = mkdtempSync(join(tmpdir(), "claimcheck-cli-"));
  onTestFinished(() => rmSync(dir, { recursive: true, force: true, maxRetries: 5, retryDelay: 100 }));
  return dir;
}

export class Command {
  readonly process: ChildProcessWithoutNullStreams;
  /** Exit code, or the name of the signal that ended it. */
  readonly ended: Promise<number | NodeJS.Signals | null>;
  stdout = "";
  stderr = "";
  readonly #listeners = new Set<() => void>();
  #nextId = 1;

  /** Starts the command; nothing of this machine's own settings reaches it. It is ended when the test ends. */
  constructor(args: readonly string[], env: Record<string, string> = {}, cwd: string = temporaryFolder()) {
    const { PATH = "" } = process.env;
    this.process = spawn(process.execPath, [bin, ...args], { cwd, env: { PATH, HOME: cwd, ...env } });
    this.ended = new Promise((resolve) => this.process.once("close", (code, signal) => resolve(code ?? signal)));
    this.process.stdout.setEncoding("utf8").on("data", (text) => this.#take("stdout", text));
    this.process.stderr.setEncoding("utf8").on("data", (text) => this.#take("stderr", text));
    this.process.stdin.on("error", () => {});
    onTestFinished(async () => {
      // In good order, or else its kernel stays for a server of another test to take up.
      this.process.kill("SIGTERM");
      const late = setTimeout(() => this.process.kill("SIGKILL"), 20_000);
      await this.ended;
      clearTimeout(late);
    });
  }

  #take(stream: "stdout" | "stderr", text: string): void {
    this[stream] += text;
    for (const listener of this.#listeners) listener();
  }

  /** The messages on stdout; throws when anything else is there. */
  get messages(): Reply[] {
    return this.stdout
      .split("\n")
      .slice(0, -1)
      .map((line) => JSON.parse(line));
  }

  /** Waits until `find` finds something in what has been written; fails when the process ends before. */
  async until<T>(find: () => T | undefined | null | false): Promise<T> {
    const found = new Promise<T>((resolve) => {
      const look = () => {
        const value = find();
        if (value === undefined || value === null || value === false) return;
        this.#listeners.delete(look);
        resolve(value);
      };
      this.#listeners.add(look);
      look();
    });
    const early = this.ended.then((code) => {
      throw new Error(`the command ended with ${code}; its stderr:\n${this.stderr}`);
    });
    return await Promise.race([found, early]);
  }

  send(message: object): void {
    this.process.stdin.write(`${JSON.stringify({ jsonrpc: "2.0", ...message })}\n`);
  }

  /** Sends a request on stdin and waits for its reply on stdout. */
  async request(method: string, params: object = {}): Promise<Reply> {
    const id = this.#nextId++;
    this.send({ id, method, params });
    return await this.until(() => this.messages.find((message) => message.id === id));
  }

  async initialize(): Promise<Reply> {
    const clientInfo = { name: "test", version: "1" };
    const capabilities = { tasks: {} };
    const reply = await this.request("initialize", { protocolVersion: "2025-11-25", capabilities, clientInfo });
    this.send({ method: "notifications/initialized" });
    return reply;
  }

  /** Calls a tool as a task; answers its id. */
  async callTask(code: string): Promise<string> {
    const params = { name: "execute_code", arguments: { code }, task: { ttl: 900_000 } };
    const { result, error } = await this.request("tools/call", params);
    if (error !== undefined) throw new Error(error.message);
    return result.task.taskId;
  }

  /** Polls until the task is what it should be. */
  async untilTask(taskId: string, isSo: (task: { status: string; output: string }) => boolean): Promise<void> {
    for (;;) {
      const meta = { "io.datalayer/partial-output": true };
      const { result } = await this.request("tasks/get", { taskId, _meta: meta });
      const output = JSON.stringify(result._meta?.["io.datalayer/partial-output"] ?? []);
      if (isSo({ status: result.status, output })) return;
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
  }

  /** Where it serves, and with which token, once it says so. */
  async served(): Promise<{ url: string; token: string }> {
    const url = await this.until(() => /serving MCP on (\S+)\n/.exec(this.stderr)?.[1]);
    return { url, token: /clients need the token (\S+)\n/.exec(this.stderr)?.[1] ?? "" };
  }

  /** The exit, and how long it took. */
  async exit(): Promise<{ code: number | NodeJS.Signals | null; tookMs: number }> {
    const startedAt = performance.now();
    const code = await this.ended;
    return { code, tookMs: performance.now() - startedAt };
  }
}
