/** Streamable HTTP by hand. */
import { type IncomingMessage, request } from "node:http";
import { McpServer } from "@modelcontextprotocol/server";
import { onTestFinished } from "vitest";
import {
  createTasks,
  type HttpServing,
  type ServeHttpOptions,
  serveHttp,
  type Tasks,
  type TasksOptions,
} from "../../src/index.js";
import type { Heard, Reply } from "../wire/raw-client.js";
import { silent } from "../wire/servers.js";

export const ACCEPT = { accept: "application/json, text/event-stream", "content-type": "application/json" };

export interface HttpScene {
  tasks: Tasks;
  serving: HttpServing;
  errors: Error[];
}

/** Serves tools over HTTP until the test ends. */
export async function serving(
  register: (tasks: Tasks, server: McpServer) => void,
  options: ServeHttpOptions = { auth: "none" },
  tasksOptions: TasksOptions = {},
): Promise<HttpScene> {
  const tasks = createTasks({ logger: silent, ...tasksOptions });
  const errors: Error[] = [];
  const factory = () => {
    const server = new McpServer({ name: "test", version: "0" });
    tasks.bind(server);
    register(tasks, server);
    return server;
  };
  const served = await serveHttp(tasks, factory, { onerror: (error) => void errors.push(error), ...options });
  onTestFinished(async () => {
    await served.close();
    await tasks.close();
  });
  return { tasks, serving: served, errors };
}

/** One event of a stream; its message is `undefined` where there is none. */
export interface StreamEvent {
  id: string | undefined;
  message: (Reply & Partial<Heard>) | undefined;
}

/** The events of a stream, as they arrive; comments are left out. */
export async function* eventsOf({ body }: Response): AsyncGenerator<StreamEvent> {
  let buffered = "";
  for await (const chunk of (body ?? new ReadableStream()).pipeThrough(new TextDecoderStream())) {
    buffered += chunk;
    for (let end = buffered.indexOf("\n\n"); end >= 0; end = buffered.indexOf("\n\n")) {
      const event = buffered.slice(0, end);
      buffered = buffered.slice(end + 2);
      const data = /^data: (.*)$/m.exec(event)?.[1];
      if (data === undefined) continue;
      yield { id: /^id: (.*)$/m.exec(event)?.[1], message: data === "" ? undefined : JSON.parse(data) };
    }
  }
}

/** The JSON-RPC messages of a response, JSON or an event stream, as they arrive. */
export async function* messagesOf(response: Response): AsyncGenerator<Reply & Partial<Heard>> {
  if (!response.headers.get("content-type")?.startsWith("text/event-stream")) {
    const text = await response.text();
    if (text !== "") yield JSON.parse(text);
    return;
  }
  for await (const { message } of eventsOf(response)) if (message !== undefined) yield message;
}

/** One client: a session once it has initialized, requests that stand alone before. */
export class HttpClient {
  readonly url: string;
  readonly headers: Record<string, string>;
  #nextId = 1;

  constructor(url: string, headers: Record<string, string> = {}) {
    this.url = url;
    this.headers = { ...ACCEPT, ...headers };
  }

  get sessionId(): string | undefined {
    return this.headers["mcp-session-id"];
  }

  async initialize(extensions: readonly string[] = [], declared: object = {}): Promise<Reply> {
    const capabilities = { ...declared, extensions: Object.fromEntries(extensions.map((id) => [id, {}])) };
    const clientInfo = { name: "http", version: "0" };
    const response = await this.post("initialize", { protocolVersion: "2025-11-25", capabilities, clientInfo });
    const sessionId = response.headers.get("mcp-session-id");
    if (sessionId !== null) this.headers["mcp-session-id"] = sessionId;
    this.headers["mcp-protocol-version"] = "2025-11-25";
    return replyOf(response);
  }

  post(method: string, params: unknown, init: RequestInit & { id?: string | number } = {}): Promise<Response> {
    const { id = this.#nextId++, ...rest } = init;
    const body = JSON.stringify({ jsonrpc: "2.0", id, method, ...(params !== undefined && { params }) });
    return fetch(this.url, { method: "POST", headers: this.headers, body, ...rest });
  }

  async request(method: string, params?: unknown): Promise<Reply> {
    return replyOf(await this.post(method, params));
  }

  async callTask(name: string, extra: Record<string, unknown> = {}): Promise<{ taskId: string }> {
    const { result, error } = await this.request("tools/call", { name, arguments: {}, task: {}, ...extra });
    if (error !== undefined) throw new Error(`${error.code}: ${error.message}`);
    return (result as { task: { taskId: string } }).task;
  }

  /** Opens the session's own stream and collects what comes. */
  async listen(): Promise<{ heard: (Reply & Partial<Heard>)[]; ended: Promise<void>; close: () => void }> {
    const controller = new AbortController();
    const response = await fetch(this.url, { headers: this.headers, signal: controller.signal });
    if (response.status !== 200) throw new Error(`the stream was answered with ${response.status}`);
    const heard: (Reply & Partial<Heard>)[] = [];
    const ended = (async () => {
      for await (const message of messagesOf(response)) heard.push(message);
    })().catch(() => {});
    return { heard, ended, close: () => controller.abort() };
  }

  delete(): Promise<Response> {
    return fetch(this.url, { method: "DELETE", headers: this.headers });
  }
}

/** The one reply among a response's messages. */
export async function replyOf(response: Response): Promise<Reply> {
  for await (const message of messagesOf(response)) if (message.method === undefined) return message;
  throw new Error(`no reply; status ${response.status}`);
}

export interface Raw {
  status: number;
  headers: IncomingMessage["headers"];
  body: string;
}

/** A request whose every header can be wrong. */
export function raw(url: string, method: string, headers: Record<string, string>, body = ""): Promise<Raw> {
  const { hostname, port, pathname } = new URL(url);
  return new Promise((resolve, reject) => {
    const sent = request({ hostname, port, path: pathname, method, headers }, (response) => {
      let text = "";
      response.setEncoding("utf8");
      response.on("data", (chunk: string) => {
        text += chunk;
      });
      response.on("end", () => resolve({ status: response.statusCode ?? 0, headers: response.headers, body: text }));
    });
    sent.on("error", reject);
    sent.end(body);
  });
}
