/** Kernels for live tests: each test has its own, and gives it back. */
import { randomUUID } from "node:crypto";
import { existsSync } from "node:fs";
import { rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { onTestFinished } from "vitest";
import { eventually } from "../../../../test/fixtures/eventually.js";
import type { JupyterService } from "../../../../test/services/jupyter.js";
import {
  type ConnectionOptions,
  connectKernel,
  type ExecuteRequest,
  type Execution,
  type ExecutionEnd,
  JupyterRest,
  type KernelConnection,
  type KernelMessage,
  serverAddress,
} from "../../src/kernel/index.js";

/** A running kernel and one connection to it. */
export interface LiveKernel {
  rest: JupyterRest;
  kernelId: string;
  connection: KernelConnection;
}

export function restOf(service: JupyterService): JupyterRest {
  return new JupyterRest(serverAddress(service.url, service.token));
}

/** Ends a session and its kernel, as a page does that a person closes. */
export async function deleteSession({ url, token }: JupyterService, sessionId: string): Promise<void> {
  const headers = { Authorization: `token ${token}` };
  const { status } = await fetch(new URL(`api/sessions/${sessionId}`, url), { method: "DELETE", headers });
  if (status !== 204) throw new Error(`session ${sessionId} was not deleted: HTTP ${status}`);
}

/** Starts a kernel that is deleted, with its connections, when the test is over. */
export async function startKernel(
  service: JupyterService,
  options: Partial<ConnectionOptions> = {},
): Promise<LiveKernel> {
  const rest = restOf(service);
  const { id: kernelId } = await rest.startKernel();
  onTestFinished(() => rest.deleteKernel(kernelId).catch(() => {}));
  return { rest, kernelId, connection: await connect(rest, kernelId, options) };
}

/** A further connection, closed when the test is over. */
export async function connect(
  rest: JupyterRest,
  kernelId: string,
  options: Partial<ConnectionOptions> = {},
): Promise<KernelConnection> {
  const connection = await connectKernel({ rest, kernelId, ...options });
  onTestFinished(() => connection.close());
  return connection;
}

/** What one run published and how it ended. */
export interface Ran {
  execution: Execution;
  end: ExecutionEnd;
  messages: KernelMessage[];
  /** The text of its stdout stream. */
  stdout: string;
}

/** Runs code to its end. */
export async function run(connection: KernelConnection, request: string | ExecuteRequest): Promise<Ran> {
  const messages: KernelMessage[] = [];
  const full = typeof request === "string" ? { code: request } : request;
  const execution = connection.execute(full, { onMessage: (message) => void messages.push(message) });
  const end = await execution.ended;
  return { execution, end, messages, stdout: streamText(messages, "stdout") };
}

/** The text of one stream among messages. */
export function streamText(messages: readonly KernelMessage[], name: string): string {
  return messages
    .filter((message) => message.header.msg_type === "stream" && message.content.name === name)
    .map((message) => String(message.content.text))
    .join("");
}

/** The content of the messages of one type. */
export function contents(messages: readonly KernelMessage[], type: string): Record<string, unknown>[] {
  return messages.filter(({ header }) => header.msg_type === type).map(({ content }) => content);
}

/** Starts code that prints something when it is where the test wants it, and resolves then. */
export async function beginPrinting(connection: KernelConnection, code: string): Promise<Execution> {
  return await new Promise((resolve) => {
    const execution = connection.execute(
      { code },
      { onMessage: ({ header }) => header.msg_type === "stream" && resolve(execution) },
    );
  });
}

/** How long what was sent to the kernel meanwhile takes to be there. */
const ON_ITS_WAY_MS = 1_000;

/** Runs a cell that drops what the kernel has queued behind it; resolves when it runs. It fails some time after it is told to. */
export async function failWhenTold(
  { rootDir }: JupyterService,
  connection: KernelConnection,
): Promise<{ tell(): Promise<void>; ended: Promise<KernelMessage> }> {
  const [begun, told] = [0, 1].map(() => join(rootDir, randomUUID())) as [string, string];
  onTestFinished(() => Promise.all([begun, told].map((file) => rm(file, { force: true }))).then(() => {}));
  const code = `import os, time
open(${JSON.stringify(begun)}, "w").close()
while not os.path.exists(${JSON.stringify(told)}): time.sleep(0.02)
1 / 0`;
  const content = { code, silent: false, store_history: true, stop_on_error: true };
  const ended = connection.request({ channel: "shell", type: "execute_request", content });
  await eventually(() => existsSync(begun));
  return { tell: () => pause(ON_ITS_WAY_MS).then(() => writeFile(told, "")), ended };
}

/** Starts code and resolves once the kernel is seen to run it. */
export async function begin(
  connection: KernelConnection,
  code: string,
  messages: KernelMessage[] = [],
): Promise<Execution> {
  const execution = connection.execute({ code }, { onMessage: (message) => void messages.push(message) });
  await execution.begun;
  return execution;
}
