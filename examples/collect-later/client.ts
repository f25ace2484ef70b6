/** A client as any agent has one: the official SDK, version 1, with what it offers for tasks. */
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import {
  CallToolResultSchema,
  CreateTaskResultSchema,
  GetTaskResultSchema,
  type Task,
} from "@modelcontextprotocol/sdk/types.js";

/** Asks `tasks/get` for what the work has produced so far; the answer carries it under the same name. */
const PARTIAL_OUTPUT = "io.datalayer/partial-output";

/** One client, connected. Closing it leaves its tasks as they are. */
export class TaskClient {
  readonly #client: Client;

  private constructor(client: Client) {
    this.#client = client;
  }

  static async connect(name: string, server: { url: string; token: string }): Promise<TaskClient> {
    const capabilities = { tasks: { list: {}, cancel: {} } };
    const client = new Client({ name, version: "1.0.0" }, { capabilities });
    const headers = { Authorization: `Bearer ${server.token}` };
    // The SDK's own types disagree under exactOptionalPropertyTypes.
    const transport = new StreamableHTTPClientTransport(new URL(server.url), { requestInit: { headers } });
    await client.connect(transport as Parameters<Client["connect"]>[0]);
    return new TaskClient(client);
  }

  /** Calls a tool as a task; what comes back is the claim check. */
  async callAsTask(name: string, args: Record<string, unknown>): Promise<Task> {
    const params = { name, arguments: args, task: { ttl: 15 * 60_000 } };
    const { task } = await this.#client.request({ method: "tools/call", params }, CreateTaskResultSchema);
    return task;
  }

  /** Calls a tool and waits for its text. */
  async call(name: string, args: Record<string, unknown>): Promise<string> {
    const params = { name, arguments: args };
    return textOf(await this.#client.request({ method: "tools/call", params }, CallToolResultSchema));
  }

  /** The task, and the text that it has produced so far. */
  async look(taskId: string): Promise<{ task: Task; text: string }> {
    const params = { taskId, _meta: { [PARTIAL_OUTPUT]: true } };
    const task = await this.#client.request({ method: "tasks/get", params }, GetTaskResultSchema);
    return { task, text: textOf({ content: task._meta?.[PARTIAL_OUTPUT] }) };
  }

  /** The text of a finished task's result. */
  async result(taskId: string): Promise<string> {
    return textOf(await this.#client.experimental.tasks.getTaskResult(taskId, CallToolResultSchema));
  }

  async cancel(taskId: string): Promise<Task> {
    return await this.#client.experimental.tasks.cancelTask(taskId);
  }

  async disconnect(): Promise<void> {
    await this.#client.close();
  }
}

/** The text of a result's content, or of outputs as a notebook has them; each begins on a line of its own. */
function textOf({ content }: { content?: unknown }): string {
  return Array.isArray(content) ? content.map((block) => blockText(block).trimEnd()).join("\n") : "";
}

function blockText(block: unknown): string {
  if (typeof block === "string") return block;
  const { text } = block as { text?: string | string[] };
  return Array.isArray(text) ? text.join("") : (text ?? "");
}
