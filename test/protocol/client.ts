/** A client that speaks JSON-RPC by hand in one dialect, over any wire: what is on the wire is what a test sees. */
import { eventually } from "../fixtures/eventually.js";
import type { HttpPart, Message, Wire } from "./wires.js";

export const DIALECTS = ["2025-11-25", "io.datalayer/tasks", "2026-07-28"] as const;
export type DialectName = (typeof DIALECTS)[number];

export const TASKS_EXTENSION = "io.modelcontextprotocol/tasks";
export const RELATED_TASK = "io.modelcontextprotocol/related-task";
export const IDEMPOTENCY_KEY = "io.datalayer/idempotency-key";

/** A request or notification of the server's. */
export type Heard = Message & { method: string; params: Record<string, unknown> };

export interface Reply {
  result?: Record<string, unknown>;
  error?: { code: number; message: string; data?: unknown };
}

/** A task as either generation shows it. */
export interface WireTask extends Record<string, unknown> {
  taskId: string;
  status: string;
  statusMessage?: string;
  createdAt: string;
  lastUpdatedAt: string;
  inputRequests?: InputRequests;
}

export type InputRequests = Record<string, { method: string; params: Record<string, unknown> }>;

export interface RequestOptions extends HttpPart {
  /** In place of the client's own (2026). */
  capabilities?: Record<string, unknown>;
  /** In place of one of its own. */
  id?: number;
}

const CLIENT_INFO = { name: "by-hand", version: "0" };

export class Client {
  readonly dialect: DialectName;
  readonly #wire: Wire;
  readonly #capabilities: Record<string, unknown>;
  readonly heard: Heard[] = [];
  /** How many responses have come, to whatever. */
  replies = 0;
  readonly #waiting = new Map<unknown, (reply: Message) => void>();
  readonly #listeners: (() => void)[] = [];
  #opened: Promise<Record<string, unknown>> | undefined;
  /** Far from what a test would make up. */
  #nextId = 1_000_001;

  constructor(dialect: DialectName, wire: Wire, capabilities: Record<string, unknown>) {
    this.dialect = dialect;
    this.#wire = wire;
    this.#capabilities = capabilities;
    wire.onmessage = (message) => this.#take(message);
  }

  #take(message: Message): void {
    if (message.method === undefined) {
      this.replies += 1;
      this.#waiting.get(message.id)?.(message);
      this.#waiting.delete(message.id);
    } else this.heard.push({ params: {}, ...message } as Heard);
    for (const listener of this.#listeners.splice(0)) listener();
  }

  get isModern(): boolean {
    return this.dialect === "2026-07-28";
  }

  /** The id that the next request will have. */
  get nextId(): number {
    return this.#nextId;
  }

  /** Opens a 2025-era connection, unless it is open. @returns what the server said of itself when it was opened */
  initialize(protocolVersion = "2025-11-25"): Promise<Record<string, unknown>> {
    this.#opened ??= this.#initialize(protocolVersion);
    return this.#opened;
  }

  async #initialize(protocolVersion: string): Promise<Record<string, unknown>> {
    const params = { protocolVersion, capabilities: this.#capabilities, clientInfo: CLIENT_INFO };
    const reply = await this.send("initialize", params);
    this.notify("notifications/initialized");
    return resultOf(reply);
  }

  request(method: string, params: Record<string, unknown> = {}, options: RequestOptions = {}): Promise<Reply> {
    if (!this.isModern) return this.send(method, params, options);
    const envelope = envelopeOf(options.capabilities ?? this.#capabilities);
    const headers = { ...routingHeaders(method, params), ...options.headers };
    const _meta = { ...(params._meta as object | undefined), ...envelope };
    return this.send(method, { ...params, _meta }, { ...options, headers });
  }

  /** Sends a request as it is. */
  send(
    method: string,
    params: Record<string, unknown>,
    { id = this.#nextId++, ...http }: RequestOptions = {},
  ): Promise<Reply> {
    const replied = new Promise<Message>((resolve) => this.#waiting.set(id, resolve));
    this.#wire.send({ jsonrpc: "2.0", id, method, params }, http);
    return replied.then(({ result, error }) => ({ ...(result && { result }), ...(error && { error }) }));
  }

  notify(method: string, params: Record<string, unknown> = {}): void {
    const _meta = this.isModern ? { _meta: envelopeOf(this.#capabilities) } : {};
    this.#wire.send(
      { jsonrpc: "2.0", method, params: { ...params, ..._meta } },
      this.isModern ? { headers: routingHeaders(method, params) } : {},
    );
  }

  /** Answers a request of the server's. */
  respond({ id }: Heard, result: Record<string, unknown>): void {
    this.#wire.send({ jsonrpc: "2.0", id: id as string | number, result });
  }

  /** The first message of the server's, past or to come, that `fits`. */
  async hear(fits: (message: Heard) => boolean): Promise<Heard> {
    for (;;) {
      const found = this.heard.find(fits);
      if (found !== undefined) return found;
      await new Promise<void>((resolve) => {
        this.#listeners.push(resolve);
      });
    }
  }

  call(tool: string, args: object = {}, extra: Record<string, unknown> = {}, options?: RequestOptions): Promise<Reply> {
    return this.request("tools/call", { name: tool, arguments: args, ...extra }, options);
  }

  /** Calls a tool as a task, as the dialect has it; answers the reply as it came. */
  callTask(tool: string, args: object = {}, extra: Record<string, unknown> = {}): Promise<Reply> {
    return this.call(tool, args, { ...(!this.isModern && { task: {} }), ...extra });
  }

  /** Calls a tool as a task; answers the claim check. */
  async create(tool: string, args: object = {}, extra: Record<string, unknown> = {}): Promise<WireTask> {
    const result = resultOf(await this.callTask(tool, args, extra));
    return (this.isModern ? result : result.task) as WireTask;
  }

  async get(taskId: string): Promise<WireTask> {
    return resultOf(await this.request("tasks/get", { taskId })) as WireTask;
  }

  /** Polls until the task `fits`. */
  async until(taskId: string, fits: (task: WireTask) => boolean): Promise<WireTask> {
    return await eventually(async () => {
      const task = await this.get(taskId);
      return fits(task) && task;
    });
  }

  /** Polls until the task has ended. */
  ended(taskId: string): Promise<WireTask> {
    return this.until(taskId, ({ status }) => ["completed", "failed", "cancelled"].includes(status));
  }

  /** The outstanding questions of a task (2026), once there are `count`. */
  async questions(taskId: string, count: number): Promise<InputRequests> {
    const asked = ({ inputRequests = {} }: WireTask): boolean => Object.keys(inputRequests).length === count;
    return (await this.until(taskId, asked)).inputRequests ?? {};
  }

  close(): Promise<void> {
    return this.#wire.close();
  }
}

/** @throws Error when the reply is an error */
export function resultOf({ result, error }: Reply): Record<string, unknown> {
  if (result === undefined) throw new Error(`${error?.code}: ${error?.message}`);
  return result;
}

export function envelopeOf(capabilities: Record<string, unknown>): Record<string, unknown> {
  return {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientInfo": CLIENT_INFO,
    "io.modelcontextprotocol/clientCapabilities": capabilities,
  };
}

/** What a request of 2026-07-28 says beside its body over HTTP. */
function routingHeaders(method: string, params: Record<string, unknown> | null): Record<string, string> {
  const { name, taskId } = params ?? {};
  const routed = typeof taskId === "string" ? taskId : name;
  return {
    "mcp-protocol-version": "2026-07-28",
    "mcp-method": method,
    ...(typeof routed === "string" && { "mcp-name": routed }),
  };
}
