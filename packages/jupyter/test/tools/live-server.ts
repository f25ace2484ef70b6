/** A Jupyter MCP server on the real Jupyter Server, and clients of it, for live tests: each test has its own and gives it back. */
import { randomUUID } from "node:crypto";
import { mkdir, readFile, rm, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { RawClient, type Reply, type WireTask } from "@claimcheck/mcp/testing";
import { InMemoryTransport } from "@modelcontextprotocol/server";
import { afterAll, onTestFinished } from "vitest";
import { readNotebook, writeNotebook } from "../../../../test/fixtures/notebook-on-disk.js";
import type { JupyterService } from "../../../../test/services/jupyter.js";
import { createJupyterServer, type JupyterServer, type JupyterServerOptions } from "../../src/index.js";
import { JupyterRest, serverAddress } from "../../src/kernel/index.js";
import type { Cell, CodeCell, Notebook } from "../../src/notebook/index.js";
import type { ExecutionReport } from "../../src/tools/execution-report.js";
import { deleteSession } from "../kernel/live-kernel.js";

/** A folder of its own below the Jupyter Server's root, and the MCP server that works in it. */
export interface Live {
  jupyter: JupyterServer;
  rest: JupyterRest;
  /** As an API path. */
  folder: string;
  /** The same on this machine. */
  dir: string;
  /** Another connection, which has told that it knows `io.datalayer/tasks` unless `declares` says otherwise. */
  connect(declares?: Parameters<RawClient["initialize"]>[0]): Promise<LiveClient>;
  /** Writes a notebook and answers its API path. Strings are code cells. */
  notebook(cells: readonly (string | Cell)[], options?: NotebookOptions): Promise<string>;
  /** The notebook's bytes on disk. */
  bytes(path: string): Promise<string>;
  /** As it is on disk, but with no text cut into lines. */
  read(path: string): Promise<Notebook>;
  /**
   * Changes it on disk, as another program does. What the Jupyter MCP server writes between the reading and the writing is
   * lost, or the change is: have nothing left to be written, by waiting for what a running cell has printed.
   */
  edit(path: string, change: (notebook: Notebook) => void): Promise<void>;
}

export interface NotebookOptions {
  name?: string;
  kernelName?: string;
  minor?: number;
}

/** Starts it all; everything it leaves on the Jupyter Server is removed when the test is over. */
export async function startLive(
  service: JupyterService,
  options: Partial<JupyterServerOptions> = {},
  { url = service.url, token = service.token }: { url?: string; token?: string } = {},
  scope: "test" | "file" = "test",
): Promise<Live> {
  const onFinished = scope === "test" ? onTestFinished : afterAll;
  const folder = `tools-${randomUUID()}`;
  const dir = join(service.rootDir, folder);
  const rest = new JupyterRest(serverAddress(service.url, service.token));
  await mkdir(dir);
  onFinished(() => removeFolder(service, rest, folder, dir));
  const jupyter = await createJupyterServer({ url, token, ...options });
  onFinished(() => jupyter.close());
  await jupyter.tasks.open();
  const fileOf = (path: string): string => join(service.rootDir, path);
  const read = (path: string): Promise<Notebook> => readNotebook(fileOf(path));
  return {
    jupyter,
    rest,
    folder,
    dir,
    connect: (declares) => connectTo(jupyter, declares, onFinished),
    notebook: async (cells, { name = `${randomUUID()}.ipynb`, kernelName, minor = 5 } = {}) => {
      const path = `${folder}/${name}`;
      await mkdir(dirname(fileOf(path)), { recursive: true });
      await writeFile(fileOf(path), JSON.stringify(notebookOf(cells, kernelName, minor), null, 1));
      return path;
    },
    bytes: (path) => readFile(fileOf(path), "utf8"),
    read,
    edit: async (path, change) => {
      const notebook = await read(path);
      change(notebook);
      await writeNotebook(fileOf(path), notebook);
    },
  };
}

/** Code that waits until the test lets it go on. */
export interface Gate {
  /** Lines of Python. */
  wait: string;
  open(): Promise<void>;
}

export function gateIn({ dir }: Pick<Live, "dir">): Gate {
  const file = join(dir, randomUUID());
  return {
    wait: `import os, time\nwhile not os.path.exists(${JSON.stringify(file)}): time.sleep(0.02)`,
    open: () => writeFile(file, ""),
  };
}

async function removeFolder(service: JupyterService, rest: JupyterRest, folder: string, dir: string): Promise<void> {
  const sessions = await rest.listSessions().catch(() => []);
  const ours = sessions.filter(({ path }) => path.startsWith(`${folder}/`));
  await Promise.all(ours.map(({ id }) => deleteSession(service, id).catch(() => {})));
  await rm(dir, { recursive: true, force: true, maxRetries: 5, retryDelay: 100 });
}

function notebookOf(cells: readonly (string | Cell)[], kernelName = "python3", minor: number): Notebook {
  return {
    nbformat: 4,
    nbformat_minor: minor,
    metadata: { kernelspec: { name: kernelName, display_name: kernelName, language: "python" } },
    cells: cells.map((cell, index) => {
      const full = typeof cell === "string" ? codeCell(cell) : cell;
      return minor < 5 ? full : { id: `cell-${index}`, ...full };
    }),
  };
}

export function codeCell(source: string): CodeCell {
  return { cell_type: "code", source, metadata: {}, outputs: [], execution_count: null };
}

/** A client of a server of the test's own, in memory. */
export async function connectTo(
  jupyter: JupyterServer,
  declares: Parameters<RawClient["initialize"]>[0] = { extensions: ["io.datalayer/tasks"] },
  onFinished: (release: () => Promise<void>) => void = onTestFinished,
): Promise<LiveClient> {
  const server = await jupyter.factory({ era: "legacy" } as Parameters<JupyterServer["factory"]>[0]);
  const [clientSide, serverSide] = InMemoryTransport.createLinkedPair();
  await server.connect(serverSide);
  const client = new LiveClient(clientSide);
  await clientSide.start();
  await client.initialize(declares);
  onFinished(() => client.close());
  return client;
}

/** What a tool answered, or what `tasks/result` served. */
export interface ToolResult {
  content: ({ type: "text"; text: string } | { type: "image"; data: string; mimeType: string })[];
  structuredContent?: ExecutionReport;
  isError?: boolean;
  _meta?: Record<string, unknown>;
}

/** A client that speaks JSON-RPC by hand, with what these tests ask most. */
export class LiveClient extends RawClient {
  /** Calls directly. */
  async run(name: string, args: Record<string, unknown>, extra: Record<string, unknown> = {}): Promise<ToolResult> {
    return resultOf(await this.call(name, { arguments: args, ...extra }));
  }

  /** Calls as a task. */
  start(name: string, args: Record<string, unknown>, extra: Record<string, unknown> = {}): Promise<WireTask> {
    return this.callTask(name, { arguments: args, ...extra });
  }

  async get(taskId: string): Promise<WireTask & { _meta?: Record<string, unknown> }> {
    return resultOf(await this.request("tasks/get", { taskId }));
  }

  result(taskId: string): Promise<Reply> {
    return this.request("tasks/result", { taskId });
  }

  async cancel(taskId: string): Promise<WireTask> {
    return resultOf(await this.request("tasks/cancel", { taskId }));
  }

  /** Polls as a client does, until the task is terminal or, if given, `until` holds. */
  async poll(taskId: string, until: (task: WireTask) => boolean = isTerminal): Promise<WireTask> {
    const task = await this.get(taskId);
    if (until(task)) return task;
    if (isTerminal(task)) throw new Error(`the task ended ${task.status} (${task.statusMessage})`);
    await new Promise((resolve) => setTimeout(resolve, 50));
    return this.poll(taskId, until);
  }

  /** The task's result once it is there. */
  async collect(taskId: string): Promise<ToolResult> {
    await this.poll(taskId);
    return resultOf(await this.result(taskId));
  }
}

function isTerminal({ status }: WireTask): boolean {
  return status === "completed" || status === "failed" || status === "cancelled";
}

function resultOf<T>(reply: Reply): T {
  if (reply.error !== undefined) throw new Error(`${reply.error.code}: ${reply.error.message}`);
  return reply.result as T;
}

/** All text of a tool's result, whichever client it came from. */
export function textOf(result: unknown): string {
  const { content } = result as Pick<ToolResult, "content">;
  return content.map((block) => (block.type === "text" ? block.text : "")).join("\n");
}

/** The three ways in which the tools run code. */
export const WAYS = ["execute_code", "execute_cell, stream true", "execute_cell, stream false"] as const;
export type Way = (typeof WAYS)[number];

/** The call that runs `code` in this way; of a cell, in a notebook of its own. */
export async function callOf(
  live: Live,
  way: Way,
  code: string,
): Promise<{ name: string; args: Record<string, unknown>; path?: string }> {
  if (way === "execute_code") return { name: "execute_code", args: { code } };
  const path = await live.notebook(["'before'", code]);
  const args = { notebook_path: path, cell_index: 1, stream: way === "execute_cell, stream true" };
  return { name: "execute_cell", args, path };
}

/** Runs `code` on the kernel that the task's way uses, and answers its text: proof that the kernel is free. */
export async function textFromKernel(
  client: LiveClient,
  live: Live,
  path: string | undefined,
  code: string,
): Promise<string> {
  const kernel = path === undefined ? {} : { kernel_id: await kernelOf(live, path) };
  return textOf(await client.run("execute_code", { code, ...kernel, timeout: 20 }));
}

/** Has the kernel of a notebook, or the one for snippets, ready: what runs next has its limits for itself. */
export async function warmUp(client: LiveClient, live: Live, path: string | undefined): Promise<void> {
  if (path !== undefined) await live.rest.openSession(path, { kernelName: "python3" });
  await textFromKernel(client, live, path, "1");
}

/** The kernel of a notebook's session. */
export async function kernelOf({ rest }: Pick<Live, "rest">, path: string): Promise<string> {
  const session = (await rest.listSessions()).find((each) => each.path === path);
  if (session?.kernel == null) throw new Error(`${path} has no kernel`);
  return session.kernel.id;
}
