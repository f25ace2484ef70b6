/**
 * A client of each dialect, in memory: through the entry that serves stdio, in JSON as it would travel, without a port or a
 * process. What differs between the dialects is said once, here, so that one test runs in all of them.
 */
import type { JsonObject, TaskStatus } from "@claimcheck/core";
import { type CallToolResult, InMemoryTransport, McpServer, type McpServerFactory } from "@modelcontextprotocol/server";
import {
  DATALAYER_EXTENSION,
  type DialectName,
  IDEMPOTENCY_META,
  isTerminalStatus,
  PARTIAL_OUTPUT_META,
  RELATED_TASK_META,
  TASKS_EXTENSION,
} from "../dialects/dialect.js";
import { serveStdio } from "../stdio/serve.js";
import type { Tasks } from "../tasks.js";
import { asObject } from "../wire/request.js";
import { envelopeOf, type Heard, RawClient, type Reply, resultOf } from "./raw-client.js";
import { type AskedRequest, type TaskView, viewOf } from "./task-view.js";

/** Every dialect, for tests that run in each. */
export const DIALECTS: readonly DialectName[] = ["2025-11-25", DATALAYER_EXTENSION, TASKS_EXTENSION];

/** Everything that a tool may ask a client. */
export const ASKABLE: JsonObject = { elicitation: { form: {}, url: {} }, sampling: { tools: {} }, roots: {} };

export interface ConnectOptions {
  /** Default `"2025-11-25"`. */
  dialect?: DialectName;
  /** What the client can be asked. Default: {@link ASKABLE}. */
  capabilities?: JsonObject;
  /**
   * Answers everything that a tool asks, in a task as in a direct call. Without it a task's questions wait for
   * {@link TaskClient.question}, and a direct call that asks is refused.
   */
  answer?: (asked: AskedRequest) => JsonObject | Promise<JsonObject>;
}

export interface CallOptions {
  /** Of the request, beside what the dialect puts there; `progressToken` belongs here. */
  _meta?: JsonObject;
}

export interface CreateOptions extends CallOptions {
  idempotencyKey?: string;
  /** How long to keep the finished task; clients of 2026-07-28 have no say in it. */
  ttlMs?: number | null;
}

/** A question of a task's that this client has been asked. */
export interface AskedQuestion extends AskedRequest {
  /** @throws WireError where the dialect refuses an answer; those of 2025 tell the tool instead */
  answer(answer: JsonObject): Promise<void>;
}

/** The call was answered with its result: on 2026-07-28 it is the server that decides, and refuses arguments in a result. */
export class AnsweredWithoutTask extends Error {
  override readonly name = "AnsweredWithoutTask";
  readonly result: CallToolResult;

  constructor(toolName: string, result: CallToolResult) {
    super(`${toolName} answered without a task: ${JSON.stringify(result)}`);
    this.result = result;
  }
}

/** How long waiting takes before it gives up, and pauses before it looks again, ms. A guard, which no busy machine is to set off. */
const PATIENCE_MS = 30_000;
const PAUSE_MS = 5;

/**
 * Opens `tasks` and connects a client to `server`, or to the server that a factory makes for the connection, as the
 * `serve…` functions take it. Close the client and the tasks when the test is over.
 */
export async function connectInMemory(
  tasks: Tasks,
  server: McpServer | McpServerFactory,
  { dialect = "2025-11-25", capabilities = ASKABLE, answer }: ConnectOptions = {},
): Promise<TaskClient> {
  const [clientSide, serverSide] = InMemoryTransport.createLinkedPair();
  await serveStdio(tasks, server instanceof McpServer ? () => server : server, { transport: serverSide });
  const raw = new RawClient(clientSide);
  await clientSide.start();
  const extensions = dialect === "2025-11-25" ? [] : [dialect];
  if (dialect !== TASKS_EXTENSION) resultOf(await raw.initialize({ extensions, capabilities }));
  return new TaskClient(raw, dialect, capabilities, answer);
}

export class TaskClient {
  readonly dialect: DialectName;
  /** The wire itself: everything that came, and requests of any kind. */
  readonly raw: RawClient;
  readonly #capabilities: JsonObject;
  readonly #answer: ConnectOptions["answer"];
  /** Questions that `question` has handed out, by the id of their request, or task and key. */
  readonly #seen = new Set<string>();
  /** Who waits for a subscription to be acknowledged, in order. */
  readonly #subscribing: (() => void)[] = [];

  constructor(raw: RawClient, dialect: DialectName, capabilities: JsonObject, answer: ConnectOptions["answer"]) {
    this.raw = raw;
    this.dialect = dialect;
    this.#capabilities = capabilities;
    this.#answer = answer;
    raw.onheard = (message) => void this.#heard(message);
  }

  /** Every notification of the server's, in order. */
  get notifications(): readonly Heard[] {
    return this.raw.heard.filter(({ id }) => id === undefined);
  }

