/** Subscriptions by hand, over everything that carries them, in one shape. */
import { InMemoryTransport, McpServer } from "@modelcontextprotocol/server";
import { onTestFinished } from "vitest";
import { eventually } from "../../../../test/fixtures/eventually.js";
import {
  createTasks,
  type ServeHttpOptions,
  serveHttp,
  serveStdio,
  type Tasks,
  type TasksOptions,
} from "../../src/index.js";
import { envelopeOf, RawClient, type Reply } from "../../src/testing/index.js";
import { ACCEPT, messagesOf } from "../http/http-client.js";
import { type ModernDeclares, OFFICIAL } from "../wire/modern-client.js";
import { silent } from "../wire/servers.js";

export const SUBSCRIPTION = "io.modelcontextprotocol/subscriptionId";

export interface Message {
  id?: unknown;
  method?: string;
  params?: Record<string, unknown>;
  result?: Record<string, unknown>;
  error?: { code: number; message: string; data?: unknown };
}

/** One subscription, from its client's side. */
export interface Stream {
  /** The HTTP status, where there is one. */
  status: number | undefined;
  /** Everything that came on it: what carries its id, and the response that ends it. */
  readonly messages: Message[];
  /** Whether nothing more will come. */
  hasEnded: boolean;
  cancel(): void;
}

/** One client, and what it can do. */
export interface Listener {
  request(method: string, params?: Record<string, unknown>): Promise<Reply>;
  listen(notifications: unknown, declares?: ModernDeclares): Promise<Stream>;
}

export interface Carried {
  tasks: Tasks;
  /** The MCP servers that were made, newest last. */
  servers: McpServer[];
  errors: Error[];
  connect(token?: string): Listener;
  /** Ends the serving, as a shutdown does. */
  close(): Promise<void>;
}

export interface CarrierOptions {
  tasks?: TasksOptions;
  http?: Partial<ServeHttpOptions>;
  capabilities?: ConstructorParameters<typeof McpServer>[1];
}

type Register = (tasks: Tasks, server: McpServer) => void;
type Carrier = (register: Register, options?: CarrierOptions) => Promise<Carried>;

const OPEN: ModernDeclares = { extensions: [OFFICIAL], capabilities: { elicitation: { form: {} } } };

async function madeTasks(register: Register, options: CarrierOptions) {
  const tasks = createTasks({ logger: silent, ownership: "single-user", cancelGraceMs: 10, ...options.tasks });
  await tasks.open();
  onTestFinished(() => tasks.close());
  const servers: McpServer[] = [];
  const factory = () => {
    const server = new McpServer({ name: "test", version: "0" }, options.capabilities);
    tasks.bind(server);
    register(tasks, server);
    servers.push(server);
    return server;
  };
  return { tasks, servers, factory };
}

export const overHttp: Carrier = async (register, options = {}) => {
  const { tasks, servers, factory } = await madeTasks(register, options);
  const errors: Error[] = [];
  const serving = await serveHttp(tasks, factory, {
    auth: "none",
    onerror: (error) => void errors.push(error),
    ...options.http,
  });
  onTestFinished(() => serving.close());
  const connect = (token?: string) => new HttpListener(serving.url, token);
  return { tasks, servers, errors, connect, close: () => serving.close() };
};

class HttpListener implements Listener {
  readonly #url: string;
  readonly #headers: Record<string, string>;
  #nextId = 1;

  constructor(url: string, token: string | undefined) {
    this.#url = url;
    this.#headers = { ...ACCEPT, "mcp-protocol-version": "2026-07-28" };
    if (token !== undefined) this.#headers.authorization = `Bearer ${token}`;
  }

  #post(method: string, params: Record<string, unknown>, declares: ModernDeclares, signal: AbortSignal | null) {
    const name = params.taskId ?? params.name;
    const headers = { ...this.#headers, "mcp-method": method, ...(name !== undefined && { "mcp-name": String(name) }) };
    const _meta = { ...(params._meta as object | undefined), ...envelopeOf(declares) };
    const body = JSON.stringify({ jsonrpc: "2.0", id: this.#nextId++, method, params: { ...params, _meta } });
    return fetch(this.#url, { method: "POST", headers, body, signal });
  }

  async request(method: string, params: Record<string, unknown> = {}): Promise<Reply> {
    for await (const message of messagesOf(await this.#post(method, params, OPEN, null))) {
      if (message.method === undefined) return message;
    }
    throw new Error("no reply");
  }

  async listen(notifications: unknown, declares: ModernDeclares = OPEN): Promise<Stream> {
    const controller = new AbortController();
    const response = await this.#post("subscriptions/listen", { notifications }, declares, controller.signal);
    const messages: Message[] = [];
    const stream = { status: response.status, messages, hasEnded: false, cancel: () => controller.abort() };
    onTestFinished(stream.cancel);
    const read = async (): Promise<void> => {
      for await (const message of messagesOf(response)) messages.push(message);
    };
    void read()
      .catch(() => {})
      .finally(() => {
        stream.hasEnded = true;
      });
    await eventually(() => messages.length > 0 || stream.hasEnded);
    return stream;
  }
}

const overOneConnection: Carrier = async (register, options = {}) => {
  const { tasks, servers, factory } = await madeTasks(register, options);
  const errors: Error[] = [];
  const servings: ReturnType<typeof serveStdio>[] = [];
  const close = async () => void (await Promise.all(servings.map(async (serving) => (await serving).close())));
  onTestFinished(close);
  const connect = () => {
    const [clientSide, serverSide] = InMemoryTransport.createLinkedPair();
    servings.push(serveStdio(tasks, factory, { transport: serverSide, onerror: (error) => void errors.push(error) }));
    return new WireListener(new RawClient(clientSide));
  };
  return { tasks, servers, errors, connect, close };
};

class WireListener implements Listener {
  readonly #raw: RawClient;
  #nextId = 1;

  constructor(raw: RawClient) {
    this.#raw = raw;
  }

  request(method: string, params: Record<string, unknown> = {}, declares = OPEN, id?: string): Promise<Reply> {
    const _meta = { ...(params._meta as object | undefined), ...envelopeOf(declares) };
    return this.#raw.request(method, { ...params, _meta }, id);
  }

  async listen(notifications: unknown, declares: ModernDeclares = OPEN): Promise<Stream> {
    const id = `listen-${this.#nextId++}`;
    const raw = this.#raw;
    const stream = {
      status: undefined,
      get messages(): Message[] {
        const all = raw.log as Message[];
        return all.filter((message) => message.id === id || subscriptionOf(message) === id);
      },
      hasEnded: false,
      cancel: () => {
        void raw.send({ jsonrpc: "2.0", method: "notifications/cancelled", params: { requestId: id } });
        stream.hasEnded = true;
      },
    };
    void this.request("subscriptions/listen", { notifications }, declares, id).then(() => {
      stream.hasEnded = true;
    });
    await eventually(() => stream.messages.length > 0);
    return stream;
  }
}

function subscriptionOf({ params }: Message): unknown {
  return (params?._meta as Record<string, unknown> | undefined)?.[SUBSCRIPTION];
}

export const carriers: Record<string, Carrier> = {
  HTTP: overHttp,
  "a connection that carries everything": overOneConnection,
};

/** The ids that the stream was acknowledged with. */
export function acknowledged({ messages }: Stream): unknown {
  return messages[0]?.params?.notifications;
}

/** The `notifications/tasks` that came, without what every one has. */
export function changes({ messages }: Stream): Record<string, unknown>[] {
  return messages.filter(({ method }) => method === "notifications/tasks").map(({ params }) => params ?? {});
}
