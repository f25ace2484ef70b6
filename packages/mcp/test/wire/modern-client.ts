/** A 2026-era client, in memory through the entry that serves stdio; every request of it carries an envelope. */
import { InMemoryTransport, McpServer } from "@modelcontextprotocol/server";
import { onTestFinished } from "vitest";
import { createTasks, serveStdio, type Tasks, type TasksOptions } from "../../src/index.js";
import { envelopeOf, RawClient, type Reply } from "../../src/testing/index.js";
import { defaults, silent } from "./servers.js";

export const OFFICIAL = "io.modelcontextprotocol/tasks";

/** What each request declares. */
export interface ModernDeclares {
  extensions?: string[];
  /** Client capabilities beside the extensions. */
  capabilities?: Record<string, unknown>;
}

export class ModernClient {
  readonly raw: RawClient;
  declares: ModernDeclares;

  constructor(raw: RawClient, declares: ModernDeclares) {
    this.raw = raw;
    this.declares = declares;
  }

  request(
    method: string,
    params: Record<string, unknown> = {},
    declares: ModernDeclares = this.declares,
  ): Promise<Reply> {
    const _meta = { ...(params._meta as object | undefined), ...envelopeOf({ extensions: [OFFICIAL], ...declares }) };
    return this.raw.request(method, { ...params, _meta });
  }

  call(name: string, params: Record<string, unknown> = {}): Promise<Reply> {
    return this.request("tools/call", { name, arguments: {}, ...params });
  }

  /** Calls a tool that becomes a task; answers its id. */
  async create(name: string, params: Record<string, unknown> = {}): Promise<string> {
    const { result, error } = await this.call(name, params);
    if (error !== undefined) throw new Error(`${error.code}: ${error.message}`);
    return result?.taskId as string;
  }

  async get(taskId: string): Promise<Record<string, unknown>> {
    const { result, error } = await this.request("tasks/get", { taskId });
    if (result === undefined) throw new Error(`${error?.code}: ${error?.message}`);
    return result;
  }

  /** The outstanding questions of a task, or of the result of a round. */
  async questions(taskId: string): Promise<Record<string, InputRequest>> {
    return ((await this.get(taskId)).inputRequests ?? {}) as Record<string, InputRequest>;
  }

  update(taskId: string, inputResponses: Record<string, unknown>): Promise<Reply> {
    return this.request("tasks/update", { taskId, inputResponses });
  }
}

export interface InputRequest {
  method: string;
  params: Record<string, unknown>;
}

export interface ModernScene {
  tasks: Tasks;
  connect(declares?: ModernDeclares): ModernClient;
}

/** Tasks with tools for one test; everything is closed when it ends. */
export async function modernScene(
  register: (tasks: Tasks, server: McpServer) => void,
  options: TasksOptions = {},
): Promise<ModernScene> {
  const tasks = createTasks({ logger: silent, ownership: "single-user", ...defaults, ...options });
  await tasks.open();
  onTestFinished(() => tasks.close());
  const factory = () => {
    const server = new McpServer({ name: "test", version: "0" });
    tasks.bind(server);
    register(tasks, server);
    return server;
  };
  return {
    tasks,
    connect: (declares = {}) => {
      const [clientSide, serverSide] = InMemoryTransport.createLinkedPair();
      const served = serveStdio(tasks, factory, { transport: serverSide });
      onTestFinished(async () => (await served).close());
      return new ModernClient(new RawClient(clientSide), declares);
    },
  };
}