  /** Sends a request with all that its dialect wants of one, and answers the reply, whichever it is. */
  request(method: string, params: JsonObject = {}, { asTask = true }: { asTask?: boolean } = {}): Promise<Reply> {
    if (this.dialect !== TASKS_EXTENSION) return this.raw.request(method, params);
    const declared = envelopeOf({ extensions: asTask ? [TASKS_EXTENSION] : [], capabilities: this.#capabilities });
    return this.raw.request(method, { ...params, _meta: { ...asObject(params._meta), ...declared } });
  }

  /** Calls a tool directly. @throws WireError */
  async call(name: string, args: JsonObject = {}, { _meta = {} }: CallOptions = {}): Promise<CallToolResult> {
    return (await this.#rounds({ name, arguments: args, _meta }, false)) as CallToolResult;
  }

  /** Calls a tool as a task. @throws WireError, AnsweredWithoutTask */
  async create(
    name: string,
    args: JsonObject = {},
    { _meta = {}, idempotencyKey, ttlMs }: CreateOptions = {},
  ): Promise<TaskView> {
    const key = idempotencyKey === undefined ? {} : { [IDEMPOTENCY_META]: idempotencyKey };
    const params: JsonObject = { name, arguments: args, _meta: { ..._meta, ...key } };
    if (this.dialect !== TASKS_EXTENSION) params.task = ttlMs === undefined ? {} : { ttl: ttlMs };
    else if (ttlMs !== undefined) throw new TypeError(`${TASKS_EXTENSION} gives clients no say in ttlMs.`);
    const result = await this.#rounds(params, true);
    const task = this.dialect === TASKS_EXTENSION ? result : asObject(result.task);
    if (task?.taskId === undefined) throw new AnsweredWithoutTask(name, result as CallToolResult);
    return viewOf(task);
  }

  /** @throws WireError */
  async get(taskId: string, { partialOutput = false }: { partialOutput?: boolean } = {}): Promise<TaskView> {
    const _meta = partialOutput ? { [PARTIAL_OUTPUT_META]: true } : {};
    return viewOf(await this.#asked("tasks/get", { taskId, _meta }));
  }

  /** A page of the caller's tasks, newest first; 2026-07-28 has no list. @throws WireError */
  async list(cursor?: string): Promise<{ tasks: TaskView[]; nextCursor?: string }> {
    const { tasks, nextCursor } = await this.#asked("tasks/list", cursor === undefined ? {} : { cursor });
    const page = { tasks: (tasks as JsonObject[]).map(viewOf) };
    return nextCursor === undefined ? page : { ...page, nextCursor: nextCursor as string };
  }

  /** Answers the task as it then is. @throws WireError */
  async cancel(taskId: string): Promise<TaskView> {
    const answer = await this.#asked("tasks/cancel", { taskId });
    return answer.taskId === undefined ? this.get(taskId) : viewOf(answer);
  }

  /** The task's result, waited for as long as it takes. @throws WireError where the dialect raises the outcome */
  async result(taskId: string): Promise<CallToolResult> {
    // Where it is refused until the end, and where the result comes with the state.
    const ended =
      this.dialect === "2025-11-25" ? undefined : await this.waitUntil(taskId, isOver, Number.POSITIVE_INFINITY);
    if (this.dialect !== TASKS_EXTENSION) return (await this.#asked("tasks/result", { taskId })) as CallToolResult;
    if (ended?.result !== undefined) return ended.result;
    return resultOf({
      error: ended?.error ?? { code: 0, message: "The task was cancelled and has no result." },
    }) as never;
  }

  /** Answers questions by their keys (`tasks/update`, 2026-07-28 only). @throws WireError */
  async update(taskId: string, inputResponses: Record<string, JsonObject>): Promise<void> {
    await this.#asked("tasks/update", { taskId, inputResponses });
  }

  /** Polls until the task has the status, or is as `until` says. Rejects when it ends otherwise, or takes longer. */
  async waitUntil(
    taskId: string,
    until: TaskStatus | ((task: TaskView) => boolean),
    withinMs: number = PATIENCE_MS,
  ): Promise<TaskView> {
    const holds = typeof until === "function" ? until : ({ status }: TaskView) => status === until;
    return this.#poll(taskId, withinMs, `not as waited for (${until})`, (task) => (holds(task) ? task : undefined));
  }

  /** The task's next question, waited for. Each is handed out once; the others stay open meanwhile. */
  question(taskId: string, withinMs: number = PATIENCE_MS): Promise<AskedQuestion> {
    return this.#poll(taskId, withinMs, "without a further question", (task) =>
      this.dialect === TASKS_EXTENSION ? this.#inputRequest(task) : this.#serverRequest(task),
    );
  }

  /**
   * Subscribes to the tasks (`subscriptions/listen`, 2026-07-28 only): from then on {@link notifications} has how each is,
   * and every change. Clients of 2025 are told of the tasks that they created without it. @throws WireError
   */
  async listen(taskIds: readonly string[]): Promise<void> {
    const acknowledged = new Promise<void>((resolve) => this.#subscribing.push(resolve));
    const ended = this.request("subscriptions/listen", { notifications: { taskIds: [...taskIds] } }).then(resultOf);
    await Promise.race([acknowledged, ended]);
  }

  close(): Promise<void> {
    return this.raw.close();
  }

  async #asked(method: string, params: JsonObject): Promise<JsonObject> {
    return resultOf(await this.request(method, params)) as JsonObject;
  }

  /** Looks at the task until `find` finds something in it; over and over, which also is what makes a server of 2025 ask. */
  async #poll<T>(
    taskId: string,
    withinMs: number,
    otherwise: string,
    find: (task: TaskView) => T | undefined,
  ): Promise<T> {
    const until = Date.now() + withinMs;
    for (;;) {
      const task = await this.get(taskId);
      const found = find(task);
      if (found !== undefined) return found;
      if (isOver(task)) throw new Error(`The task ended ${describe(task)}, ${otherwise}.`);
      if (Date.now() > until) throw new Error(`After ${withinMs} ms the task is ${describe(task)}, ${otherwise}.`);
      await this.#answerInputRequests(task);
      await new Promise((resolve) => setTimeout(resolve, PAUSE_MS));
    }
  }

  // --- being asked -----------------------------------------------------------------------------------------------

  /** On 2026-07-28 a call may be answered with questions, and is called again with the answers. */
  async #rounds(params: JsonObject, asTask: boolean): Promise<JsonObject> {
    let result = resultOf(await this.request("tools/call", params, { asTask })) as JsonObject;
    while (result.resultType === "input_required") {
      const { inputRequests = {}, requestState } = result;
      const inputResponses = await this.#answersTo(inputRequests as Record<string, never>);
      const next = { ...params, inputResponses, ...(requestState !== undefined && { requestState }) };
      result = resultOf(await this.request("tools/call", next, { asTask })) as JsonObject;
    }
    return result;
  }

  async #answersTo(asked: Record<string, AskedRequest>): Promise<JsonObject> {
    const answers = Object.entries(asked).map(async ([key, question]) => [key, await this.#answered(question)]);
    return Object.fromEntries(await Promise.all(answers)) as JsonObject;
  }

  #answered(asked: AskedRequest): JsonObject | Promise<JsonObject> {
    if (this.#answer !== undefined) return this.#answer(asked);
    throw new Error(`The call asks (${asked.method}), and the client was given no answer.`);
  }

  async #answerInputRequests({ taskId, inputRequests = {} }: TaskView): Promise<void> {
    if (this.#answer === undefined || Object.keys(inputRequests).length === 0) return;
    await this.update(taskId, (await this.#answersTo(inputRequests)) as Record<string, JsonObject>);
  }

  #inputRequest({ taskId, inputRequests = {} }: TaskView): AskedQuestion | undefined {
    const next = Object.entries(inputRequests).find(([key]) => !this.#seen.has(JSON.stringify([taskId, key])));
    if (next === undefined) return undefined;
    const [key, asked] = next;
    this.#seen.add(JSON.stringify([taskId, key]));
    return { ...asked, answer: (answer) => this.update(taskId, { [key]: answer }) };
  }

  #serverRequest({ taskId, status }: TaskView): AskedQuestion | undefined {
    if (status !== "input_required") return undefined;
    const { heard } = this.raw;
    const takenBack = heard
      .filter(({ method }) => method === "notifications/cancelled")
      .map(({ params }) => params.requestId);
    const next = heard.find(
      (message) =>
        message.id !== undefined &&
        taskOf(message) === taskId &&
        !takenBack.includes(message.id) &&
        !this.#seen.has(`${message.id}`),
    );
    if (next === undefined) return undefined;
    this.#seen.add(`${next.id}`);
    return { ...asAsked(next), answer: (result) => this.raw.send({ jsonrpc: "2.0", id: next.id, result }) };
  }

  async #heard(message: Heard): Promise<void> {
    const { id, method } = message;
    if (method === "notifications/subscriptions/acknowledged") this.#subscribing.shift()?.();
    // What belongs to a task waits to be asked for, where nobody answers for it.
    if (id === undefined || (this.#answer === undefined && taskOf(message) !== undefined)) return;
    try {
      await this.raw.send({ jsonrpc: "2.0", id, result: await this.#answered(asAsked(message)) });
    } catch (error) {
      await this.raw.send({ jsonrpc: "2.0", id, error: { code: -32603, message: String(error) } }).catch(() => {});
    }
  }
}

function asAsked({ method, params }: Heard): AskedRequest {
  return { method, params: params as JsonObject };
}

/** The task that a message of 2025 belongs to. */
function taskOf({ params }: Heard): unknown {
  return asObject(asObject(params?._meta)?.[RELATED_TASK_META])?.taskId;
}

function isOver({ status }: TaskView): boolean {
  return isTerminalStatus(status);
}

function describe({ status, statusMessage }: TaskView): string {
  return statusMessage === undefined ? status : `${status} (${statusMessage})`;
}
